// Levels of detail of a strip's shares: each level has half as many bins as the one before.

const COARSEST = 512;

/**
 * @typedef {object} Level
 * @property {Uint8Array | Float32Array} values percents, class by class, bin by bin
 * @property {number} bins
 * @property {number} bin ns
 */

/**
 * All levels, the finest first.
 * @param {Uint8Array} finest
 * @param {number} classes
 * @param {number} bins
 * @param {number} bin
 */
export const shareLevels = (finest, classes, bins, bin) => {
  /** @type {Level[]} */
  const found = [{ values: finest, bins, bin }];
  for (let last = found[0]; last.bins > COARSEST; last = found[found.length - 1]) {
    const half = Math.ceil(last.bins / 2);
    const values = new Float32Array(classes * half);
    for (let c = 0; c < classes; c += 1) {
      for (let b = 0; b < half; b += 1) {
        const at = c * last.bins + 2 * b;
        const right = 2 * b + 1 < last.bins ? last.values[at + 1] : 0;
        values[c * half + b] = (last.values[at] + right) / 2;
      }
    }
    found.push({ values, bins: half, bin: 2 * last.bin });
  }
  return found;
};

/**
 * The coarsest level whose bins are not wider than `width` ns.
 * @param {Level[]} levels
 * @param {number} width
 */
export const levelFor = (levels, width) => {
  const step = Math.max(0, Math.floor(Math.log2(Math.max(1, width / levels[0].bin))));
  return levels[Math.min(step, levels.length - 1)];
};

/**
 * The share of one class in [from, to), as percents of that time.
 * @param {Level} level
 * @param {number} number of the class
 * @param {number} from
 * @param {number} to
 */
export const shareBetween = (level, number, from, to) => {
  const { values, bins, bin } = level;
  const stop = Math.min(bins, Math.ceil(to / bin));
  let sum = 0;
  for (let b = Math.max(0, Math.floor(from / bin)); b < stop; b += 1) {
    const value = values[number * bins + b];
    if (value) sum += value * (Math.min(to, (b + 1) * bin) - Math.max(from, b * bin));
  }
  return sum / (to - from);
};
