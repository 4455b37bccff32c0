// What is to be said of traces: what is wrong with them, what is missing in them.

/** @typedef {import("./types").TraceInfo} TraceInfo */

/**
 * @param {TraceInfo[]} traces
 * @returns {string[]}
 */
export function notesOf(traces) {
  return traces.flatMap(({ label, problem, notes, rows, is_whole }) => {
    const isEmpty = (is_whole || problem) && !rows.some(({ kind, count }) => kind !== "group" && (count > 0 || kind === "series"));
    return [
      ...(problem ? [`${label}: ${problem}`] : []),
      ...(isEmpty && !problem ? [`${label}: nothing was recorded: the trace has no ops, no markers and no calls`] : []),
      ...notes.map((note) => `${label}: ${note}`),
    ];
  });
}
