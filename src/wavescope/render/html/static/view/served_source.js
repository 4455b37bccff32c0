// One trace of the server as a timeline draws it: tiles and names are fetched when they are asked
// for, and until they are there what other scales know is drawn.

import { TILE } from "./tile_cache.js";
import { newBoxes } from "./tile_decoder.js";
import { joinedBoxes, joinedColumns, stretched } from "./tile_joining.js";
import { NameLoader } from "./name_loader.js";
import { TileLoader, tileRow } from "./tile_loader.js";

/** @typedef {import("../timeline/types").Source} Source */
/** @typedef {import("../timeline/types").Row} Row */
/** @typedef {import("../timeline/types").Viewport} Viewport */
/** @typedef {import("../timeline/types").Columns} Columns */
/** @typedef {import("../timeline/types").Boxes} Boxes */
/** @typedef {import("../timeline/types").Colouring} Colouring */
/** @typedef {import("./types").TraceInfo} TraceInfo */
/** @typedef {import("./tile_cache.js").TileCache} TileCache */
/** @typedef {import("./asking.js").Asking} Asking */

/** @typedef {{ columns: Columns | null, boxes: Boxes | null }} Picture */

/** Of each row; a window on the largest screens has a dozen. */
const MOST_PICTURES = 64;
const NOTHING = { columns: null, boxes: null };

/** @type {import("./tile_decoder.js").Tile} before the first event and after the last */
const EMPTY = {
  version: Infinity, count: TILE, planes: 1, classes: [], shares: new Uint8Array(0), means: null, boxes: newBoxes(0),
};

/** @implements {Source} */
export class ServedSource {
  /**
   * @param {number} trace
   * @param {Asking} asking
   * @param {TileCache} cache
   */
  constructor(trace, asking, cache) {
    this.trace = trace;
    this.cache = cache;
    this.span = 1;
    /** where on the axis its first event is, ns */
    this.offset = 0;
    this.origin = "0";
    this.version = -1;
    /** @type {Row[]} */
    this.rows = [];
    /** @type {Map<string, Row>} */
    this.rowById = new Map();
    /** @type {Colouring[]} */
    this.colourings = [];
    /** @type {(() => void) | null} */
    this.onChange = null;
    /** @type {Map<string, Map<string, Picture>>} what was drawn of each row, by its pixels */
    this.pictures = new Map();
    this.loader = new TileLoader(trace, asking, cache, (rows) => this.arrived(rows));
    const renamed = () => this.onChange?.();
    this.opNames = new NameLoader(trace, "ops", asking, renamed);
    this.hostNames = new NameLoader(trace, "calls", asking, renamed);
  }

  /**
   * What `api/traces` says of it now.
   * @param {TraceInfo} info
   */
  update(info) {
    // Pixels count from the first event; a lower version is that of a server that was started again.
    if (this.origin !== info.first_ns || info.version < this.version) this.cache.dropTrace(this.trace);
    this.span = info.span_ns;
    this.origin = info.first_ns;
    this.rows = info.rows;
    this.rowById = new Map(info.rows.map((row) => [row.id, row]));
    if (this.version !== info.version) {
      this.version = info.version;
      this.pictures.clear();
      this.loader.forgive();
    }
    const known = new Map(this.colourings.map((colouring) => [colouring.id, colouring]));
    this.colourings = info.colourings.map(
      ({ id, title }) => known.get(id) ?? { id, title, labels: [], series: [] },
    );
  }

  /** Whether all that was drawn in the last frame was exact. */
  get isSettled() {
    return this.loader.isSettled;
  }

  /**
   * @param {Row} row
   * @param {number} colouring
   * @param {Viewport} viewport
   */
  columns(row, colouring, viewport) {
    return this.picture(row, colouring, viewport).columns;
  }

  /**
   * @param {Row} row
   * @param {number} colouring
   * @param {Viewport} viewport
   */
  boxes(row, colouring, viewport) {
    return this.picture(row, colouring, viewport).boxes;
  }

  /**
   * @param {Row} row
   * @param {number} name
   */
  nameOf(row, name) {
    return this.namesOf(row).short(name);
  }

  /**
   * @param {Row} row
   * @param {number} name
   */
  wholeNameOf(row, name) {
    return this.namesOf(row).whole(name);
  }

  /** @param {Row} row */
  namesOf(row) {
    return row.table === "ops" ? this.opNames : this.hostNames;
  }

  /** @param {string[]} rows */
  arrived(rows) {
    for (const row of rows) this.pictures.delete(row);
    this.onChange?.();
  }

  /**
   * @param {Row} row
   * @param {number} colouring
   * @param {Viewport} viewport
   * @returns {Picture}
   */
  picture(row, colouring, viewport) {
    if (row.kind === "group" || this.colourings.length === 0) return NOTHING;
    const by = this.colourings[colouring]?.id ?? this.colourings[0].id;
    const { scale, first, count } = viewport;
    const wanted = { row: row.id, by, scale, offset: this.offset, from: Math.floor(first / TILE), to: Math.floor((first + count - 1) / TILE) };
    this.loader.seen(wanted, this.tiles(scale), this.version);
    const pictures = this.pictures.get(row.id) ?? new Map();
    const key = `${by}\n${scale}\n${first}\n${count}\n${this.offset}`;
    const known = pictures.get(key);
    if (known) return known;
    const made = this.made(wanted, viewport);
    if (pictures.size >= MOST_PICTURES) pictures.clear();
    this.pictures.set(row.id, pictures.set(key, made));
    return made;
  }

  /**
   * The first and the last tile that have anything.
   * @param {number} scale
   */
  tiles(scale) {
    const last = Math.max(0, Math.ceil((this.offset + this.span) / scale) - 1);
    return { first: Math.floor(this.offset / scale / TILE), last: Math.floor(last / TILE) };
  }

  /**
   * @param {import("./tile_loader.js").Wanted} wanted
   * @param {Viewport} viewport
   * @returns {Picture}
   */
  made({ row, by, scale, offset, from, to }, viewport) {
    const { first, last } = this.tiles(scale);
    const key = tileRow(this.trace, row, offset);
    const tiles = [];
    for (let number = from; number <= to; number += 1) {
      const tile = number < first || number > last ? EMPTY : this.cache.get(key, by, scale, number);
      if (!tile) return stretched(this.cache, key, by, viewport) ?? NOTHING;
      tiles.push(tile);
    }
    const isExact = tiles.every((tile) => tile.version >= this.version);
    return { columns: joinedColumns(tiles, from, isExact), boxes: joinedBoxes(tiles, from, scale) };
  }
}
