// All kernels with their times and histograms; a click lists the instances of one.

import { duration } from "../timeline/time_text.js";
import { AskedOfTrace, makeClickable, markCurrent, recordsOf } from "./asked_of_trace.js";
import { element } from "./elements.js";
import { histogramPicture } from "./kernel_histogram.js";
import { KernelInstances } from "./kernel_instances.js";
import { SortableRows } from "./sortable_rows.js";

/** @typedef {import("./types").App} App */
/** @typedef {Record<string, any> & { name: string, counts: number[] | null }} Kernel */

const MOST_ROWS = 3000;

class KernelsPanel {
  /**
   * @param {HTMLElement} root
   * @param {App} app
   */
  constructor(root, app) {
    this.app = app;
    this.trace = 0;
    /** @type {number[]} */
    this.edges = [];
    this.filter = element("input", { type: "search", name: "kernel", placeholder: "kernel or category", "aria-label": "Kernels that hold this word", oninput: () => this.rows.filter(this.filter.value) });
    this.instances = new KernelInstances(app, () => this.choose(""));
    this.asked = new AskedOfTrace(
      app,
      (trace, signal) => app.ask("kernels", { trace }, { signal }),
      (answer, trace) => this.show(answer, trace),
    );
    this.list = element("div", { class: "rows kernel-rows" });
    this.rows = new SortableRows(this.columns());
    root.classList.add("kernels-panel");
    root.append(
      element("div", { class: "kernel-side" }, element("div", { class: "panel-head" }, this.asked.choice, this.filter, this.asked.said), this.list),
      this.instances.element,
    );
  }

  /** @returns {import("./sortable_rows").Column<Kernel>[]} */
  columns() {
    /**
     * @param {string} title
     * @param {string} key
     * @returns {import("./sortable_rows").Column<Kernel>}
     */
    const time = (title, key) => ({ title, value: (kernel) => kernel[key] ?? null, shown: (kernel) => (typeof kernel[key] === "number" ? duration(kernel[key]) : "-") });
    return [
      { title: "Kernel", value: (kernel) => kernel.name, shown: (kernel) => element("bdi", { class: "kernel-name", text: kernel.name }) },
      { title: "Category", value: (kernel) => kernel.category },
      { title: "Calls", value: (kernel) => kernel.calls, shown: (kernel) => kernel.calls.toLocaleString("en") },
      time("Total", "total_ns"),
      { title: "%", hint: "Share of the time of all", value: (kernel) => kernel.percent ?? null, shown: (kernel) => (typeof kernel.percent === "number" ? kernel.percent.toFixed(1) : "-") },
      time("Mean", "mean_ns"),
      time("Median", "median_ns"),
      time("p95", "p95_ns"),
      time("Max", "max_ns"),
      { title: "Durations", hint: "How often it took how long, on a logarithmic axis", value: () => null, shown: (kernel) => (kernel.counts ? histogramPicture(kernel.counts, this.edges, { width: 110, height: 20 }) : "-") },
    ];
  }

  /**
   * @param {any} answer
   * @param {number} trace
   */
  show(answer, trace) {
    this.trace = trace;
    this.instances.clear();
    const { names, counts, edges_ns: edges } = answer.histograms;
    this.edges = edges;
    const place = new Map(names.map((/** @type {string} */ name, /** @type {number} */ at) => [name, at]));
    const records = recordsOf(answer, "kernels").map((record) => /** @type {Kernel} */ ({ ...record, counts: counts[place.get(record.name) ?? -1] ?? null }));
    const table = answer.tables[0];
    this.rows = new SortableRows(this.columns(), (kernel, row) => {
      row.title = "List its instances";
      row.dataset.kernel = kernel.name;
      makeClickable(row, () => this.choose(kernel.name));
    });
    this.list.replaceChildren(this.rows.element);
    this.rows.word = this.filter.value.trim().toLowerCase();
    this.rows.show(records, MOST_ROWS);
    const few = records.length > MOST_ROWS ? `, at most ${MOST_ROWS.toLocaleString("en")} listed` : "";
    this.asked.said.textContent = `${table.title}: ${records.length.toLocaleString("en")}${few}`;
  }

  /** @param {string} name empty: none */
  choose(name) {
    for (const row of this.rows.body.rows) markCurrent(row, row.dataset.kernel === name);
    if (name) this.instances.show(this.trace, name);
  }
}

/** @type {KernelsPanel | null} */
let mounted = null;

/** @type {import("./types").Panel} */
export const panel = {
  id: "kernels",
  title: "Kernels",
  hint: "All kernels with their durations, and every instance of one",
  key: "n",
  mount(root, app) {
    mounted = new KernelsPanel(root, app);
  },
  shown() {
    mounted?.asked.open();
  },
};
