// The command that opens a rank's trace at a moment. Times of traces have more digits than a number
// here can hold, so a rank's first moment is text and becomes a BigInt.

/**
 * @typedef {object} Rank
 * @property {string} label
 * @property {string} place host and GPU
 * @property {string} host short enough for the margin
 * @property {string} number
 * @property {[string, string][]} commands for each of its files, before and after the times; empty where none can be typed
 * @property {string[]} later when each file after the first begins, in the rank's own time
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
 * The command for the file that has the middle of this time.
 * @param {Rank} rank
 * @param {bigint} from in the rank's own time
 * @param {bigint} to
 */
export const viewCommand = ({ commands, later }, from, to) => {
  const [before, after] = commands[later.filter((begin) => 2n * BigInt(begin) <= from + to).length];
  return before ? `${before} --start=${from} --end=${to}${after}` : "";
};
