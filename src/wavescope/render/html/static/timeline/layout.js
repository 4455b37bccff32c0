// Where rows lie: those that are pinned above, the others below them, where they scroll.

import { isNested, lanesOf } from "./boxes.js";

/** @typedef {import("./types").Row} Row */
/** @typedef {import("./types").DrawnRow} DrawnRow */
/** @typedef {import("./types").LaidRow} LaidRow */

export const AXIS = 22;
export const OVERVIEW = 14;
export const GAP = 6;
export const LANE = 16;
const OP_LANE = 14;
const MOST_OPS = 160; // CSS pixels of ops that ran at once on one queue
const BOTTOM = 4;
const MOST_PINNED = 0.7; // of the room
const HEIGHTS = { group: 22, gpu: 38, queue: 20, copies: 20, series: 30 };
const GAPS = { group: 2, gpu: 3, queue: 2, copies: 2, series: 3, markers: GAP, calls: GAP };

/**
 * How high a row is if nobody says otherwise, CSS pixels.
 * @param {Row} row
 */
export const heightOf = (row) => {
  if (row.kind === "markers" || row.kind === "calls") return Math.max(1, row.planes) * LANE;
  return Math.max(HEIGHTS[row.kind], row.depth > 1 ? Math.min(MOST_OPS, row.depth * OP_LANE) : 0);
};

/** @param {Row} row @param {Row | undefined} next */
const gapAfter = (row, next) =>
  GAPS[row.kind] + (next?.kind === "gpu" && !isNested(row) ? GAP : 0);

export class Layout {
  /** @param {number} head CSS pixels above all rows */
  constructor(head) {
    this.head = head;
    this.scroll = 0;
    /** the height in which rows scroll; Infinity: the canvas grows */
    this.room = Infinity;
    /** how many rows are to stay above the others; they are the first ones */
    this.pinnedCount = 0;
    this.pinnedHeight = 0;
    this.scrolledHeight = 0;
    /** @type {LaidRow[]} */
    this.rows = [];
  }

  /**
   * Lay out these rows.
   * @param {readonly DrawnRow[]} rows
   */
  set(rows) {
    const pinned = rows.filter((drawn) => drawn.isPinned);
    const others = rows.filter((drawn) => !drawn.isPinned);
    this.rows = [];
    this.pinnedCount = pinned.length;
    this.pinnedHeight = this.add(pinned);
    this.scrolledHeight = this.add(others);
    this.place();
  }

  /** @param {readonly DrawnRow[]} rows */
  add(rows) {
    let height = 0;
    rows.forEach(({ row, height: given }, i) => {
      const laid = { row, top: 0, height: given ?? heightOf(row), isPinned: false };
      this.rows.push(laid);
      height += laid.height + gapAfter(row, rows[i + 1]?.row);
    });
    return height;
  }

  /** Tops, after rows or the scroll position changed. */
  place() {
    this.scroll = Math.max(0, Math.min(this.scroll, this.furthest));
    const { doPinnedStay } = this;
    let top = this.head - (doPinnedStay ? 0 : this.scroll);
    this.rows.forEach((laid, i) => {
      if (doPinnedStay && i === this.pinnedCount) top -= this.scroll;
      laid.isPinned = doPinnedStay && i < this.pinnedCount;
      laid.top = top;
      const next = i + 1 === this.pinnedCount ? undefined : this.rows[i + 1]?.row;
      top += laid.height + gapAfter(laid.row, next);
    });
  }

  /**
   * Whether the position changed.
   * @param {number} scroll
   */
  scrollTo(scroll) {
    const before = this.scroll;
    this.scroll = scroll;
    this.place();
    return this.scroll !== before;
  }

  /** The height that all rows need. */
  get height() {
    return this.head + this.pinnedHeight + this.scrolledHeight + BOTTOM;
  }

  get furthest() {
    return this.room === Infinity ? 0 : Math.max(0, this.height - this.room);
  }

  /** Pinned rows that would leave too little room for the others scroll with them. */
  get doPinnedStay() {
    return this.pinnedHeight <= MOST_PINNED * (this.room - this.head);
  }

  /** Where the rows that scroll begin. */
  get scrolledTop() {
    return this.head + (this.doPinnedStay ? this.pinnedHeight : 0);
  }

  /**
   * The row at a height, pinned ones first.
   * @param {number} y
   */
  rowAt(y) {
    const isIn = (/** @type {LaidRow} */ laid) => y >= laid.top && y < laid.top + laid.height;
    return this.rows.find((laid) => isIn(laid) && (laid.isPinned || y >= this.scrolledTop)) ?? null;
  }

  /** @param {string} id */
  row(id) {
    return this.rows.find((laid) => laid.row.id === id) ?? null;
  }

  /**
   * Scroll as little as possible until the row is seen; of one that is higher than the room for
   * it, what lies so deep in it.
   * @param {string} id
   * @param {number} depth -1: its top
   */
  reveal(id, depth = -1) {
    const laid = this.row(id);
    if (!laid || laid.isPinned || this.room === Infinity) return false;
    const fits = laid.height <= this.room - BOTTOM - this.scrolledTop;
    const lane = laid.height / lanesOf(laid.row);
    const [top, height] = fits || depth < 0 ? [laid.top, laid.height] : [laid.top + depth * lane, lane];
    const above = top - this.scrolledTop;
    const below = top + height - this.room + BOTTOM;
    if (above < 0) return this.scrollTo(this.scroll + above);
    return below > 0 && this.scrollTo(this.scroll + Math.min(below, above));
  }

  /** @param {string} id @returns {boolean} whether all of the row can be seen */
  isInSight(id) {
    const laid = this.row(id);
    if (!laid) return false;
    return laid.top >= (laid.isPinned ? 0 : this.scrolledTop) && laid.top + laid.height <= this.room;
  }
}
