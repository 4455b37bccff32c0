// How a timeline looks: everything that is drawn with one frame.

import { isNested, lanesOf, LEAST_WITH_NAME, paintBox, pixelsOf, setUpText } from "./boxes.js";
import { paletteOf } from "./colours.js";
import { busyPicture, busyShares, drawAxis, drawLabel, drawOverview, overviewRows } from "./frame_parts.js";
import { AXIS, GAP, Layout, OVERVIEW } from "./layout.js";
import { drawArrow, drawRange, drawSelected } from "./overlay.js";
import { RowPictures } from "./row_pictures.js";
import { BLOCK, TimeWindow } from "./time_window.js";

/** @typedef {import("./types").Arrow} Arrow */
/** @typedef {import("./types").Boxes} Boxes */
/** @typedef {import("./types").DragMode} DragMode */
/** @typedef {import("./types").DrawnRow} DrawnRow */
/** @typedef {import("./types").LaidRow} LaidRow */
/** @typedef {import("./types").Place} Place */
/** @typedef {import("./types").Row} Row */
/** @typedef {import("./types").Source} Source */
/** @typedef {import("./types").TimelineOptions} TimelineOptions */
/** @typedef {import("./frame_parts.js").Frame} Frame */

const DEFAULTS = {
  unit: "ns",
  labelWidth: 118,
  hasLabels: true,
  hasOverview: true,
  height: /** @type {"grow" | "scroll"} */ ("grow"),
  wheel: /** @type {"zoom" | "page"} */ ("page"),
  shiftDrag: /** @type {DragMode} */ ("zoom"),
  altDrag: /** @type {DragMode} */ ("zoom"),
  drag: /** @type {DragMode} */ ("pan"),
  least: 100,
};

export class DrawnTimeline {
  /**
   * @param {HTMLElement} figure with an element `.stage`, and a canvas in it if it has one
   * @param {Source} source
   * @param {TimelineOptions} [options]
   */
  constructor(figure, source, options = {}) {
    this.figure = figure;
    this.options = { ...DEFAULTS, ...options };
    this.stage = /** @type {HTMLElement} */ (figure.querySelector(".stage"));
    this.canvas = this.stage.querySelector("canvas") ?? document.createElement("canvas");
    if (!this.canvas.isConnected) this.stage.prepend(this.canvas);
    this.pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d", { alpha: false }));
    this.left = this.options.labelWidth;
    this.axisTop = this.options.hasOverview ? OVERVIEW + GAP : 0;
    this.width = 0;
    this.height = 0;
    this.ratio = 1;
    this.colouring = 0;
    /** @type {Source} */
    this.source = source;
    this.palette = paletteOf(figure, source.colourings[0]);
    this.pictures = new RowPictures(source, this.palette);
    this.pictures.renew();
    this.shown = new TimeWindow(source.span, 1, this.options.least);
    this.layout = new Layout(this.axisTop + AXIS);
    /** @type {readonly DrawnRow[] | null} */
    this.given = options.rows ?? null;
    /** @type {Place | null} */
    this.selected = null;
    /** @type {{from: number, to: number} | null} */
    this.range = null;
    /** @type {[number, number] | null} CSS pixels */
    this.dragged = null;
    /** @type {readonly Arrow[]} */
    this.arrows = [];
    /** @type {ArrayLike<number> | null} */
    this.marks = null;
    /** @type {HTMLCanvasElement | null} */
    this.overview = null;
    this.pending = 0;
    this.isThemeNew = false;
  }

  /** @returns {readonly LaidRow[]} */
  get rows() {
    return this.layout.rows;
  }

  /**
   * The row as drawn, or the nearest one that it is folded into.
   * @param {string} id
   * @returns {LaidRow | null}
   */
  rowOf(id) {
    const found = this.layout.row(id);
    if (found) return found;
    const parent = this.source.rows.find((row) => row.id === id)?.parent;
    return parent ? this.rowOf(parent) : null;
  }

  /** @param {number} x */
  timeAt(x) {
    return this.shown.timeAt((x - this.left) * this.ratio);
  }

  /** @param {number} time */
  xOf(time) {
    return this.left + this.shown.pixelOf(time) / this.ratio;
  }

