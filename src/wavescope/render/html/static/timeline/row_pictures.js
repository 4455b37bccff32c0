// Pictures of rows in blocks of pixels: moving along copies them, only new blocks are painted.

import { isNested, lanesOf, paintBox, pixelsOf, setUpText } from "./boxes.js";
import { emptyCanvas } from "./canvases.js";
import { FAINT, pixelOf } from "./colours.js";
import { fill, hatch, paintMeans, paintShares } from "./strips.js";
import { BLOCK } from "./time_window.js";

/** @typedef {import("./types").Boxes} Boxes */
/** @typedef {import("./types").Columns} Columns */
/** @typedef {import("./types").Row} Row */
/** @typedef {import("./types").Source} Source */
/** @typedef {import("./boxes.js").BoxStyle} BoxStyle */
/** @typedef {import("./colours.js").Palette} Palette */
/**
 * A painted block, and what it was painted from.
 * @typedef {object} Block
 * @property {HTMLCanvasElement} canvas
 * @property {CanvasRenderingContext2D} pen
 * @property {Columns | null} columns
 * @property {Boxes | null} boxes
 * @property {boolean} isWhole nothing of it is on its way
 * @property {number} generation of the source when it was asked
 * @property {number} frame that used it last
 */
/**
 * @typedef {object} RowBlocks
 * @property {number} scale
 * @property {number} height
 * @property {number} look
 * @property {Map<number, Block>} blocks by number
 */

const LEAST_BUDGET = 4e6;

/**
 * The next number that is 1, 2 or 5 times a power of ten.
 * @param {number} value
 */
const roundedUp = (value) => {
  const decade = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((factor) => factor * decade >= value) ?? 10) * decade;
};

export class RowPictures {
  /** @param {Source} source @param {Palette} palette */
  constructor(source, palette) {
    this.source = source;
    this.palette = palette;
    this.colouring = 0;
    this.ratio = 1;
    /** @type {BoxStyle["isHit"]} */
    this.isHit = null;
    this.generation = 0;
    this.look = 0;
    this.frame = 0;
    this.held = 0;
    /** whether blocks of this frame have to be painted once more */
    this.isBehind = false;
    this.budget = LEAST_BUDGET;
    this.seriesPixels = { line: 0, body: 0 };
    /** @type {Map<string, RowBlocks>} */
    this.rows = new Map();
    /** @type {Map<string, number>} the value at the top of each series */
    this.largest = new Map();
    /** @type {Map<number, ImageData>} */
    this.images = new Map();
    /** @type {BoxStyle} */
    this.style = { palette, ratio: 1, isGrey: false, isHit: null, nameOf: (row, name) => this.source.nameOf(row, name) };
  }

  /** Everything is painted anew: other colours, another search. */
  renew() {
    this.look += 1;
    const { palette } = this;
    this.seriesPixels = { line: pixelOf(palette.series), body: pixelOf(palette.series, 2 * FAINT, palette.idle) };
  }

  /** There is more to draw: blocks are asked for again. */
  change() {
    this.generation += 1;
  }

  /**
   * A frame begins that shows so many pixels.
   * @param {number} pixels
   */
  begin(pixels) {
    this.frame += 1;
    this.isBehind = false;
    this.budget = Math.max(LEAST_BUDGET, 2 * pixels);
  }

  /** A frame ends: what was not seen makes room. */
  end() {
    if (this.held <= this.budget) return;
    for (const [id, row] of this.rows) {
      for (const [number, block] of row.blocks) {
        if (block.frame === this.frame) continue;
        row.blocks.delete(number);
        this.held -= BLOCK * row.height;
        if (this.held <= this.budget) return;
      }
      if (!row.blocks.size) this.rows.delete(id);
    }
  }

  /**
   * The block of a row, painted as far as the source has it.
   * @param {Row} row
   * @param {number} height device pixels
   * @param {number} scale
   * @param {number} number
   */
  block(row, height, scale, number) {
    const blocks = this.blocksOf(row, height, scale);
    let block = blocks.get(number);
    if (block) {
      block.frame = this.frame;
      if (block.isWhole && block.generation === this.generation) return block;
    } else {
      const canvas = emptyCanvas(BLOCK, height);
      const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
      block = { canvas, pen, columns: null, boxes: null, isWhole: false, generation: -1, frame: this.frame };
      blocks.set(number, block);
      this.held += BLOCK * height;
    }
    this.refresh(block, row, height, scale, number);
    return block;
  }

  /**
   * What of a row is there at a pixel without painting.
   * @param {Row} row @param {number} scale @param {number} number
   */
  seen(row, scale, number) {
    const viewport = { scale, first: number * BLOCK, count: BLOCK };
    return {
      columns: this.source.columns(row, this.colouring, viewport),
      boxes: this.source.boxes(row, this.colouring, viewport),
    };
  }

  /** @param {Row} row @param {number} height @param {number} scale */
  blocksOf(row, height, scale) {
    const found = this.rows.get(row.id);
    if (found && found.scale === scale && found.height === height && found.look === this.look) return found.blocks;
    if (found) this.held -= found.blocks.size * BLOCK * found.height;
    const blocks = new Map();
    this.rows.set(row.id, { scale, height, look: this.look, blocks });
    return blocks;
  }

  /**
   * @param {Block} block
   * @param {Row} row
   * @param {number} height
   * @param {number} scale
   * @param {number} number
   */
  refresh(block, row, height, scale, number) {
    const { columns, boxes } = this.seen(row, scale, number);
    const isFirst = block.generation < 0;
    const isSame = !isFirst && columns === block.columns && boxes === block.boxes;
    const isRenamed = !block.isWhole && block.generation !== this.generation;
    block.generation = this.generation;
    if (isSame && !isRenamed) return;
    block.columns = columns;
    block.boxes = boxes;
    const isNamed = this.paint(block, row, height, scale, number);
    block.isWhole = isNamed && (row.kind === "group" || (columns !== null && columns.isExact));
  }

