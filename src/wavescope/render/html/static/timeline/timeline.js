// One timeline: rows of a source over a window of time, on a canvas.

import { boxAt, doInstantsReach, isNested, lanesOf, pixelsOf, reachOf } from "./boxes.js";
import { DrawnTimeline } from "./drawn_timeline.js";
import { listen, pressKey } from "./input.js";
import { BLOCK } from "./time_window.js";

/** @typedef {import("./types").Arrow} Arrow */
/** @typedef {import("./types").Boxes} Boxes */
/** @typedef {import("./types").Columns} Columns */
/** @typedef {import("./types").DragMode} DragMode */
/** @typedef {import("./types").DrawnRow} DrawnRow */
/** @typedef {import("./types").Hit} Hit */
/** @typedef {import("./types").Place} Place */
/** @typedef {import("./types").Row} Row */
/** @typedef {import("./types").Source} Source */
/** @typedef {import("./types").TimelineOptions} TimelineOptions */
/** @typedef {import("./types").TimelineView} TimelineView */

/**
 * The classes of a pixel, the largest first.
 * @param {Columns} columns @param {number} plane @param {number} pixel
 */
const sharesAt = (columns, plane, pixel) => {
  const { classes, shares, count } = columns;
  const at = plane * classes.length * count + pixel - columns.first;
  return classes
    .map((number, c) => ({ class: number, share: shares[at + c * count] / 255 }))
    .filter(({ share }) => share > 0)
    .sort((a, b) => b.share - a.share);
};

/** @implements {TimelineView} */
export class Timeline extends DrawnTimeline {
  /**
   * @param {HTMLElement} figure with an element `.stage`, and a canvas in it if it has one
   * @param {Source} source
   * @param {TimelineOptions} [options]
   */
  constructor(figure, source, options = {}) {
    super(figure, source, options);
    this.observer = new ResizeObserver(() => this.draw());
    this.onTheme = () => this.redraw(true);
    this.setSource(source);
    listen(this);
    this.observer.observe(this.stage);
    document.addEventListener("themechange", this.onTheme);
    this.options.onViewport?.(this.window);
    this.draw();
  }

  get window() {
    return { from: this.shown.from, to: this.shown.to };
  }

  get viewport() {
    return { scale: this.shown.scale, first: this.shown.first, count: this.shown.count };
  }

  /** @param {Source} source */
  setSource(source) {
    if (source !== this.source) {
      this.source.onChange = null;
      this.drawFrom(source);
    }
    source.onChange = () => this.sourceChanged();
    this.lay();
    if (this.shown.span !== Math.max(1, source.span)) this.moved(() => this.shown.grow(source.span));
    this.sourceChanged();
  }

  sourceChanged() {
    this.pictures.change();
    this.overview = null;
    this.redraw();
  }

  /** @param {readonly DrawnRow[]} rows */
  setRows(rows) {
    this.given = rows;
    this.lay();
    this.redraw();
  }

  lay() {
    this.layout.set(this.given ?? this.source.rows.map((row) => ({ row })));
    this.options.onLayout?.(this.rows);
  }

  /** @param {number} colouring */
  setColouring(colouring) {
    this.colouring = colouring;
    this.pictures.colouring = colouring;
    this.redraw(true);
  }

  /** @param {DragMode} mode */
  setDrag(mode) {
    this.options.drag = mode;
  }

  /** @param {number} from @param {number} to */
  show(from, to) {
    this.moved(() => this.shown.show(from, to));
  }

  showAll() {
    this.show(0, this.shown.span);
  }

  /** @param {number} factor @param {number} [at] */
  zoom(factor, at = (this.shown.from + this.shown.to) / 2) {
    this.moved(() => this.shown.zoom(factor, at));
  }

  /** @param {number} share */
  pan(share) {
    this.moved(() => this.shown.moveTo(this.shown.from + share * this.shown.length));
  }

  /** @param {number} pixels device pixels */
  moveBy(pixels) {
    this.moveFrom(this.shown.first, pixels);
  }

  /** @param {number} first the pixel at the left edge before @param {number} pixels */
  moveFrom(first, pixels) {
    this.moved(() => this.shown.moveBy(first, pixels));
  }

  /**
   * The time at a place of the overview.
   * @param {number} x
   */
  overviewTime(x) {
    return ((x - this.left) / (this.width - this.left)) * this.shown.span;
  }

  /**
   * Show what lies around a time.
   * @param {number} time
   */
  centre(time) {
    this.moved(() => this.shown.moveTo(time - this.shown.length / 2));
  }

  /** @param {() => void} change */
  moved(change) {
    change();
    this.options.onViewport?.(this.window);
    this.redraw();
  }

