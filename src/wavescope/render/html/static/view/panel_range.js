// What a selected range of time holds: the tables that `wavescope summary --start --end` prints.

import { duration } from "../timeline/time_text.js";
import { STILL_READING } from "./asked_of_trace.js";
import { element } from "./elements.js";
import { copyText, openFor } from "./panel_focus.js";
import { SortableRows } from "./sortable_rows.js";
import { exactText, valueText } from "./value_text.js";

/** @typedef {import("./types").App} App */
/** @typedef {import("./types").Range} Range */
/** @typedef {import("./value_text.js").Value} Value */
/** @typedef {{ name: string, title: string, unit: string, meaning: string }} Column */
/** @typedef {{ name: string, title: string, columns: Column[], rows: Value[][] }} Table */
/** @typedef {{ facts: Record<string, Value>, tables: Table[] }} Result */

const FIRST_ROWS = 50;
/** Asked one after the other, so that the quick part is there at once. */
const PARTS = ["summary", "idle", "phases"];
/** Tables that are open at first. */
const OPEN = new Set(["kernels", "gpus", "idle", "phases", "categories"]);

class RangePanel {
  /**
   * @param {HTMLElement} root
   * @param {App} app
   */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    /** @type {Range | null} */
    this.range = null;
    /** @type {AbortController | null} */
    this.asking = null;
    this.title = element("h3", { class: "details-title" });
    this.said = element("output", { class: "said" });
    this.filter = element("input", { type: "search", name: "range-filter", placeholder: "Rows with …", "aria-label": "Keep rows with this word", oninput: () => this.refilter() });
    this.zoom = element("button", { type: "button", text: "Zoom", title: "Zoom to the range", onclick: () => this.range && app.show(this.range.trace, this.range.start, this.range.end) });
    this.command = element("button", { type: "button", text: "Copy command", title: "The command that prints the same", onclick: () => copyText(app, this.commandText()) });
    this.whole = element("button", { type: "button", text: "Visible part", title: "Select what the window shows", onclick: () => this.selectWindow() });
    this.clear = element("button", { type: "button", text: "Clear", title: "Select no range", onclick: () => app.selectRange(null) });
    this.error = element("p", { class: "error", role: "alert", hidden: true });
    this.tables = element("div", { class: "range-tables" });
    /** @type {SortableRows<Value[]>[]} */
    this.shown = [];
    root.append(
      element("div", { class: "panel-head" }, this.title, this.said, this.filter, this.zoom, this.command, this.whole, this.clear),
      this.error, this.tables,
    );
    /** Whether the range is asked for when the trace is read. */
    this.isWaiting = false;
    app.onRange((range) => this.select(range));
    app.onTraces(() => this.isWaiting && this.canAsk() && this.select(this.range));
    this.select(app.range);
  }

  selectWindow() {
    const { start, end } = this.app.window(this.range?.trace ?? 0);
    this.app.selectRange({ trace: this.range?.trace ?? 0, start: Math.floor(start), end: Math.ceil(end) });
  }

  /** Whether the trace of the range is read, or will not be. */
  canAsk() {
    const info = this.app.traces.find(({ trace }) => trace === this.range?.trace);
    return Boolean(info?.is_whole || info?.problem);
  }

  /** @param {Range | null} range */
  async select(range) {
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    this.range = range;
    this.isWaiting = false;
    this.shown = [];
    this.tables.replaceChildren();
    this.error.hidden = true;
    this.said.textContent = "";
    for (const each of [this.zoom, this.command, this.clear]) each.disabled = !range;
    delete this.root.dataset.whole;
    if (!range) {
      this.title.textContent = "No range is selected: drag with Shift over the timeline";
      return;
    }
    openFor(this.app, this.root, "range");
    const [start, end] = [Math.floor(range.start), Math.max(Math.floor(range.start) + 1, Math.ceil(range.end))];
    const { traces } = this.app;
    const whose = traces.length > 1 ? `${traces[range.trace].label}: ` : "";
    this.title.textContent = `${whose}${duration(end - start)} from ${duration(start)} on`;
    this.isWaiting = !this.canAsk();
    if (this.isWaiting) {
      this.said.textContent = STILL_READING;
      return;
    }
    for (const parts of PARTS) {
      this.said.textContent = "Adding up…";
      try {
        const result = /** @type {Result} */ (await this.app.ask("range", { trace: range.trace, start, end, parts }, { signal: asking.signal }));
        if (this.asking !== asking) return;
        this.add(result);
      } catch (error) {
        if (this.asking !== asking) return;
        const { message, hint } = /** @type {Error & { hint?: string }} */ (error);
        this.error.textContent = hint ? `${message}\n${hint}` : message;
        this.error.hidden = false;
        break;
      }
    }
    if (this.said.textContent === "Adding up…") this.said.textContent = "";
    this.root.dataset.whole = `${start} ${end}`;
  }

  /** @param {Result} result */
  add(result) {
    const count = result.facts.op_count;
    if (typeof count === "number") this.title.textContent += `, ${count.toLocaleString("en")} ${count === 1 ? "op" : "ops"}${busyText(result.facts)}`;
    for (const table of result.tables) if (table.rows.length) this.tables.append(this.table(table));
  }

  /** @param {Table} table */
  table(table) {
    const rows = new SortableRows(table.columns.map((column, place) => ({
      title: column.title,
      hint: column.meaning,
      value: (/** @type {Value[]} */ row) => plain(row[place]),
      shown: (/** @type {Value[]} */ row) => element("span", { text: valueText(row[place], column.unit), title: exactText(row[place], column.unit) }),
    })));
    rows.word = this.filter.value.trim().toLowerCase();
    rows.show(table.rows, FIRST_ROWS);
    this.shown.push(rows);
    const made = element("details", { open: OPEN.has(table.name), "data-table": table.name }, element("summary", { text: `${table.title} (${table.rows.length.toLocaleString("en")})` }), rows.element);
    if (table.rows.length > FIRST_ROWS) {
      const more = element("button", { type: "button", text: `All ${table.rows.length.toLocaleString("en")} rows`, onclick: () => {
        rows.show(table.rows);
        more.remove();
      } });
      made.append(more);
    }
    return made;
  }

  refilter() {
    for (const rows of this.shown) rows.filter(this.filter.value);
  }

  commandText() {
    const { range, app } = this;
    const info = app.traces.find(({ trace }) => trace === range?.trace);
    if (!range || !info) return "";
    const at = (/** @type {number} */ ns) => (BigInt(info.first_ns) + BigInt(ns)).toString();
    return `wavescope summary '${info.file.replaceAll("'", "'\\''")}' --start ${at(Math.floor(range.start))} --end ${at(Math.ceil(range.end))}`;
  }
}

/** @param {Record<string, Value>} facts */
const busyText = ({ busy_percent: busy }) => (typeof busy === "number" ? `, GPUs busy ${busy.toFixed(1)} %` : "");

/** @param {Value} value */
const plain = (value) => (typeof value === "boolean" ? String(value) : value);

/** @type {import("./types").Panel} */
export const panel = {
  id: "range",
  title: "Range",
  hint: "Kernels, busy and idle time, phases of the selected range",
  isEarly: true,
  mount(root, app) {
    new RangePanel(root, app);
  },
};
