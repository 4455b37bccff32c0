// Pixels and boxes of a row from the tiles that are there: exact ones, or from other scales.

import { TILE } from "./tile_cache.js";
import { copyBox, newBoxes } from "./tile_decoder.js";

/** @typedef {import("./tile_decoder.js").Tile} Tile */
/** @typedef {import("./tile_cache.js").TileCache} TileCache */
/** @typedef {import("../timeline/types").Viewport} Viewport */
/** @typedef {import("../timeline/types").Columns} Columns */
/** @typedef {import("../timeline/types").Boxes} Boxes */

const MOST_SCALES = 6;
const MOST_SAMPLES = 16;

/**
 * Tiles that follow each other, as one.
 * @param {Tile[]} tiles
 * @param {number} firstNumber of the first tile
 * @param {boolean} isExact
 * @returns {Columns}
 */
export function joinedColumns(tiles, firstNumber, isExact) {
  if (tiles.length === 1) {
    const { count, classes, shares, means } = tiles[0];
    return { first: firstNumber * TILE, count, classes, shares, means, isExact };
  }
  const classes = unionOfClasses(tiles);
  const planes = mostPlanes(tiles);
  const count = tiles.length * TILE;
  const shares = new Uint8Array(planes * classes.length * count);
  const hasMeans = tiles.some((tile) => tile.means);
  const means = hasMeans ? new Float32Array(count).fill(NaN) : null;
  tiles.forEach((tile, t) => {
    tile.classes.forEach((label, c) => {
      const to = classes.indexOf(label);
      for (let plane = 0; plane < tile.planes; plane += 1) {
        const from = (plane * tile.classes.length + c) * tile.count;
        shares.set(tile.shares.subarray(from, from + tile.count), (plane * classes.length + to) * count + t * TILE);
      }
    });
    if (means && tile.means) means.set(tile.means, t * TILE);
  });
  return { first: firstNumber * TILE, count, classes, shares, means, isExact };
}

/**
 * The boxes of tiles that follow each other; one that reaches into several is there once.
 * @param {Tile[]} tiles
 * @param {number} firstNumber
 * @param {number} scale
 * @param {number} shortest shorter ones are left out; instants are not
 * @returns {Boxes}
 */
export function joinedBoxes(tiles, firstNumber, scale, shortest = 0) {
  if (tiles.length === 1 && shortest === 0) return tiles[0].boxes;
  /** @type {[number, number][][]} by depth: tile and box */
  const byDepth = [];
  let length = 0;
  tiles.forEach(({ boxes }, t) => {
    const begin = Math.floor((firstNumber + t) * TILE * scale);
    for (let i = 0; i < boxes.length; i += 1) {
      const isSeen = t === 0 || boxes.start[i] >= begin;
      if (!isSeen || (boxes.duration[i] < shortest && boxes.duration[i] > 0)) continue;
      (byDepth[boxes.depth[i]] ??= []).push([t, i]);
      length += 1;
    }
  });
  const found = newBoxes(length);
  let at = 0;
  for (const depth of byDepth) {
    for (const [t, i] of depth ?? []) copyBox(tiles[t].boxes, i, found, at++);
  }
  return found;
}

/**
 * What can be shown of a row until its own tiles are there; null: nothing at all.
 * @param {TileCache} cache
 * @param {string} row
 * @param {string} by
 * @param {Viewport} viewport
 * @returns {{ columns: Columns, boxes: Boxes } | null}
 */
export function stretched(cache, row, by, viewport) {
  const strips = cache.stripsNear(row, by, viewport.scale);
  const tried = strips.length > MOST_SCALES ? [...strips.slice(0, MOST_SCALES), coarsest(strips)] : strips;
  const picked = pickedPixels(cache, row, by, viewport, tried);
  if (!picked) return null;
  return {
    columns: filledColumns(viewport, picked),
    boxes: stretchedBoxes(cache, row, by, viewport, tried),
  };
}

/** @param {{ scale: number, numbers: Set<number> }[]} strips */
function coarsest(strips) {
  return strips.reduce((a, b) => (a.scale > b.scale ? a : b));
}

/**
 * For each pixel the tile and the pixels of it that lie under it.
 * @param {TileCache} cache
 * @param {string} row
 * @param {string} by
 * @param {Viewport} viewport
 * @param {{ scale: number, numbers: Set<number> }[]} strips
 */
