// The command that opens a rank's trace at a moment. Times of traces have more digits than a number
// here can hold, so a rank's first moment is text and becomes a BigInt.

/**
 * @typedef {object} Rank
 * @property {string} label
 * @property {string} place host and GPU
 * @property {string} host short enough for the margin
 * @property {string} number
 * @property {[string, string]} command before and after its times; empty where none can be typed
 * @property {string} left the rank's own time at the left edge of the map, in ns
 * @property {number} rate how many ns of its own pass in one of common time
 * @property {boolean} isLate whether others wait for it
 * @property {string} clock what is to be said of its clock; empty where nothing is
 */

/**
 * The rank's own time `since` ns after the left edge of the map.
 * @param {Rank} rank
 * @param {number} since
 */
export const ownTime = ({ left, rate }, since) => BigInt(left) + BigInt(Math.round(since * rate));

/**
 * @param {Rank} rank
 * @param {bigint} from in the rank's own time
 * @param {bigint} to
 */
export const viewCommand = ({ command: [before, after] }, from, to) =>
  before ? `${before} --start=${from} --end=${to}${after}` : "";
