// Tiles that were fetched, the least recently drawn given up first.

import { tileBytes } from "./tile_decoder.js";

/** @typedef {import("./tile_decoder.js").Tile} Tile */

/** Pixels of a tile. */
export const TILE = 512;

export class TileCache {
  /** @param {number} mostBytes */
  constructor(mostBytes) {
    this.mostBytes = mostBytes;
    this.bytes = 0;
    /** @type {Map<string, Tile>} in the order of use, the latest last */
    this.tiles = new Map();
    /** @type {Map<string, { scale: number, numbers: Set<number> }>} by row, scale and colouring */
    this.strips = new Map();
    /** @type {Map<string, Set<string>>} strips by row and colouring */
    this.scales = new Map();
  }

  /**
   * @param {string} row
   * @param {string} by
   * @param {number} scale
   * @param {number} number of the tile: it begins at pixel number * TILE
   * @returns {Tile | undefined}
   */
  get(row, by, scale, number) {
    const key = tileKey(row, by, scale, number);
    const tile = this.tiles.get(key);
    if (tile) {
      this.tiles.delete(key);
      this.tiles.set(key, tile);
    }
    return tile;
  }

  /**
   * @param {string} row
   * @param {string} by
   * @param {number} scale
   * @param {number} number
   * @param {Tile} tile
   */
  put(row, by, scale, number, tile) {
    const key = tileKey(row, by, scale, number);
    this.drop(key);
    this.tiles.set(key, tile);
    this.bytes += tileBytes(tile);
    const strip = stripKey(row, by, scale);
    const held = this.strips.get(strip) ?? { scale, numbers: new Set() };
    held.numbers.add(number);
    this.strips.set(strip, held);
    const family = familyKey(row, by);
    const scales = this.scales.get(family) ?? new Set();
    scales.add(strip);
    this.scales.set(family, scales);
    while (this.bytes > this.mostBytes && this.tiles.size > 1) {
      this.drop(/** @type {string} */ (this.tiles.keys().next().value));
    }
  }

  /** @param {string} key */
  drop(key) {
    const tile = this.tiles.get(key);
    if (!tile) return;
    this.tiles.delete(key);
    this.bytes -= tileBytes(tile);
    const [row, by, scale, number] = key.split("\n");
    const strip = stripKey(row, by, Number(scale));
    const held = this.strips.get(strip);
    held?.numbers.delete(Number(number));
    if (held?.numbers.size === 0) {
      this.strips.delete(strip);
      const scales = this.scales.get(familyKey(row, by));
      scales?.delete(strip);
      if (scales?.size === 0) this.scales.delete(familyKey(row, by));
    }
  }

  /**
   * Nothing that is known of a trace holds any more.
   * @param {number} trace
   */
  dropTrace(trace) {
    for (const key of [...this.tiles.keys()]) if (key.startsWith(`${trace}:`)) this.drop(key);
  }

  /**
   * The scales in which something of a row is there, the nearest to `scale` first.
   * @param {string} row
   * @param {string} by
   * @param {number} scale
   * @returns {{ scale: number, numbers: Set<number> }[]}
   */
  stripsNear(row, by, scale) {
    const found = [...(this.scales.get(familyKey(row, by)) ?? [])].flatMap((key) => this.strips.get(key) ?? []);
    const distance = (/** @type {number} */ other) => Math.abs(Math.log(other / scale));
    return found.sort((a, b) => distance(a.scale) - distance(b.scale));
  }
}

/**
 * @param {string} row
 * @param {string} by
 * @param {number} scale
 * @param {number} number
 */
function tileKey(row, by, scale, number) {
  return `${row}\n${by}\n${scale}\n${number}`;
}

/**
 * @param {string} row
 * @param {string} by
 * @param {number} scale
 */
function stripKey(row, by, scale) {
  return `${row}\n${by}\n${scale}`;
}

/**
 * @param {string} row
 * @param {string} by
 */
function familyKey(row, by) {
  return `${row}\n${by}`;
}
