// Steps of the program: how long each takes, and the slow ones against the median one.

import { duration, position } from "../timeline/time_text.js";
import { AskedOfTrace, makeClickable, recordsOf } from "./asked_of_trace.js";
import { element } from "./elements.js";
import { SortableRows } from "./sortable_rows.js";
import { StepStrips } from "./step_strips.js";

/** @typedef {import("./types").App} App */
/**
 * @typedef {object} Step
 * @property {number} gpu
 * @property {number} queue
 * @property {number | null} process
 * @property {number} step
 * @property {number | null} kind
 * @property {string} phase
 * @property {boolean} warm_up
 * @property {number} start
 * @property {number} length to the start of the next of its kind, else to its end
 * @property {number} busy
 * @property {number | null} over over the median, in percent
 * @property {boolean} isSlow
 */
/** @typedef {{ gpu: number, queue: number, process: number | null, kind: number | null, phase: string, step: number, start: number, length: number, steps: number }} Median */

const MOST_STRIPS = 8;
const MOST_ROWS = 2000;

class StepsPanel {
  /**
   * @param {HTMLElement} root
   * @param {App} app
   */
  constructor(root, app) {
    this.app = app;
    this.trace = 0;
    /** @type {Step[]} */
    this.steps = [];
    /** @type {Median[]} */
    this.medians = [];
    this.total = 0;
    this.kind = element("select", { name: "kind", "aria-label": "Kind of step", onchange: () => this.chooseKind() });
    this.onlySlow = element("input", { type: "checkbox", name: "only-slow", onchange: () => this.fill() });
    this.told = element("span", { class: "told" });
    this.strips = new StepStrips(app, ({ start, length, rowId }) => this.goTo(start, length, rowId));
    this.rows = new SortableRows(this.columns(), (step, row) => {
      row.title = "Show it in the timeline";
      makeClickable(row, () => this.goTo(step.start, step.length, rowIdOf(step)));
    });
    this.asked = new AskedOfTrace(
      app,
      (trace, signal) => app.ask("steps", { trace }, { signal }),
      (answer, trace) => this.show(answer, trace),
    );
    this.controls = element("div", { class: "panel-head", hidden: true }, this.kind, element("label", {}, this.onlySlow, " only slow steps"), this.told);
    root.append(
      element("div", { class: "panel-head" }, this.asked.choice, this.asked.said),
      this.controls,
      this.strips.element,
      element("div", { class: "rows" }, this.rows.element),
    );
  }

  /** @returns {import("./sortable_rows").Column<Step>[]} */
  columns() {
    return [
      { title: "Step", hint: "Number of the step on its queue", value: (step) => step.step },
      { title: "Phase", value: (step) => step.phase },
      { title: "Start", value: (step) => step.start, shown: (step) => this.timeText(step.start) },
      { title: "Takes", hint: "To the start of the next step of the kind, else to its end", value: (step) => step.length, shown: (step) => duration(step.length) },
      { title: "Over median", value: (step) => step.over, shown: (step) => (step.over === null ? "-" : `${step.over >= 0 ? "+" : ""}${step.over.toFixed(1)} %`) },
      { title: "Busy", hint: "Time covered by its ops", value: (step) => step.busy, shown: (step) => duration(step.busy) },
      { title: "", value: (step) => (step.isSlow ? "slow" : step.warm_up ? "warm-up" : "") },
    ];
  }

  /**
   * A queue as the timeline calls it.
   * @param {string} id
   */
  rowText(id) {
    const { rows } = this.app.traces[this.trace];
    const row = rows.find((each) => each.id === id);
    const parent = rows.find((each) => each.id === row?.parent);
    return [parent?.label, row?.label ?? id].filter(Boolean).join(", ");
  }

  /** @param {number} ns */
  timeText(ns) {
    return position(ns, 1000, Math.max(1, this.app.traces[this.trace].span_ns));
  }

  /**
   * @param {any} answer of `wavescope steps --json`, with a median step of each kind
   * @param {number} trace
   */
  show(answer, trace) {
    this.trace = trace;
    this.medians = answer.medians;
    this.steps = stepsOf(answer, this.medians);
    this.total = answer.facts.step_count;
    const kinds = this.medians.map((median, at) => element("option", { value: String(at), text: kindText(median, this.rowText(rowIdOf(median))) }));
    this.kind.replaceChildren(...kinds);
    this.controls.hidden = !this.steps.length;
    this.rows.element.hidden = !this.steps.length;
    this.asked.said.textContent = this.steps.length ? `${this.total.toLocaleString("en")} steps, told by ${answer.facts.told_by}` : noSteps(answer);
    const slow = this.steps.filter((step) => step.isSlow);
    this.onlySlow.checked = slow.length > 0;
    if (slow.length) this.kind.value = String(this.medians.findIndex((median) => isOfKind(slow[0], median)));
    this.chooseKind();
  }

