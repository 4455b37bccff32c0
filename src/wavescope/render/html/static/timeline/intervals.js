// Ranges in order of time.

/**
 * The first place in [from, to) whose value is above `limit`, of values that never decrease.
 * @param {ArrayLike<number>} values
 * @param {number} from
 * @param {number} to
 * @param {number} limit
 */
export const firstAbove = (values, from, to, limit) => {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (/** @type {number} */ (values[middle]) > limit) to = middle;
    else from = middle + 1;
  }
  return from;
};

/**
 * How much of [from, to) lies in the intervals.
 * @param {{start: ArrayLike<number>, end: ArrayLike<number>}} intervals
 * @param {number} from
 * @param {number} to
 */
export const timeWithin = (intervals, from, to) => {
  let time = 0;
  const count = intervals.start.length;
  for (let i = firstAbove(intervals.end, 0, count, from); i < count && intervals.start[i] < to; i += 1) {
    time += Math.min(to, intervals.end[i]) - Math.max(from, intervals.start[i]);
  }
  return time;
};
