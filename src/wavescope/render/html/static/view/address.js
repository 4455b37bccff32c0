// What is seen, as the part of the address after `#`, and back.

/** @typedef {import("./arrangement.js").Arranged} Arranged */

/**
 * @typedef {object} Seen
 * @property {[number, number] | null} window start and end on the axis, ns
 * @property {string} by the colouring; empty: the first
 * @property {Arranged} rows
 * @property {string} find words that the rows are looked for by
 * @property {number} scrolled how far down the rows are, CSS pixels
 * @property {{ trace: number, table: string, row: number } | null} selected
 * @property {{ trace: number, start: number, end: number } | null} range
 * @property {string} panel the open one; empty: none
 * @property {number[]} offsets of the traces, ns; empty: all 0
 * @property {Record<string, string>} kept by panels, under their keys
 */

/** @returns {Seen} */
export function nothingSeen() {
  return {
    window: null,
    by: "",
    rows: { folded: [], hidden: [], pinned: [], order: [] },
    find: "",
    scrolled: 0,
    selected: null,
    range: null,
    panel: "",
    offsets: [],
    kept: {},
  };
}

/**
 * @param {Seen} seen
 * @returns {string} with its `#`; empty where there is nothing to say
 */
export function writeAddress(seen) {
  const { window, by, rows, find, scrolled, selected, range, panel, offsets, kept } = seen;
  /** @type {[string, string][]} */
  const parts = [];
  if (window) parts.push(["window", window.map(time).join("_")]);
  if (by) parts.push(["by", by]);
  if (rows.folded.length) parts.push(["fold", rows.folded.map(([id, is]) => (is ? "" : "!") + id).join(",")]);
  if (rows.hidden.length) parts.push(["hide", rows.hidden.join(",")]);
  if (rows.pinned.length) parts.push(["pin", rows.pinned.join(",")]);
  if (rows.order.length) parts.push(["order", rows.order.map(([id, children]) => [id, ...children].join(",")).join(";")]);
  if (find) parts.push(["find", find]);
  if (scrolled) parts.push(["scrolled", String(Math.round(scrolled))]);
  if (selected) parts.push(["op", [selected.trace, selected.table, selected.row].join("_")]);
  if (range) parts.push(["range", [range.trace, time(range.start), time(range.end)].join("_")]);
  if (panel) parts.push(["panel", panel]);
  if (offsets.some((offset) => offset !== 0)) parts.push(["offsets", offsets.map(time).join("_")]);
  for (const [key, value] of Object.entries(kept)) if (value) parts.push([`x.${key}`, value]);
  return parts.length ? `#${parts.map(([key, value]) => `${readable(key)}=${readable(value)}`).join("&")}` : "";
}

/**
 * What an address says; what it says wrongly is left out.
 * @param {string} text
 * @returns {Seen}
 */
export function readAddress(text) {
  const seen = nothingSeen();
  for (const part of text.replace(/^#/, "").split("&")) {
    const equals = part.indexOf("=");
    if (equals < 1) continue;
    const [key, value] = [decoded(part.slice(0, equals)), decoded(part.slice(equals + 1))];
    if (key.startsWith("x.") && value) seen.kept[key.slice(2)] = value;
    else if (value && Object.hasOwn(READERS, key)) READERS[key](seen, value);
  }
  return seen;
}

/** @type {Record<string, (seen: Seen, value: string) => void>} */
const READERS = {
  window(seen, value) {
    const [start, end] = numbers(value);
    if (end > start) seen.window = [start, end];
  },
  by(seen, value) {
    seen.by = value;
  },
  fold(seen, value) {
    seen.rows.folded = list(value).map((id) => (id.startsWith("!") ? [id.slice(1), false] : [id, true]));
  },
  hide(seen, value) {
    seen.rows.hidden = list(value);
  },
  pin(seen, value) {
    seen.rows.pinned = [...new Set(list(value))];
  },
  order(seen, value) {
    seen.rows.order = value.split(";").map((group) => {
      const [id, ...children] = group.split(",");
      return [id, children];
    });
  },
  find(seen, value) {
    seen.find = value;
  },
  scrolled(seen, value) {
    if (isCount(value)) seen.scrolled = Number(value);
  },
  op(seen, value) {
    const [trace, table, row] = value.split("_");
    if (isCount(trace) && isCount(row) && table) seen.selected = { trace: Number(trace), table, row: Number(row) };
  },
  range(seen, value) {
    const [trace, start, end] = numbers(value);
    if (Number.isInteger(trace) && trace >= 0 && end > start) seen.range = { trace, start, end };
  },
  panel(seen, value) {
    seen.panel = value;
  },
  offsets(seen, value) {
    const found = numbers(value);
    if (found.every((offset) => Math.abs(offset) <= Number.MAX_SAFE_INTEGER)) seen.offsets = found;
  },
};

/** @param {string} value */
function list(value) {
  return value.split(",").filter(Boolean);
}

/** @param {string} value */
function numbers(value) {
  return value.split("_").map((part) => (part.trim() ? Number(part) : NaN));
}

/** @param {string | undefined} text */
function isCount(text) {
  return /^\d{1,15}$/.test(text ?? "");
}

/**
 * To a thousandth of a ns; whole ones without a point.
 * @param {number} ns
 */
function time(ns) {
  return String(Math.round(ns * 1000) / 1000);
}

/**
 * Encoded, but for characters that stand in addresses as they are.
 * @param {string} text
 */
function readable(text) {
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, "\ufffd")).replace(/%(2C|2F|3A|3B)/g, decodeURIComponent);
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
