// Two traces beside each other: aligning them, and the kernels that differ.

import { duration } from "../timeline/time_text.js";
import { AligningControl, alignAt } from "./aligning.js";
import { element } from "./elements.js";
import { SortableRows } from "./sortable_rows.js";

/** @typedef {import("./types").App} App */
/** @typedef {{ table: string, row: number, rowId: string, start: number, duration: number }} Place */

/**
 * A row of the table `kernels` of `wavescope compare`, with an example in each trace.
 * @typedef {object} Difference
 * @property {string} name
 * @property {string | null} base_name
 * @property {string} category
 * @property {string} status
 * @property {string} change
 * @property {number} base_total_ns
 * @property {number} new_total_ns
 * @property {number} delta_ns
 * @property {number} base_calls
 * @property {number} new_calls
 * @property {number | null} base_mean_ns
 * @property {number | null} new_mean_ns
 * @property {number | null} mean_percent
 * @property {[Place | null, Place | null]} at
 */

/** @param {number | null} ns */
const timeText = (ns) => (ns === null ? "-" : duration(ns));

/** @param {number | null} percent */
const changeText = (percent) => (percent === null ? "-" : `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %`);

/** @type {import("./sortable_rows").Column<Difference>[]} */
const COLUMNS = [
  { title: "Kernel", value: (row) => row.name, shown: (row) => (row.base_name ? `${row.name} (was ${row.base_name})` : row.name) },
  { title: "Change", hint: "By the mean of a call: the same means within 5 %", value: (row) => row.change, shown: changeMark },
  { title: "Delta", hint: "New - base, of all calls", value: (row) => row.delta_ns, shown: (row) => timeText(row.delta_ns) },
  { title: "Mean %", hint: "Change of the mean of a call", value: (row) => row.mean_percent, shown: (row) => changeText(row.mean_percent) },
  { title: "Base mean", value: (row) => row.base_mean_ns, shown: (row) => timeText(row.base_mean_ns) },
  { title: "New mean", value: (row) => row.new_mean_ns, shown: (row) => timeText(row.new_mean_ns) },
  { title: "Base calls", value: (row) => row.base_calls },
  { title: "New calls", value: (row) => row.new_calls },
  { title: "Base total", value: (row) => row.base_total_ns, shown: (row) => timeText(row.base_total_ns) },
  { title: "New total", value: (row) => row.new_total_ns, shown: (row) => timeText(row.new_total_ns) },
];

/** @param {Difference} row */
function changeMark(row) {
  return element("span", { class: `change ${row.change.replace(" ", "-")}`, text: row.change });
}

class ComparePanel {
  /**
   * @param {HTMLElement} root
   * @param {App} app
   */
  constructor(root, app) {
    this.app = app;
    this.aligning = new AligningControl(app);
    this.trace = element("select", { name: "compared", "aria-label": "Compared with the first trace", onchange: () => this.ask() });
    this.colour = element("button", { type: "button", text: "Colour by difference", title: "Only here, slower, faster, the same", onclick: () => app.setColouring("difference") });
    this.filter = element("input", { name: "kernel-filter", type: "search", placeholder: "kernel", "aria-label": "Kernels that hold this word", oninput: () => this.rows.filter(this.filter.value) });
    this.said = element("output", { class: "said" });
    this.rows = new SortableRows(COLUMNS, (record, row) => this.makeClickable(record, row));
    this.isAsked = false;
    this.base = 0;
    this.other = 1;
    root.append(
      element("div", { class: "panel-head" }, this.aligning.element, this.trace, this.colour, this.filter, this.said),
      element("div", { class: "rows" }, this.rows.element),
    );
    app.onTraces(() => this.update());
    this.update();
  }

  shown() {
    this.isShown = true;
    this.update();
  }

  /** Choices of what is compared, and the table when it is first wanted and can be had. */
  update() {
    const others = this.app.traces.slice(1);
    if (this.trace.options.length !== others.length) {
      this.trace.replaceChildren(...others.map(({ trace, label }) => element("option", { value: String(trace), text: label })));
    }
    this.trace.hidden = others.length < 2;
    const isReady = this.app.traces.every((trace) => trace.is_whole);
    if (!isReady) this.said.textContent = "Kernels are compared when the traces are read.";
    if (this.isShown && isReady && !this.isAsked) this.ask();
  }

  async ask() {
    this.isAsked = true;
    this.said.textContent = "…";
    const asked = Number(this.trace.value || 1);
    try {
      const found = await this.app.ask("differences", { trace: asked });
      if (asked !== Number(this.trace.value || 1)) return;
      [this.base, this.other] = [found.base, found.new];
      this.rows.show(found.rows);
      const [base, other] = [this.base, this.other].map((trace) => this.app.traces[trace].label);
      this.said.textContent = `base ${base}, new ${other}: ${saidOf(found)}`;
    } catch (error) {
      this.isAsked = /** @type {{ status?: number }} */ (error).status !== 503;
      const { message, hint } = /** @type {Error & { hint?: string }} */ (error);
      this.said.textContent = hint ? `${message}: ${hint}` : message;
    }
  }

  /**
   * @param {Difference} record
   * @param {HTMLTableRowElement} row
   */
  makeClickable(record, row) {
    row.tabIndex = 0;
    row.title = "Show an example in both traces";
    row.addEventListener("click", () => this.goTo(record));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.goTo(record);
    });
  }

  /**
   * Show an op of the kernel: where both traces have it, one above the other.
   * @param {Difference} record
   */
  goTo({ name, at: [before, after] }) {
    const place = after ?? before;
    if (!place) return;
    const trace = after ? this.other : this.base;
    this.app.select(trace, place.table, place.row, place, false); // first, so that a step back leads to before all of it
    if (before && after) {
      const base = this.app.traces[this.base];
      const times = this.app.traces.map(({ offset }) => before.start + base.offset - offset); // others stay beside it
      times[this.other] = after.start;
      alignAt(this.app, times);
      this.aligning.sayKernel(`an example of ${name}`);
    }
    const places = [{ trace: this.base, place: before }, { trace: this.other, place: after }];
    this.app.bringTogether(places.flatMap((each) => (each.place ? [{ trace: each.trace, rowId: each.place.rowId }] : [])));
    const longest = Math.max(before?.duration ?? 0, after?.duration ?? 0);
    this.app.show(trace, place.start - longest, place.start + 2 * longest);
  }
}

/** @param {{ rows: Difference[], total: number }} found */
function saidOf({ rows, total }) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { change } of rows) counts.set(change, (counts.get(change) ?? 0) + 1);
  const words = [...counts].map(([change, count]) => `${count.toLocaleString("en")} ${change}`).join(", ");
  if (total === 0) return "no kernels";
  return rows.length < total ? `${words} (of ${total.toLocaleString("en")} kernels)` : words;
}

/** @type {ComparePanel | null} */
let mounted = null;

/** @type {import("./types").Panel} */
export const panel = {
  id: "compare",
  title: "Compare",
  hint: "Align traces, and see which kernels differ",
  key: "v",
  // Links say how traces are aligned, whether the panel is open or not.
  isEarly: true,
  mount(root, app) {
    mounted = new ComparePanel(root, app);
  },
  shown() {
    mounted?.shown();
  },
  isFor: (app) => app.traces.length > 1,
};
