// A heat map on a canvas: a row for each rank, a column for each bin of time or step.

import { emptyCanvas } from "../timeline/canvases.js";
import { axisStep, position } from "../timeline/time_text.js";
import { partAt, rowHeight, rowOrder, shadeOf } from "./cells.js";
import { isDark, shades } from "./shades.js";

/** @typedef {import("./map_data.js").MapData} MapData */
/** @typedef {{ rank: number, column: number }} Cell */

const AXIS = 24;
const LABEL_EVERY = 15;
const HATCH_EVERY = 5;

export class HeatMap {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {MapData} data
   */
  constructor(canvas, data) {
    this.canvas = canvas;
    this.data = data;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.measure = 0;
    this.isByValue = false;
    /** @type {number[]} rows from top to bottom, as places of ranks */
    this.order = [];
    /** @type {Cell | null} */
    this.cursor = null;
    /** @type {number | null} the rank that is chosen */
    this.chosen = null;
    this.cells = emptyCanvas(1, 1);
    /** What `cells` shows: they are painted anew only when that changes, not at each key. */
    this.painted = "";
    this.arrange();
  }

  get row() {
    return rowHeight(this.data.ranks.length);
  }

  get bodyHeight() {
    return this.row * this.data.ranks.length;
  }

  /** Whether hosts are named beside the ranks. */
  get hasHosts() {
    const hosts = new Set(this.data.ranks.map(({ host }) => host));
    return !this.isByValue && hosts.size > 1 && this.bodyHeight / hosts.size >= LABEL_EVERY;
  }

  /** The width of what stands left of the cells. */
  get margin() {
    return this.hasHosts ? 136 : 52;
  }

  arrange() {
    const mean = (/** @type {number} */ rank) => this.data.mean(this.measure, rank);
    this.order = rowOrder(mean, this.data.ranks.length, this.isByValue);
    this.draw();
  }

  /**
   * The cell at a place of the canvas, in CSS pixels; null beside the cells.
   * @param {number} x
   * @param {number} y
   * @returns {Cell | null}
   */
  cellAt(x, y) {
    const width = this.canvas.clientWidth - this.margin;
    if (x < this.margin || y < 0 || y >= this.bodyHeight || x >= this.margin + width) return null;
    return { rank: this.order[Math.floor(y / this.row)], column: partAt(x - this.margin, width, this.data.columns) };
  }

  /**
   * Where a cell is, in CSS pixels.
   * @param {Cell} cell
   */
  placeOf({ rank, column }) {
    const width = this.canvas.clientWidth - this.margin;
    const each = width / this.data.columns;
    return { x: this.margin + column * each, y: this.order.indexOf(rank) * this.row, width: each, height: this.row };
  }

  draw() {
    const { canvas, context } = this;
    const width = canvas.clientWidth;
    if (!width) return;
    const scale = devicePixelRatio || 1;
    const height = this.bodyHeight + AXIS;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const style = getComputedStyle(canvas);
    this.drawCells(scale, style);
    context.drawImage(this.cells, Math.round(this.margin * scale), 0);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = `11px ${style.fontFamily}`;
    context.fillStyle = style.color;
    context.strokeStyle = style.color;
    this.drawRowLabels();
    this.drawAxis();
    this.drawLate(style);
    this.drawMarks(style);
  }

