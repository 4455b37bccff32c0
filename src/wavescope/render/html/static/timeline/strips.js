// Columns of pixels: each class of ranges takes its share of the height, stacked from below.

import { timeWithin } from "./intervals.js";

/** @typedef {import("./types").Columns} Columns */
/** @typedef {import("./types").Row} Row */
/**
 * Part of a picture: a stretch of rows of pixels.
 * @typedef {object} Area
 * @property {Uint32Array} pixels
 * @property {number} width
 * @property {number} top
 * @property {number} height
 */

const HATCH = 6;
const HATCH_LINE = 2;

/** @param {Area} area @param {number} pixel */
export const fill = (area, pixel) => {
  area.pixels.fill(pixel, area.top * area.width, (area.top + area.height) * area.width);
};

/**
 * Where less than half of a pixel's time was recorded nothing is known, which is not idle.
 * @param {Area} area
 * @param {NonNullable<Row["recorded"]>} recorded
 * @param {number} first number of the first pixel
 * @param {number} scale ns of a pixel
 * @param {number} line
 */
export const hatch = (area, recorded, first, scale, line) => {
  const { pixels, width, top, height } = area;
  for (let x = 0; x < width; x += 1) {
    const from = (first + x) * scale;
    if (2 * timeWithin(recorded, from, from + scale) >= scale) continue;
    const phase = (((first + x) % HATCH) + HATCH) % HATCH;
    for (let y = 0; y < height; y += 1) {
      if ((phase + y) % HATCH < HATCH_LINE) pixels[(top + y) * width + x] = line;
    }
  }
};

/**
 * Shares of one plane; `colourOf` has the pixel of each class, or is the pixel of all.
 * @param {Area} area
 * @param {Columns} columns
 * @param {number} plane
 * @param {number} first number of the area's first pixel
 * @param {Uint32Array | number} colourOf
 */
export const paintShares = (area, columns, plane, first, colourOf) => {
  const { pixels, width, top, height } = area;
  const { classes, shares, count } = columns;
  const begin = Math.max(0, columns.first - first);
  const end = Math.min(width, columns.first + count - first);
  for (let x = begin; x < end; x += 1) {
    let at = plane * classes.length * count + (first + x - columns.first);
    let y = top + height;
    for (let c = 0; c < classes.length && y > top; c += 1, at += count) {
      const share = shares[at];
      if (!share) continue;
      const tall = Math.max(1, Math.round((share * height) / 255));
      const stop = Math.max(top, y - tall);
      const colour = typeof colourOf === "number" ? colourOf : colourOf[classes[c]];
      for (let p = y - 1; p >= stop; p -= 1) pixels[p * width + x] = colour;
      y = stop;
    }
  }
};

/**
 * A value over time as an area with a line on top.
 * @param {Area} area
 * @param {Columns} columns
 * @param {number} first
 * @param {number} largest the value at the top
 * @param {number} line
 * @param {number} body
 */
export const paintMeans = (area, columns, first, largest, line, body) => {
  const { pixels, width, top, height } = area;
  const { means, count } = columns;
  if (!means) return;
  const begin = Math.max(0, columns.first - first);
  const end = Math.min(width, columns.first + count - first);
  for (let x = begin; x < end; x += 1) {
    const mean = means[first + x - columns.first];
    if (!(mean >= 0)) continue;
    const tall = Math.max(1, Math.round((Math.min(mean, largest) / largest) * height));
    const stop = top + height - tall;
    pixels[stop * width + x] = line;
    for (let p = stop + 1; p < top + height; p += 1) pixels[p * width + x] = body;
  }
};
