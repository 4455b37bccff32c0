// The cells of a map: values that were packed into whole numbers, and where a cell lies on a canvas.

import { duration } from "../timeline/time_text.js";

/**
 * @typedef {object} Measure
 * @property {string} title
 * @property {"%" | "ns"} unit
 * @property {number} low what the first shade stands for
 * @property {number} high what the last shade stands for
 * @property {number} largest what the greatest code stands for: what is above `high` has its shade
 * @property {number} codes how many codes there are beside 0
 */

/**
 * The value of a code; NaN for 0, which stands for none.
 * @param {Measure} measure
 * @param {number} code
 */
export const valueOf = ({ largest, codes }, code) => (code === 0 ? NaN : ((code - 1) / (codes - 1)) * largest);

/**
 * Which of `count` shades a value has.
 * @param {Measure} measure
 * @param {number} value
 * @param {number} [count]
 */
export const shadeOf = ({ low, high }, value, count = 256) => {
  const share = high > low ? (value - low) / (high - low) : 0;
  return Math.round(Math.min(1, Math.max(0, share)) * (count - 1));
};

/**
 * A value as people read it.
 * @param {Measure} measure
 * @param {number} value
 */
export const valueText = ({ unit }, value) => {
  if (Number.isNaN(value)) return "not recorded";
  return unit === "%" ? `${(100 * value).toFixed(1)} %` : duration(value);
};

/**
 * How high a row is drawn: all ranks at once, and none is lost.
 * @param {number} count
 */
export const rowHeight = (count) => Math.max(1, Math.min(22, Math.round(640 / Math.max(1, count))));

/**
 * Which of `count` equal parts of `size` a place is in; the nearest one where it is outside.
 * @param {number} at
 * @param {number} size
 * @param {number} count
 */
export const partAt = (at, size, count) => Math.min(count - 1, Math.max(0, Math.floor((at * count) / size)));

/**
 * The rows in the order in which they are drawn: as they are, or the greatest means first.
 * @param {(row: number) => number} meanOf
 * @param {number} count
 * @param {boolean} isByValue
 */
export const rowOrder = (meanOf, count, isByValue) => {
  const rows = Array.from({ length: count }, (_, row) => row);
  if (!isByValue) return rows;
  const means = rows.map(meanOf).map((mean) => (Number.isNaN(mean) ? -Infinity : mean));
  return rows.sort((a, b) => means[b] - means[a] || a - b);
};
