// Fetches tiles that were missed while drawing: all rows of a window in one question, the newest
// window first, its neighbours while nothing else is to do.

import { TILE } from "./tile_cache.js";
import { cutTile, decodeTiles } from "./tile_decoder.js";

/**
 * Tiles `from` to `to` (inclusive) of a row, on an axis on which the trace begins at `offset`.
 * @typedef {{ row: string, by: string, scale: number, offset: number, from: number, to: number }} Wanted
 */

/** @typedef {Wanted & { first: number, last: number, version: number }} Seen with the tiles that have anything */

/** @typedef {Omit<Wanted, "row"> & { rows: string[], abort: AbortController, version: number, isAhead: boolean }} Request */

const MOST_REQUESTS = 3;
const MOST_ROWS = 200;
const MOST_TILES = 8;
const AHEAD_AFTER_MS = 120;
const AGAIN_AFTER_MS = 1000;

export class TileLoader {
  /**
   * @param {number} trace
   * @param {import("./asking.js").Asking} asking
   * @param {import("./tile_cache.js").TileCache} cache
   * @param {(rows: string[]) => void} onTiles
   */
  constructor(trace, asking, cache, onTiles) {
    this.trace = trace;
    this.asking = asking;
    this.cache = cache;
    this.onTiles = onTiles;
    /** @type {Set<Request>} */
    this.running = new Set();
    /** @type {Map<string, Seen>} of this frame, by row and scale */
    this.frame = new Map();
    /** @type {Seen[]} what the last frame missed */
    this.missing = [];
    /** @type {Seen[]} what the last frame showed */
    this.shown = [];
    /** @type {Set<string>} refused by the server: not asked for again at this version */
    this.refused = new Set();
    this.isFrameOpen = false;
    /** how long the last question took */
    this.lastMs = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** Whether the last frame missed nothing. */
  get isSettled() {
    return !this.isFrameOpen && this.missing.length === 0;
  }

  /**
   * Told for each row that is drawn.
   * @param {Wanted} wanted
   * @param {{ first: number, last: number }} tiles that have anything
   * @param {number} version
   */
  seen(wanted, { first, last }, version) {
    if (!this.isFrameOpen) {
      this.isFrameOpen = true;
      this.frame.clear();
      queueMicrotask(() => this.closeFrame());
    }
    const key = `${wanted.row}\n${wanted.scale}\n${wanted.by}\n${wanted.offset}`;
    const before = this.frame.get(key) ?? wanted;
    const [from, to] = [Math.min(before.from, wanted.from), Math.max(before.to, wanted.to)];
    this.frame.set(key, { ...wanted, from, to, first, last, version });
  }

  /** Questions that were refused may be asked again: the trace has grown. */
  forgive() {
    this.refused.clear();
  }

  closeFrame() {
    this.isFrameOpen = false;
    this.shown = [...this.frame.values()];
    this.missing = this.shown.flatMap((wanted) => this.missingOf(wanted, wanted.from, wanted.to));
    for (const request of this.running) {
      const isStale = !this.missing.some((part) => isAlike(part, request));
      if (isStale && this.missing.length > 0 && this.running.size >= MOST_REQUESTS) request.abort.abort();
    }
    this.pump();
  }

  /**
   * The run of tiles that has to be asked for: nothing, or from the first missing to the last.
   * @param {Seen} wanted
   * @param {number} from
   * @param {number} to
   * @returns {Seen[]}
   */
  missingOf(wanted, from, to) {
    const { row, by, scale, offset, first, last, version } = wanted;
    let low = Infinity;
    let high = -Infinity;
    for (let number = Math.max(first, from); number <= Math.min(last, to); number += 1) {
      const tile = this.cache.get(tileRow(this.trace, row, offset), by, scale, number);
      if (tile && tile.version >= version) continue;
      low = Math.min(low, number);
      high = number;
    }
    return high >= low && !this.refused.has(row) ? [{ ...wanted, from: low, to: high }] : [];
  }

  pump() {
    clearTimeout(this.timer);
    if (!this.asking.isUp) return;
    for (const part of this.missing) {
      if (this.running.size >= MOST_REQUESTS) return;
      if (!this.isRunning(part)) this.start(this.gathered(part, this.missing), false);
    }
    if (this.running.size === 0 && this.missing.length === 0) {
      this.timer = setTimeout(() => this.lookAhead(), AHEAD_AFTER_MS);
    }
  }

  /** Half a window to the left and to the right of what is shown. */
  lookAhead() {
    if (this.running.size > 0 || this.missing.length > 0) return;
    const ahead = this.shown.flatMap((wanted) => {
      const half = Math.ceil((wanted.to - wanted.from + 1) / 2);
      const right = this.missingOf(wanted, wanted.to + 1, wanted.to + half);
      return right.length ? right : this.missingOf(wanted, wanted.from - half, wanted.from - 1);
    });
    if (ahead.length) this.start(this.gathered(ahead[0], ahead), true);
  }

  /** @param {Wanted & { version: number }} part */
  isRunning(part) {
    return [...this.running].some(
      (request) =>
        isAlike(request, part) && request.version >= part.version &&
        request.from <= part.from && request.to >= part.to && request.rows.includes(part.row),
    );
  }

  /**
   * One request for all rows that miss the same.
   * @param {Wanted & { version: number }} part
   * @param {(Wanted & { version: number })[]} parts
   * @returns {Omit<Request, "abort" | "isAhead">}
   */
  gathered(part, parts) {
    const { by, scale, offset, from, to, version } = part;
    const rows = parts
      .filter((other) => isAlike(other, part) && other.from === from && other.to === to && !this.isRunning(other))
      .map((other) => other.row)
      .slice(0, MOST_ROWS);
    return { by, scale, offset, from, to: Math.min(to, from + MOST_TILES - 1), rows, version };
  }

  /**
   * @param {Omit<Request, "abort" | "isAhead">} wanted
   * @param {boolean} isAhead
   */
  async start(wanted, isAhead) {
    const request = { ...wanted, abort: new AbortController(), isAhead };
    this.running.add(request);
    try {
      const { by, scale, offset, from, to, rows } = request;
      const count = (to - from + 1) * TILE;
      const begin = performance.now();
      const answer = await this.asking.bytes(
        "tiles",
        { trace: this.trace, rows: rows.join(","), scale, first: from * TILE, count, offset, by },
        { signal: request.abort.signal },
      );
      this.lastMs = performance.now() - begin;
      this.keep(request, decodeTiles(answer, count));
      this.running.delete(request);
      this.missing = this.missing.flatMap((wanted) => this.missingOf(wanted, wanted.from, wanted.to));
      this.onTiles(rows);
    } catch (error) {
      this.running.delete(request);
      this.failed(request, /** @type {Error} */ (error));
    }
    this.pump();
  }

  /**
   * @param {Request} request
   * @param {ReturnType<typeof decodeTiles>} answer
   */
  keep({ by, scale, offset, from, to, rows, version }, answer) {
    for (const row of rows) {
      const whole = answer.tiles.get(row);
      if (!whole) {
        this.refused.add(row);
        continue;
      }
      whole.version = Math.max(version, answer.version); // whatever was asked for is answered
      for (let number = from; number <= to; number += 1) {
        const begin = Math.floor(number * TILE * scale);
        const last = Math.floor(((number + 1) * TILE - 1) * scale);
        const end = Math.max(last + 1, Math.floor((number + 1) * TILE * scale));
        const tile = cutTile(whole, (number - from) * TILE, TILE, begin, end);
        this.cache.put(tileRow(this.trace, row, offset), by, scale, number, tile);
      }
    }
  }

  /**
   * A question that the server refuses is not asked again until the trace has grown or a while has
   * passed; one that never arrived is asked again when the server is back.
   * @param {Request} request
   * @param {Error} error
   */
  failed(request, error) {
    if (error.name === "AbortError" || !this.asking.isUp || request.isAhead) return;
    for (const row of request.rows) this.refused.add(row);
    this.missing = this.missing.filter((part) => !request.rows.includes(part.row));
    setTimeout(() => {
      this.forgive();
      this.onTiles([]);
    }, AGAIN_AFTER_MS);
  }
}

/**
 * A row in the cache of tiles: pixels of another offset are other pixels.
 * @param {number} trace
 * @param {string} row
 * @param {number} offset
 */
export function tileRow(trace, row, offset) {
  return `${trace}:${row}@${offset}`;
}

/**
 * Whether tiles can be asked for at once.
 * @param {Pick<Wanted, "by" | "scale" | "offset">} one
 * @param {Pick<Wanted, "by" | "scale" | "offset">} other
 */
function isAlike(one, other) {
  return one.by === other.by && one.scale === other.scale && one.offset === other.offset;
}