  zoomToSelection() {
    const { range, selected } = this;
    if (range) this.show(range.from, range.to);
    else if (selected) {
      const margin = Math.max(50, selected.duration / 2);
      this.show(selected.start - margin, selected.start + selected.duration + margin);
      this.reveal(selected.rowId, selected.depth);
    }
  }

  /** @param {Place | null} place */
  select(place) {
    this.selected = place;
    this.redraw();
  }

  /** @param {{from: number, to: number} | null} range */
  setRange(range) {
    this.range = range;
    this.redraw();
  }

  /**
   * A range was dragged.
   * @param {number} from
   * @param {number} to
   */
  chooseRange(from, to) {
    this.setRange({ from: Math.max(0, from), to: Math.min(this.shown.span, to) });
    this.options.onRange?.(this.range);
  }

  /** Nothing is selected any more. */
  deselect() {
    const { range, selected } = this;
    this.selected = null;
    this.setRange(null);
    if (range) this.options.onRange?.(null);
    if (selected) this.options.onSelect?.(null);
  }

  /** @param {((row: Row, name: number) => boolean) | null} isHit */
  setSearch(isHit) {
    this.pictures.isHit = isHit;
    this.pictures.renew();
    this.redraw();
  }

  /** @param {ArrayLike<number> | null} bins */
  setMarks(bins) {
    this.marks = bins;
    this.redraw();
  }

  /** @param {readonly Arrow[]} arrows */
  setArrows(arrows) {
    this.arrows = arrows;
    this.redraw();
  }

  /** @param {[number, number] | null} dragged CSS pixels */
  setDragged(dragged) {
    this.dragged = dragged;
    this.redraw();
  }

  /**
   * @param {string} rowId
   * @param {number} [depth] what lies so deep in the row, else the whole row
   */
  reveal(rowId, depth) {
    if (this.layout.reveal(this.rowOf(rowId)?.row.id ?? rowId, depth)) this.scrolled();
  }

  /** @param {number} top */
  scrollTo(top) {
    if (this.layout.scrollTo(top)) this.scrolled();
  }

  /** @param {number} distance */
  scrollBy(distance) {
    this.scrollTo(this.layout.scroll + distance);
  }

  scrolled() {
    this.options.onLayout?.(this.rows);
    this.redraw();
  }

  /** @param {number} x @param {number} y @returns {Hit | null} */
  at(x, y) {
    const laid = this.layout.rowAt(y);
    if (!laid || x < this.left || x > this.width || laid.row.kind === "group") return null;
    const { row } = laid;
    const time = this.timeAt(x);
    const pixel = this.shown.first + Math.floor((x - this.left) * this.ratio);
    const { columns, boxes } = this.pictures.seen(row, this.shown.scale, Math.floor(pixel / BLOCK));
    const lanes = lanesOf(row);
    const lane = Math.min(lanes - 1, Math.floor(((y - laid.top) / laid.height) * lanes));
    const plane = isNested(row) ? lane : 0;
    const above = laid.top + ((lane + 1) * laid.height) / lanes - y;
    const place = boxes ? this.boxUnder(boxes, pixel, lane, doInstantsReach(row, above)) : -1;
    return {
      row,
      box: boxes && place >= 0 ? boxAt(boxes, place) : null,
      time,
      plane,
      shares: columns ? sharesAt(columns, plane, pixel) : [],
      value: columns?.means ? columns.means[pixel - columns.first] : null,
      x,
      y,
    };
  }

  /**
   * The last box of a lane that covers a pixel.
   * @param {Boxes} boxes
   * @param {number} pixel
   * @param {number} lane
   * @param {boolean} hasInstants whether instants are there, too
   */
  boxUnder(boxes, pixel, lane, hasInstants) {
    const { scale } = this.shown;
    let found = -1;
    for (let i = 0; i < boxes.length; i += 1) {
      if (boxes.depth[i] !== lane || (boxes.duration[i] === 0 && !hasInstants)) continue;
      const [left, right] = pixelsOf(boxes, i, scale);
      const reach = reachOf(boxes, i);
      if (left - reach <= pixel && pixel < right + reach) found = i;
    }
    return found;
  }

  /** @param {number} x @param {number} y */
  hover(x, y) {
    this.options.onHover?.(this.at(x, y));
  }

  /** @param {number} x @param {number} y */
  click(x, y) {
    const hit = this.at(x, y);
    const box = hit?.box ?? null;
    this.select(hit && box ? { rowId: hit.row.id, depth: box.depth, start: box.start, duration: box.duration } : null);
    this.options.onSelect?.(box ? hit : null);
  }

  /** @param {number} y */
  clickLabel(y) {
    const laid = this.layout.rowAt(y);
    if (laid) this.options.onLabel?.(laid.row);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    return pressKey(this, event);
  }

  close() {
    cancelAnimationFrame(this.pending);
    this.observer.disconnect();
    document.removeEventListener("themechange", this.onTheme);
    this.source.onChange = null;
  }
}
