// Answers of `api/tiles`: a header in JSON, then columns that are read in place.

/**
 * What one row shows in some pixels of one scale.
 * @typedef {object} Tile
 * @property {number} version the trace's when it was made
 * @property {number} count pixels
 * @property {number} planes
 * @property {number[]} classes those that occur
 * @property {Uint8Array} shares [plane][class][pixel]
 * @property {Float32Array | null} means
 * @property {import("../timeline/types").Boxes} boxes by depth and start
 */

/** @typedef {{ id: string, classes: number[], shares: number, planes: number, means: number | null, boxes: BoxOffsets }} RowHeader */
/** @typedef {{ count: number, depth: number, start: number, duration: number, name: number, row: number, class: number }} BoxOffsets */

/**
 * @param {ArrayBuffer} buffer
 * @param {number} count pixels that were asked for
 * @returns {{ version: number, tiles: Map<string, Tile> }}
 */
export function decodeTiles(buffer, count) {
  const headerBytes = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, headerBytes)));
  const base = 4 + headerBytes;
  const tiles = new Map();
  for (const row of header.rows) tiles.set(row.id, decodedRow(buffer, base, row, count, header.version));
  return { version: header.version, tiles };
}

/**
 * @param {ArrayBuffer} buffer
 * @param {number} base
 * @param {RowHeader} row
 * @param {number} count
 * @param {number} version
 * @returns {Tile}
 */
function decodedRow(buffer, base, row, count, version) {
  const { boxes: at, classes, planes } = row;
  return {
    version,
    count,
    planes,
    classes,
    shares: new Uint8Array(buffer, base + row.shares, planes * classes.length * count),
    means: row.means === null ? null : new Float32Array(buffer, base + row.means, count),
    boxes: {
      length: at.count,
      depth: new Uint16Array(buffer, base + at.depth, at.count),
      start: new Float64Array(buffer, base + at.start, at.count),
      duration: new Float64Array(buffer, base + at.duration, at.count),
      name: new Int32Array(buffer, base + at.name, at.count),
      row: new Uint32Array(buffer, base + at.row, at.count),
      class: new Uint8Array(buffer, base + at.class, at.count),
    },
  };
}

/**
 * The part of a decoded answer from pixel `from` on, with columns of its own: the whole answer can
 * be given up when some of its tiles are.
 * @param {Tile} tile
 * @param {number} from
 * @param {number} count
 * @param {number} startTime of its first pixel
 * @param {number} endTime of its last pixel
 * @returns {Tile}
 */
export function cutTile(tile, from, count, startTime, endTime) {
  const series = tile.planes * tile.classes.length;
  const shares = new Uint8Array(series * count);
  for (let i = 0; i < series; i += 1) {
    const at = i * tile.count + from;
    shares.set(tile.shares.subarray(at, at + count), i * count);
  }
  const { start, duration } = tile.boxes;
  const kept = [];
  for (let i = 0; i < tile.boxes.length; i += 1) {
    const end = start[i] + duration[i];
    const begins = start[i] >= startTime && start[i] < endTime;
    if (begins || (start[i] < startTime && end > startTime)) kept.push(i);
  }
  return {
    version: tile.version,
    count,
    planes: tile.planes,
    classes: tile.classes,
    shares,
    means: tile.means ? tile.means.slice(from, from + count) : null,
    boxes: pickedBoxes(tile.boxes, kept),
  };
}

/**
 * @param {number} length
 * @returns {import("../timeline/types").Boxes}
 */
export function newBoxes(length) {
  return {
    length,
    depth: new Uint16Array(length),
    start: new Float64Array(length),
    duration: new Float64Array(length),
    name: new Int32Array(length),
    row: new Uint32Array(length),
    class: new Uint8Array(length),
  };
}

/**
 * @param {import("../timeline/types").Boxes} boxes
 * @param {number[]} kept
 * @returns {import("../timeline/types").Boxes}
 */
export function pickedBoxes(boxes, kept) {
  const found = newBoxes(kept.length);
  kept.forEach((from, to) => copyBox(boxes, from, found, to));
  return found;
}

/**
 * @param {import("../timeline/types").Boxes} source
 * @param {number} from
 * @param {import("../timeline/types").Boxes} target
 * @param {number} to
 */
export function copyBox(source, from, target, to) {
  target.depth[to] = source.depth[from];
  target.start[to] = source.start[from];
  target.duration[to] = source.duration[from];
  target.name[to] = source.name[from];
  target.row[to] = source.row[from];
  target.class[to] = source.class[from];
}

/**
 * Memory that a tile holds.
 * @param {Tile} tile
 */
export function tileBytes(tile) {
  return 200 + tile.shares.length + (tile.means ? 4 * tile.count : 0) + 27 * tile.boxes.length;
}