  /**
   * Whether all names were there.
   * @param {Block} block @param {Row} row @param {number} height @param {number} scale @param {number} number
   */
  paint(block, row, height, scale, number) {
    const image = this.imageOf(height);
    const area = { pixels: new Uint32Array(image.data.buffer), width: BLOCK, top: 0, height };
    const first = number * BLOCK;
    const isGrey = isNested(row) && !this.source.colourings[this.colouring]?.coloursHost;
    fill(area, isNested(row) || row.kind === "group" ? 0 : this.palette.idlePixel);
    if (row.recorded) hatch(area, row.recorded, first, scale, this.palette.linePixel);
    if (block.columns) this.paintColumns(area, row, block.columns, first, isGrey);
    block.pen.putImageData(image, 0, 0);
    return block.boxes ? this.paintBoxes(block, row, height, scale, first, isGrey) : true;
  }

  /**
   * @param {import("./strips.js").Area} area
   * @param {Row} row
   * @param {Columns} columns
   * @param {number} first
   * @param {boolean} isGrey
   */
  paintColumns(area, row, columns, first, isGrey) {
    if (columns.means) {
      paintMeans(area, columns, first, this.topOf(row, columns.means), this.seriesPixels.line, this.seriesPixels.body);
      return;
    }
    const { classPixels, faintPixels, markerPixel, faintMarkerPixel } = this.palette;
    const grey = this.isHit ? faintMarkerPixel : markerPixel;
    const colourOf = isGrey ? grey : this.isHit ? faintPixels : classPixels;
    const planes = isNested(row) ? Math.max(1, row.planes) : 1;
    const gap = isNested(row) ? this.gap : 0;
    for (let plane = 0; plane < planes; plane += 1) {
      const top = Math.round((plane * area.height) / planes);
      const height = Math.max(1, Math.round(((plane + 1) * area.height) / planes) - top - gap);
      paintShares({ ...area, top, height }, columns, plane, first, colourOf);
    }
  }

  /**
   * @param {Block} block
   * @param {Row} row
   * @param {number} height
   * @param {number} scale
   * @param {number} first
   * @param {boolean} isGrey
   */
  paintBoxes(block, row, height, scale, first, isGrey) {
    const boxes = /** @type {Boxes} */ (block.boxes);
    const style = this.styleOf(isGrey);
    const lanes = lanesOf(row);
    if (lanes > 1 && !isNested(row)) this.fadeBehind(block.pen, boxes, height, scale, first);
    setUpText(block.pen, style);
    let isNamed = true;
    for (let i = 0; i < boxes.length; i += 1) {
      const [left, right] = pixelsOf(boxes, i, scale);
      if (right <= first || left >= first + BLOCK) continue;
      const [top, tall] = this.laneOf(row, lanes, height, boxes.depth[i]);
      if (!paintBox(block.pen, style, row, boxes, i, left - first, right - first, top, tall)) isNamed = false;
    }
    return isNamed;
  }

  /**
   * Where ops that run at once are boxes of their own, the shares behind them are faint: a lane
   * that is free does not look busy, and ops too short for a box are still seen.
   * @param {CanvasRenderingContext2D} pen
   * @param {Boxes} boxes
   * @param {number} height
   * @param {number} scale
   * @param {number} first
   */
  fadeBehind(pen, boxes, height, scale, first) {
    const isBehind = new Uint8Array(BLOCK);
    for (let i = 0; i < boxes.length; i += 1) {
      const [left, right] = pixelsOf(boxes, i, scale);
      if (boxes.duration[i] > 0) isBehind.fill(1, Math.max(0, left - first), Math.max(0, right - first));
    }
    pen.fillStyle = this.palette.idle;
    pen.globalAlpha = 1 - FAINT;
    for (let x = 0; x < BLOCK; x += 1) if (isBehind[x]) pen.fillRect(x, 0, 1, height);
    pen.globalAlpha = 1;
  }

  /** @param {boolean} isGrey */
  styleOf(isGrey) {
    this.style.palette = this.palette;
    this.style.ratio = this.ratio;
    this.style.isHit = this.isHit;
    this.style.isGrey = isGrey;
    return this.style;
  }

  /**
   * Top and height of a lane inside of its row, device pixels.
   * @param {Row} row @param {number} lanes @param {number} height @param {number} depth
   * @returns {[number, number]}
   */
  laneOf(row, lanes, height, depth) {
    const top = Math.round((depth * height) / lanes);
    const gap = isNested(row) ? this.gap : lanes > 1 ? 1 : 0;
    return [top, Math.max(1, Math.round(((depth + 1) * height) / lanes) - top - gap)];
  }

  get gap() {
    return Math.max(1, Math.round(1.5 * this.ratio));
  }

  /**
   * The value at the top of a series: it only grows, in steps, so that blocks fit together.
   * @param {Row} row @param {Float32Array} means
   */
  topOf(row, means) {
    let largest = row.unit === "%" ? 100 : 0;
    for (const mean of means) if (mean > largest) largest = mean;
    const before = this.largest.get(row.id) ?? 0;
    if (largest <= before) return before || 1;
    const top = roundedUp(largest);
    this.largest.set(row.id, top);
    for (const block of this.rows.get(row.id)?.blocks.values() ?? []) block.generation = -1;
    this.isBehind = true;
    return top;
  }

  /** @param {number} height */
  imageOf(height) {
    let image = this.images.get(height);
    if (!image) {
      image = new ImageData(BLOCK, height);
      this.images.set(height, image);
    }
    return image;
  }
}