  chooseKind() {
    const median = this.medians[Number(this.kind.value)];
    if (!median) return this.strips.show(this.trace, []);
    const slow = this.steps.filter((step) => step.isSlow && isOfKind(step, median));
    slow.sort((a, b) => b.length - a.length);
    const shown = slow.slice(0, MOST_STRIPS);
    this.strips.show(this.trace, [
      { label: `median, step ${median.step}`, start: median.start, length: median.length, rowId: rowIdOf(median) },
      ...shown.map((step) => ({ label: `slow, step ${step.step}`, start: step.start, length: step.length, rowId: rowIdOf(step) })),
    ]);
    const more = slow.length > shown.length ? ` (the slowest ${shown.length} are drawn)` : "";
    this.told.textContent = `median ${duration(median.length)}, ${slow.length.toLocaleString("en")} slow${more}`;
    this.fill();
  }

  fill() {
    const median = this.medians[Number(this.kind.value)];
    const chosen = this.steps.filter((step) => (!median || isOfKind(step, median)) && (!this.onlySlow.checked || step.isSlow));
    this.rows.show(chosen, MOST_ROWS);
    if (chosen.length > MOST_ROWS) this.told.textContent = `${MOST_ROWS.toLocaleString("en")} of ${chosen.length.toLocaleString("en")} are listed`;
  }

  /**
   * @param {number} start
   * @param {number} length
   * @param {string} rowId
   */
  goTo(start, length, rowId) {
    this.app.setHighlight(this.trace, null);
    this.app.reveal(this.trace, rowId);
    this.app.show(this.trace, start, start + length);
    this.app.selectRange({ trace: this.trace, start, end: start + length });
  }
}

/** @param {any} answer */
function noSteps(answer) {
  const marked = recordsOf(answer, "marked_steps").map((each) => `Process ${each.process}: ${each.steps.toLocaleString("en")} marked steps, median ${duration(each.median_ns)}, p95 ${duration(each.p95_ns)}, longest ${duration(each.longest_ns)}. `);
  if (answer.facts.sampled) return `${marked.join("")}${answer.facts.sampled}. ${answer.findings.map((/** @type {any} */ each) => each.title).join("; ")}`;
  return "The number of steps is unknown: nothing repeats often enough; ranges around steps would tell.";
}

/** @param {{ gpu: number, queue: number }} step */
const rowIdOf = ({ gpu, queue }) => `queue/${gpu}/${queue}`;

/**
 * @param {Median} median
 * @param {string} where
 */
function kindText({ kind, phase, steps }, where) {
  const words = [where, kind === null ? "no kind" : `kind ${kind}`, phase, `${steps.toLocaleString("en")} steps`];
  return words.filter(Boolean).join(" · ");
}

/**
 * @param {{ gpu: number, queue: number, process: number | null, kind: number | null, phase: string }} step
 * @param {Median} median
 */
function isOfKind(step, median) {
  return step.gpu === median.gpu && step.queue === median.queue && step.process === median.process && step.kind === median.kind && step.phase === median.phase;
}

/**
 * @param {any} answer
 * @param {Median[]} medians
 * @returns {Step[]}
 */
function stepsOf(answer, medians) {
  const records = recordsOf(answer, "steps");
  const slow = new Map(recordsOf(answer, "step_outliers").map((each) => [`${each.gpu}/${each.queue}/${each.process}/${each.step}`, each]));
  return records.map((record, at) => {
    const median = medians.find((each) => isOfKind(/** @type {any} */ (record), each));
    const next = records[at + 1];
    const isFollowed = next && median && isOfKind(/** @type {any} */ (next), median);
    const length = isFollowed && record.kind !== null ? next.start_ns - record.start_ns : record.span_ns;
    const outlier = slow.get(`${record.gpu}/${record.queue}/${record.process}/${record.step}`);
    return /** @type {Step} */ ({
      ...record,
      start: record.start_ns,
      length: outlier?.step_ns ?? length,
      busy: record.busy_ns,
      over: outlier?.over_median_percent ?? (median?.length ? 100 * (length / median.length - 1) : null),
      isSlow: outlier !== undefined,
    });
  });
}

/** @type {StepsPanel | null} */
let mounted = null;

/** @type {import("./types").Panel} */
export const panel = {
  id: "steps",
  title: "Steps",
  hint: "How long each step takes, the slow ones against the median",
  key: "e",
  mount(root, app) {
    mounted = new StepsPanel(root, app);
  },
  shown() {
    mounted?.asked.open();
  },
};
