// Times in words: lengths, and places on the time axis.

/** @type {readonly (readonly [string, number])[]} */
const UNITS = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];

/** @param {number} ns @returns {readonly [string, number]} */
const unitOf = (ns) => UNITS.find(([, per]) => ns >= per) ?? ["ns", 1];

/**
 * A length of time; of an axis of another unit, such as cycles, the number of them.
 * @param {number} ns
 * @param {string} [axisUnit]
 */
export const duration = (ns, axisUnit = "ns") => {
  if (axisUnit !== "ns") return `${Math.round(ns).toLocaleString("en")} ${axisUnit}`;
  const size = Math.abs(ns);
  const [unit, per] = unitOf(size);
  if (per === 1) return `${Math.round(ns)} ns`;
  const value = size / per;
  return `${(ns / per).toFixed(value >= 100 ? 1 : value >= 10 ? 2 : 3)} ${unit}`;
};

/**
 * A place on the time axis, in the unit of `largest`, with digits enough to tell `step` apart.
 * @param {number} ns
 * @param {number} step
 * @param {number} largest
 * @param {string} [axisUnit]
 */
export const position = (ns, step, largest, axisUnit = "ns") => {
  if (axisUnit !== "ns") return duration(ns, axisUnit);
  const [unit, per] = unitOf(largest);
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(per / step) - 1e-9)));
  return `${(ns / per).toFixed(digits)} ${unit}`;
};

/**
 * The distance of marks on the axis: 1, 2 or 5 times a power of ten, at least `least`.
 * @param {number} least
 */
export const axisStep = (least) => {
  const decade = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((factor) => factor * decade >= least) ?? 10) * decade;
};
