// Boxes of single ranges, with their names.

import { FAINT } from "./colours.js";

/** @typedef {import("./types").Boxes} Boxes */
/** @typedef {import("./types").Box} Box */
/** @typedef {import("./types").Row} Row */
/** @typedef {import("./colours.js").Palette} Palette */
/** @typedef {CanvasRenderingContext2D} Pen */
/**
 * How boxes look.
 * @typedef {object} BoxStyle
 * @property {Palette} palette
 * @property {number} ratio device pixels of a CSS pixel
 * @property {boolean} isGrey markers and calls that have no colours of their own
 * @property {((row: Row, name: number) => boolean) | null} isHit
 * @property {(row: Row, name: number) => string} nameOf
 */

const LETTER = 5.8; // about as wide as letters are on average, CSS pixels at 11 of height
/** CSS pixels. */
export const LEAST_WITH_NAME = 30;
const LOWEST_WITH_NAME = 9;
const LONGEST = 400;
const TICK = 3; // CSS pixels of height
const TICK_REACH = 5;

/**
 * Whether a row's ranges lie in each other: one strip for each depth.
 * @param {Row} row
 */
export const isNested = (row) => row.kind === "markers" || row.kind === "calls";

/**
 * How many ranges of a row can lie one below the other.
 * @param {Row} row
 */
export const lanesOf = (row) => Math.max(1, isNested(row) ? row.planes : row.depth);

/**
 * Text cut to a width.
 * @param {string} text
 * @param {number} width CSS pixels
 */
export const cutText = (text, width) => {
  const fits = Math.max(1, Math.min(LONGEST, Math.floor(width / LETTER)));
  return text.length > fits ? `${text.slice(0, Math.max(1, fits - 1))}…` : text;
};

/** @param {Boxes} boxes @param {number} i @returns {Box} */
export const boxAt = (boxes, i) => ({
  depth: boxes.depth[i],
  start: boxes.start[i],
  duration: boxes.duration[i],
  name: boxes.name[i],
  row: boxes.row[i],
  class: boxes.class[i],
});

/**
 * The pixels that a range is drawn on, numbers of its first and of the one after its last. Other
 * than the edges of boxes instants are not rounded: a source has them in the block of their pixel.
 * @param {Boxes} boxes @param {number} i @param {number} scale
 * @returns {[number, number]}
 */
export const pixelsOf = (boxes, i, scale) => {
  const start = boxes.start[i];
  if (boxes.duration[i] === 0) {
    const at = scale < 1 ? Math.ceil(start / scale) : Math.ceil((start + 1) / scale) - 1;
    return [at, at + 1];
  }
  const left = Math.round(start / scale);
  return [left, Math.max(left + 1, Math.round((start + boxes.duration[i]) / scale))];
};

/**
 * How many pixels more than its own an instant can be hit on: one is hard to find.
 * @param {Boxes} boxes
 * @param {number} i
 */
export const reachOf = (boxes, i) => (boxes.duration[i] > 0 ? 0 : 2);

/**
 * Whether a range of no length is a line as high as its lane. Of calls and ops there may be one in
 * every pixel: ticks at the bottom leave the shares to be seen.
 * @param {Row} row
 */
const hasFullLines = (row) => row.kind === "markers";

/**
 * Whether instants of a row reach up to a point of their lane.
 * @param {Row} row
 * @param {number} above CSS pixels above the lane's bottom
 */
export const doInstantsReach = (row, above) => hasFullLines(row) || above <= TICK_REACH;

/** @param {Pen} pen @param {BoxStyle} style */
export const setUpText = (pen, style) => {
  pen.font = `${11 * style.ratio}px ${style.palette.font}`;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
};

/** @param {Pen} pen @param {Palette} palette @param {number} left @param {number} top @param {number} height @param {boolean} isHit */
const paintInstant = (pen, palette, left, top, height, isHit) => {
  pen.globalAlpha = isHit ? 1 : FAINT;
  pen.fillStyle = palette.text;
  pen.fillRect(left, top, 1, height);
  pen.globalAlpha = 1;
};

/**
 * One box from pixel `left` to `right` (device pixels of `pen`); false: its name is not there yet.
 * @param {Pen} pen
 * @param {BoxStyle} style
 * @param {Row} row
 * @param {Boxes} boxes
 * @param {number} i
 * @param {number} left
 * @param {number} right
 * @param {number} top
 * @param {number} height
 */
export const paintBox = (pen, style, row, boxes, i, left, right, top, height) => {
  const { palette, ratio } = style;
  const name = boxes.name[i];
  const isHit = !style.isHit || style.isHit(row, name);
  if (boxes.duration[i] === 0) {
    const tall = hasFullLines(row) ? height : Math.min(height, Math.round(TICK * ratio));
    paintInstant(pen, palette, left, top + height - tall, tall, isHit);
    return true;
  }
  const colour = style.isGrey ? palette.marker[name & 1] : palette.classes[boxes.class[i]] ?? palette.soft;
  const width = right - left;
  const border = width > 2 ? 1 : 0;
  pen.fillStyle = palette.ground;
  pen.fillRect(left, top, width, height);
  pen.globalAlpha = isHit ? 1 : FAINT;
  pen.fillStyle = colour;
  pen.fillRect(left, top, width - border, height);
  pen.globalAlpha = 1;
  if (width < LEAST_WITH_NAME * ratio || height < LOWEST_WITH_NAME * ratio) return true;
  const text = style.nameOf(row, name);
  if (!text) return false;
  const isOnGrey = style.isGrey || !isHit;
  pen.fillStyle = isOnGrey ? palette.text : palette.classTexts[boxes.class[i]] ?? palette.text;
  if (!isHit) pen.fillStyle = palette.soft;
  pen.fillText(cutText(text, width / ratio - 7), left + 4 * ratio, top + height / 2 + ratio / 2, width - 5 * ratio);
  return true;
};