  /** @param {Source} source */
  drawFrom(source) {
    const { isHit } = this.pictures;
    this.source = source;
    this.pictures = new RowPictures(source, this.palette);
    this.pictures.isHit = isHit;
    this.redraw(true);
  }

  redraw(isThemeNew = false) {
    this.isThemeNew ||= isThemeNew;
    if (!this.pending) this.pending = requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    if (!this.fit()) return;
    if (this.isThemeNew) this.readTheme();
    const { pen, ratio, width, height, palette, pictures } = this;
    pictures.begin(this.canvas.width * this.canvas.height);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = palette.ground;
    pen.fillRect(0, 0, width, height);
    const frame = { pen, palette, left: this.left, width, height, ratio, unit: this.options.unit };
    drawAxis(frame, this.shown, this.axisTop);
    let boxes = this.inRows(0, () => this.drawRows(true));
    boxes += this.inRows(this.layout.scrolledTop, () => this.drawRows(false));
    if (this.options.hasLabels) this.drawLabels(frame);
    this.drawAbove(frame);
    if (this.options.hasOverview) this.drawOverview(frame);
    pictures.end();
    if (pictures.isBehind) this.redraw();
    this.options.onDraw?.(boxes);
  }

  /** Make the canvas as large as its place; false: it has none. */
  fit() {
    const width = this.stage.clientWidth;
    const isScrolling = this.options.height === "scroll";
    const height = isScrolling ? this.stage.clientHeight : this.layout.height;
    if (!width || !height) return false;
    const ratio = window.devicePixelRatio || 1;
    if (width === this.width && height === this.height && ratio === this.ratio) return true;
    Object.assign(this, { width, height, ratio });
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.pictures.ratio = ratio;
    this.pictures.renew();
    this.shown.resize(this.canvas.width - this.leftPixels);
    this.overview = null;
    if (isScrolling) this.layout.room = height;
    this.layout.place();
    this.options.onLayout?.(this.rows);
    return true;
  }

  get leftPixels() {
    return Math.round(this.left * this.ratio);
  }

  readTheme() {
    this.isThemeNew = false;
    this.palette = paletteOf(this.figure, this.source.colourings[this.colouring]);
    this.overview = null;
    Object.assign(this.pictures, { palette: this.palette, colouring: this.colouring, ratio: this.ratio });
    this.pictures.renew();
  }

  /**
   * Draw in device pixels inside of the strips below `top`.
   * @template T
   * @param {number} top
   * @param {() => T} drawn
   */
  inRows(top, drawn) {
    const { pen, canvas, ratio } = this;
    const from = Math.round(Math.max(top, this.axisTop + AXIS) * ratio);
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.beginPath();
    pen.rect(this.leftPixels, from, canvas.width - this.leftPixels, canvas.height - from);
    pen.clip();
    const found = drawn();
    pen.restore();
    return found;
  }

  /**
   * How many boxes of ops are seen.
   * @param {boolean} isPinned
   */
  drawRows(isPinned) {
    const least = isPinned ? 0 : this.layout.scrolledTop;
    let boxes = 0;
    for (const laid of this.rows) {
      if (laid.isPinned !== isPinned || laid.row.kind === "group") continue;
      if (laid.top + laid.height > least && laid.top < this.height) boxes += this.drawRow(laid);
    }
    return boxes;
  }

  /** @param {LaidRow} laid */
  drawRow(laid) {
    const { row } = laid;
    const { scale, first, count } = this.shown;
    const top = Math.round(laid.top * this.ratio);
    const height = Math.max(1, Math.round(laid.height * this.ratio));
    const begin = Math.floor(first / BLOCK);
    const end = Math.floor((first + count - 1) / BLOCK);
    const isCounted = this.options.onDraw !== undefined && row.table === "ops";
    let boxes = 0;
    /** @type {Boxes | null} */
    let cut = null;
    for (let number = begin; number <= end; number += 1) {
      const block = this.pictures.block(row, height, scale, number);
      this.pen.drawImage(block.canvas, this.leftPixels + number * BLOCK - first, top);
      if (!block.boxes) continue;
      if (number === begin) cut = block.boxes;
      if (isCounted) boxes += this.countBoxes(block.boxes, number, number === begin);
    }
    if (cut) this.drawCutBoxes(row, cut, top, height);
    return boxes;
  }

