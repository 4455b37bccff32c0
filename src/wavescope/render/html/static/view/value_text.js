// Values of results and facts as text, and exactly.

import { duration } from "../timeline/time_text.js";

/** @typedef {string | number | boolean | null} Value */

/** @param {number} value */
const counted = (value) => value.toLocaleString("en", { maximumFractionDigits: 3 });

/**
 * A value for people.
 * @param {Value} value
 * @param {string} [unit]
 */
export function valueText(value, unit = "") {
  if (value === null) return "-";
  if (typeof value !== "number") return String(value);
  if (unit === "ns") return duration(value);
  if (unit === "%") return `${value.toFixed(1)} %`;
  if (unit === "timestamp_ns") return String(value);
  if (unit === "bytes") return `${counted(value)} B`;
  if (unit === "" || unit === "count" || unit === "counter") return unit ? counted(value) : String(value);
  return `${counted(value)} ${unit}`;
}

/**
 * The same with every digit, for a tooltip.
 * @param {Value} value
 * @param {string} [unit]
 */
export function exactText(value, unit = "") {
  return value === null ? "" : `${value}${unit && unit !== "count" && unit !== "counter" ? ` ${unit}` : ""}`;
}
