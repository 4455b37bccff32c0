// The rows of several traces as one list.

import { joinedId } from "./joined_source.js";

/** @typedef {import("./types").TraceInfo} TraceInfo */
/** @typedef {import("../timeline/types").Row} Row */

/**
 * Rows of all traces; of several each below a heading with its label, and with the calls folded:
 * the stacks of one trace would push the next out of sight.
 * @param {TraceInfo[]} traces
 * @returns {Row[]}
 */
export function joinedRows(traces) {
  const hasHeads = traces.length > 1;
  return traces.flatMap(({ trace, label, rows }) => {
    const head = joinedId(trace, "");
    const joined = rows.map((row) => ({
      ...row,
      id: joinedId(trace, row.id),
      isFolded: row.isFolded || row.id.startsWith("series/depth/") || (hasHeads && row.kind === "calls"),
      parent: row.parent ? joinedId(trace, row.parent) : hasHeads ? head : "",
    }));
    return hasHeads ? [headRow(head, label), ...joined] : joined;
  });
}

/**
 * @param {string} id
 * @param {string} label
 * @returns {Row}
 */
function headRow(id, label) {
  return {
    id, label, kind: "group", detail: "", parent: "", depth: 1, planes: 1, count: 0, unit: "", isFolded: false, recorded: null, table: "",
  };
}