  /**
   * Boxes that begin left of the window have their names at its edge.
   * @param {Row} row
   * @param {Boxes} boxes
   * @param {number} top
   * @param {number} height
   */
  drawCutBoxes(row, boxes, top, height) {
    const { scale, first } = this.shown;
    const isGrey = isNested(row) && !this.source.colourings[this.colouring]?.coloursHost;
    const style = this.pictures.styleOf(isGrey);
    const lanes = lanesOf(row);
    let covered = { depth: -1, end: 0 }; // the last one: an instant on its last pixel is drawn again
    for (let i = 0; i < boxes.length; i += 1) {
      const [left, right] = pixelsOf(boxes, i, scale);
      const isCut = left < first && right - first >= LEAST_WITH_NAME * this.ratio;
      const isCovered = boxes.duration[i] === 0 && boxes.depth[i] === covered.depth && left >= first && left < covered.end;
      if (!isCut && !isCovered) continue;
      if (isCut) covered = { depth: boxes.depth[i], end: right };
      const [lane, tall] = this.pictures.laneOf(row, lanes, height, boxes.depth[i]);
      setUpText(this.pen, style);
      const from = this.leftPixels + Math.max(0, left - first);
      paintBox(this.pen, style, row, boxes, i, from, this.leftPixels + right - first, top + lane, tall);
    }
  }

  /**
   * Those that are seen and begin in this block; in the first one also those that began before.
   * @param {Boxes} boxes
   * @param {number} number
   * @param {boolean} isFirst
   */
  countBoxes(boxes, number, isFirst) {
    const { scale, from, to } = this.shown;
    let count = 0;
    for (let i = 0; i < boxes.length; i += 1) {
      const start = boxes.start[i];
      if (start >= to || start + boxes.duration[i] <= from) continue;
      const block = Math.floor(start / scale / BLOCK);
      if (block === number || (isFirst && block < number)) count += 1;
    }
    return count;
  }

  /** @param {Frame} frame */
  drawLabels(frame) {
    const { pen, palette } = frame;
    for (const isPinned of [true, false]) {
      const top = isPinned ? this.axisTop + AXIS : this.layout.scrolledTop;
      pen.save();
      pen.beginPath();
      pen.rect(0, top - 1, this.left, this.height - top);
      pen.clip();
      for (const laid of this.rows) if (laid.isPinned === isPinned) drawLabel(frame, laid);
      pen.restore();
    }
    if (!this.options.hasOverview) return;
    pen.fillStyle = palette.soft;
    pen.font = `11px ${palette.font}`;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    pen.fillText("everything", 2, OVERVIEW / 2, this.left - 8);
  }

  /**
   * What is selected, and arrows.
   * @param {Frame} frame
   */
  drawAbove(frame) {
    const { selected, range, dragged } = this;
    /** @type {(id: string) => LaidRow | null} */
    const find = (id) => this.rowOf(id);
    /** @type {(time: number) => number} */
    const toX = (time) => this.xOf(time);
    /** @param {Place[]} places @param {() => void} drawn */
    const above = (places, drawn) => {
      const isPinned = places.some(({ rowId }) => find(rowId)?.isPinned);
      this.inRows(isPinned ? 0 : this.layout.scrolledTop, () => {
        frame.pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        drawn();
      });
    };
    if (selected) above([selected], () => drawSelected(frame, selected, find, toX));
    for (const arrow of this.arrows) above([arrow.from, arrow.to], () => drawArrow(frame, arrow, find, toX));
    if (range) drawRange(frame, toX(range.from), toX(range.to), this.axisTop);
    if (dragged) drawRange(frame, dragged[0], dragged[1], this.axisTop);
  }

  /** @param {Frame} frame */
  drawOverview(frame) {
    if (!this.overview) {
      const busy = busyShares(this.pictures, overviewRows(this.source.rows), this.shown.span, this.shown.count);
      this.overview = busyPicture(busy, Math.round((OVERVIEW - 4) * this.ratio), this.palette);
    }
    drawOverview(frame, this.overview, this.marks, this.shown);
  }
}