  /**
   * Every pixel has the shade of the cell that its middle lies in.
   * @param {number} scale
   * @param {CSSStyleDeclaration} style
   */
  drawCells(scale, style) {
    const { data, order, measure } = this;
    const width = Math.max(1, this.canvas.width - Math.round(this.margin * scale));
    const height = Math.max(1, Math.round(this.bodyHeight * scale));
    const dark = isDark();
    const wanted = [width, height, measure, this.isByValue, dark].join();
    if (this.painted === wanted) return;
    this.painted = wanted;
    this.cells = emptyCanvas(width, height);
    const context = /** @type {CanvasRenderingContext2D} */ (this.cells.getContext("2d"));
    const colours = shades(dark);
    const hatch = (style.getPropertyValue("border-color").match(/[\d.]+/g) ?? ["128", "128", "128"]).map(Number);
    const image = context.createImageData(width, height);
    const columns = Int32Array.from({ length: width }, (_, x) => partAt(x + 0.5, width, data.columns));
    const row = new Int16Array(data.columns);
    let last = -1;
    for (let y = 0; y < height; y += 1) {
      const place = partAt(y + 0.5, height, order.length);
      if (place !== last) {
        last = place;
        for (let column = 0; column < data.columns; column += 1) {
          const value = data.value(measure, order[place], column);
          row[column] = Number.isNaN(value) ? -1 : shadeOf(data.measures[measure], value);
        }
      }
      for (let x = 0; x < width; x += 1) {
        const shade = row[columns[x]];
        const at = 4 * (y * width + x);
        if (shade < 0) {
          const isLine = (x + y) % HATCH_EVERY === 0;
          if (!isLine) continue;
          image.data.set([hatch[0], hatch[1], hatch[2], 255], at);
          continue;
        }
        image.data[at] = colours[3 * shade];
        image.data[at + 1] = colours[3 * shade + 1];
        image.data[at + 2] = colours[3 * shade + 2];
        image.data[at + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
  }

  drawRowLabels() {
    const { context, data, order, row } = this;
    context.textBaseline = "middle";
    context.textAlign = "right";
    const step = this.isByValue ? Math.max(1, Math.ceil(LABEL_EVERY / row)) : axisStep(Math.max(1, LABEL_EVERY / row));
    for (let place = 0; place < order.length; place += step) {
      context.fillText(data.ranks[order[place]].number, this.margin - 10, Math.max(6, (place + 0.5) * row), 40);
    }
    if (this.hasHosts) this.drawHosts();
  }

  /**
   * An arrow beside each rank that others wait for: a row may be as thin as a pixel.
   * @param {CSSStyleDeclaration} style
   */
  drawLate(style) {
    const { context, data, order, row } = this;
    context.fillStyle = style.getPropertyValue("text-decoration-color");
    for (let place = 0; place < order.length; place += 1) {
      if (!data.ranks[order[place]].isLate) continue;
      const y = Math.max(4, (place + 0.5) * row);
      context.beginPath();
      context.moveTo(this.margin - 1, y);
      context.lineTo(this.margin - 7, y - 4);
      context.lineTo(this.margin - 7, y + 4);
      context.fill();
    }
  }

  drawHosts() {
    const { context, data, order, row } = this;
    context.textAlign = "left";
    let first = 0;
    let written = -Infinity;
    for (let place = 1; place <= order.length; place += 1) {
      const isEnd = place === order.length || data.ranks[order[place]].host !== data.ranks[order[first]].host;
      if (!isEnd) continue;
      const middle = ((first + place) / 2) * row;
      if (middle - written >= LABEL_EVERY - 1) {
        context.fillText(data.ranks[order[first]].host, 4, middle, 84);
        written = middle;
      }
      if (place < order.length) context.fillRect(0, Math.round(place * row) - 0.5, this.margin - 4, 0.5);
      first = place;
    }
  }

  drawAxis() {
    const { context, data } = this;
    const width = this.canvas.clientWidth - this.margin;
    const y = this.bodyHeight;
    context.textBaseline = "top";
    const each = width / data.columns;
    const unit = data.kind === "time" ? data.width : 1;
    const least = (data.kind === "time" ? 90 : 44) / each;
    const step = axisStep(Math.max(least * unit, 1));
    const end = data.columns * unit;
    for (let at = 0; at < end; at += step) {
      const column = at / unit;
      const x = this.margin + (data.kind === "time" ? column : column + 0.5) * each;
      context.fillRect(Math.round(x), y, 1, 4);
      const text = data.kind === "time" ? position(at, step, end) : data.labels[column].split(" ", 1)[0];
      const half = context.measureText(text).width / 2;
      context.textAlign = x - half < this.margin ? "left" : x + half > this.canvas.clientWidth ? "right" : "center";
      context.fillText(text, context.textAlign === "left" ? Math.max(x, this.margin) : Math.min(x, this.canvas.clientWidth), y + 7);
    }
  }

  /**
   * Frames of the chosen rank and of the cell that the keys are at.
   * @param {CSSStyleDeclaration} style
   */
  drawMarks(style) {
    const { context, chosen, cursor } = this;
    const accent = style.getPropertyValue("outline-color");
    context.lineWidth = 2;
    if (chosen !== null) {
      const { y, height } = this.placeOf({ rank: chosen, column: 0 });
      context.strokeStyle = accent;
      context.strokeRect(this.margin - 8, y - 1, this.canvas.clientWidth - this.margin + 7, height + 2);
    }
    if (cursor) {
      const { x, y, width, height } = this.placeOf(cursor);
      context.strokeStyle = accent;
      context.strokeRect(x - 2, y - 2, Math.max(width, 2) + 4, height + 4);
      context.lineWidth = 1;
      context.strokeStyle = style.backgroundColor;
      context.strokeRect(x - 0.5, y - 0.5, Math.max(width, 2) + 1, height + 1);
    }
  }
}