function pickedPixels(cache, row, by, viewport, strips) {
  const { scale, first, count } = viewport;
  /** @type {(Tile | null)[]} */
  const tileOf = new Array(count).fill(null);
  const from = new Int32Array(count);
  const to = new Int32Array(count);
  let open = count;
  for (const strip of strips) {
    if (open === 0) break;
    const ratio = scale / strip.scale;
    for (let k = 0; k < count; k += 1) {
      if (tileOf[k]) continue;
      const middle = Math.floor((first + k + 0.5) * ratio);
      const number = Math.floor(middle / TILE);
      if (!strip.numbers.has(number)) continue;
      const tile = cache.get(row, by, strip.scale, number);
      if (!tile) continue;
      tileOf[k] = tile;
      open -= 1;
      const begin = number * TILE;
      const low = ratio > 1 ? Math.max(begin, Math.floor((first + k) * ratio)) : middle;
      const high = ratio > 1 ? Math.min(begin + TILE, Math.ceil((first + k + 1) * ratio)) : middle + 1;
      from[k] = low - begin;
      to[k] = Math.max(low + 1, high) - begin;
    }
  }
  return open < count ? { tileOf, from, to } : null;
}

/**
 * @param {Viewport} viewport
 * @param {{ tileOf: (Tile | null)[], from: Int32Array, to: Int32Array }} picked
 * @returns {Columns}
 */
function filledColumns(viewport, picked) {
  const { count, first } = viewport;
  const tiles = /** @type {Tile[]} */ ([...new Set(picked.tileOf)].filter((tile) => tile !== null));
  const classes = unionOfClasses(tiles);
  const planes = mostPlanes(tiles);
  const places = new Map(tiles.map((tile) => [tile, tile.classes.map((label) => classes.indexOf(label))]));
  const shares = new Uint8Array(planes * classes.length * count);
  const means = tiles.some((tile) => tile.means) ? new Float32Array(count).fill(NaN) : null;
  for (let k = 0; k < count; k += 1) {
    const tile = picked.tileOf[k];
    if (!tile) continue;
    const [low, high] = [picked.from[k], picked.to[k]];
    const step = Math.max(1, Math.ceil((high - low) / MOST_SAMPLES));
    const place = /** @type {number[]} */ (places.get(tile));
    for (let plane = 0; plane < tile.planes; plane += 1) {
      for (let c = 0; c < place.length; c += 1) {
        const mean = meanOf(tile.shares, (plane * place.length + c) * tile.count, low, high, step);
        shares[(plane * classes.length + place[c]) * count + k] = mean > 0 ? Math.max(1, Math.round(mean)) : 0;
      }
    }
    if (means && tile.means) means[k] = meanOf(tile.means, 0, low, high, step);
  }
  return { first, count, classes, shares, means, isExact: false };
}

/**
 * @param {Uint8Array | Float32Array} values
 * @param {number} base
 * @param {number} low
 * @param {number} high
 * @param {number} step
 */
function meanOf(values, base, low, high, step) {
  let sum = 0;
  let samples = 0;
  for (let i = low; i < high; i += step) {
    const value = values[base + i];
    if (Number.isNaN(value)) continue;
    sum += value;
    samples += 1;
  }
  return samples ? sum / samples : NaN;
}

/**
 * @param {TileCache} cache
 * @param {string} row
 * @param {string} by
 * @param {Viewport} viewport
 * @param {{ scale: number, numbers: Set<number> }[]} strips
 */
function stretchedBoxes(cache, row, by, viewport, strips) {
  const { scale, first, count } = viewport;
  const [start, end] = [first * scale, (first + count) * scale];
  for (const strip of strips) {
    const a = Math.floor(start / strip.scale / TILE);
    const b = Math.floor((end / strip.scale - 1) / TILE);
    const numbers = [...strip.numbers].filter((number) => number >= a && number <= b).sort((x, y) => x - y);
    if (numbers.length === 0) continue;
    const run = [numbers[0]];
    while (strip.numbers.has(run[run.length - 1] + 1) && run[run.length - 1] < b) run.push(run[run.length - 1] + 1);
    const tiles = run.flatMap((number) => cache.get(row, by, strip.scale, number) ?? []);
    return joinedBoxes(tiles, run[0], strip.scale, 3 * scale);
  }
  return newBoxes(0);
}

/** @param {Tile[]} tiles */
function unionOfClasses(tiles) {
  return [...new Set(tiles.flatMap((tile) => tile.classes))].sort((a, b) => a - b);
}

/** @param {Tile[]} tiles */
function mostPlanes(tiles) {
  return tiles.reduce((most, tile) => Math.max(most, tile.planes), 1);
}
