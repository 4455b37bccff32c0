// What the bar above the timeline says: which traces, how much was read, what is wrong, what is shown.

import { duration } from "../timeline/time_text.js";
import { notesOf } from "./trace_notes.js";

/** @typedef {import("./types").TraceInfo} TraceInfo */

/**
 * Elements of the shell by their id.
 * @param {string} id
 * @returns {any}
 */
const part = (id) => document.getElementById(id);

/** @param {TraceInfo[]} traces */
export function describeTraces(traces) {
  const names = traces.map(({ label }) => label).join(" · ");
  document.title = `${names} · wavescope`;
  part("traces").textContent = names;
  part("traces").title = traces.map(({ file, format }) => `${file} (${format})`).join("\n");
  describeProgress(traces);
  describeProblems(traces);
}

/** @param {TraceInfo[]} traces */
export function describeProgress(traces) {
  const reading = traces.filter(({ is_whole, problem }) => !is_whole && !problem);
  const progress = part("progress");
  progress.hidden = reading.length === 0;
  const share = reading.reduce((sum, trace) => sum + trace.share, 0) / Math.max(1, reading.length);
  progress.querySelector("progress").value = share;
  progress.querySelector("span").textContent = `reading ${Math.floor(100 * share)} %`;
}

/** @param {TraceInfo[]} traces */
function describeProblems(traces) {
  const lines = notesOf(traces);
  const list = part("notes");
  list.hidden = lines.length === 0;
  const said = lines.join("\n");
  if (list.dataset.said === said) return;
  list.dataset.said = said;
  list.replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
}

/** @param {{ from: number, to: number }} window */
export function describeWindow({ from, to }) {
  const figure = part("timeline");
  figure.dataset.from = String(from);
  figure.dataset.to = String(to);
  part("window").textContent = `${duration(from)} – ${duration(to)} (${duration(to - from)})`;
}
