// Searching ops, calls and markers by their names: how many, where, the next one.

import { duration } from "../timeline/time_text.js";
import { makeClickable } from "./asked_of_trace.js";
import { element } from "./elements.js";
import { patternOf } from "./name_pattern.js";
import { SortableRows } from "./sortable_rows.js";

/** @typedef {import("./types").App} App */
/** @typedef {{ code: number, name: string, short: string, count: number, duration_ns: number }} Name */
/** @typedef {{ count: number, duration_ns: number, name_count: number, by_name: Name[], bins: number[], codes: number[], is_whole: boolean }} Found */
/** @typedef {{ table: string, row: number, rowId: string, start: number, duration: number, name: string }} Hit */
/** @typedef {Name & { trace: number }} Listed */

const BINS = 2048;
const PAUSE_MS = 150;
const TABLES = ["ops", "calls", "markers"];

/**
 * @param {number} count
 * @param {string} what
 */
const counted = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

class SearchPanel {
  /**
   * @param {HTMLElement} root
   * @param {App} app
   */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    /** @type {AbortController | null} */
    this.asking = null;
    /** @type {{ trace: number, hit: Hit } | null} */
    this.at = null;
    this.timer = 0;
    this.asked = "";
    this.versions = "";
    this.steps = Promise.resolve();
    this.input = element("input", {
      type: "search", name: "search-pattern", class: "search-pattern", spellcheck: "false", maxlength: "1000", placeholder: "Regular expression",
      "aria-label": "Regular expression", title: "Enter: next hit, Shift+Enter: the one before, Esc: end",
      oninput: () => this.later(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
    });
    this.boxes = TABLES.map((name) => element("input", { type: "checkbox", checked: true, name, onchange: () => this.search() }));
    this.before = element("button", { type: "button", text: "Previous", title: "The hit before (Shift+Enter)", onclick: () => this.step(-1) });
    this.next = element("button", { type: "button", text: "Next", title: "The next hit (Enter)", onclick: () => this.step(1) });
    this.said = element("output", { class: "said search-said" });
    this.error = element("p", { class: "error", role: "alert", hidden: true });
    /** @type {SortableRows<Listed>} */
    this.names = new SortableRows(this.columns(), (record, row) => this.listen(record, row));
    root.append(
      element("div", { class: "panel-head" }, this.input, this.before, this.next,
        ...this.boxes.map((box) => element("label", {}, box, ` ${box.name}`)), this.said),
      this.error, element("div", { class: "rows" }, this.names.element),
    );
    app.onTraces(() => this.readMore());
    const kept = app.kept("search");
    if (kept) this.input.value = kept;
    this.draw(null);
    if (kept) this.search();
  }

  /** @returns {import("./sortable_rows").Column<Listed>[]} */
  columns() {
    return [
      { title: "Name", value: (row) => row.short, shown: (row) => element("span", { text: row.short, title: row.name }) },
      { title: "Hits", value: (row) => row.count, shown: (row) => row.count.toLocaleString("en") },
      { title: "Time", hint: "All of them added up", value: (row) => row.duration_ns, shown: (row) => element("span", { text: duration(row.duration_ns), title: `${row.duration_ns} ns` }) },
    ];
  }

  /**
   * @param {Listed} record
   * @param {HTMLTableRowElement} row
   */
  listen(record, row) {
    row.title = "Look for this name alone";
    makeClickable(row, () => {
      this.input.value = patternOf(record.name);
      this.search();
    });
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.search(), PAUSE_MS);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && this.input.value) this.end();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  end() {
    this.input.value = "";
    this.search();
  }

  /** While a trace is being read there are more and more hits. */
  readMore() {
    const versions = this.app.traces.map(({ version }) => version).join();
    if (versions === this.versions) return;
    this.versions = versions;
    if (this.input.value) this.later();
  }

  get tables() {
    return this.boxes.filter(({ checked }) => checked).map(({ name }) => name).join(",");
  }

  async search() {
    clearTimeout(this.timer);
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    const pattern = this.input.value;
    this.app.keep("search", pattern);
    // While a trace is being read the same is searched for again and again: the hit stays.
    if (this.asked !== `${this.tables} ${pattern}`) this.at = null;
    this.asked = `${this.tables} ${pattern}`;
    delete this.root.dataset.searched;
    if (!pattern || !this.tables) {
      this.draw(null);
      return;
    }
    try {
      const answers = await Promise.all(this.app.traces.map(({ trace }) =>
        this.app.ask("search", { trace, pattern, tables: this.tables, bins: BINS }, { signal: asking.signal })));
      if (this.asking === asking) this.draw(/** @type {Found[]} */ (answers));
    } catch (error) {
      if (this.asking === asking) this.refuse(/** @type {Error & { hint?: string }} */ (error));
    }
    if (this.asking === asking) this.root.dataset.searched = pattern;
  }

  /** @param {Error & { hint?: string }} error */
  refuse({ message, hint }) {
    this.draw(null);
    this.error.textContent = hint ? `${message}\n${hint}` : message;
    this.error.hidden = false;
  }

  /** @param {Found[] | null} found one for each trace */
  draw(found) {
    this.error.hidden = true;
    const count = (found ?? []).reduce((sum, each) => sum + each.count, 0);
    const total = (found ?? []).reduce((sum, each) => sum + each.duration_ns, 0);
    const names = (found ?? []).reduce((sum, each) => sum + each.name_count, 0);
    this.said.textContent = found ? `${counted(count, "hit")}, ${counted(names, "name")}, ${duration(total)}${found.every((each) => each.is_whole) ? "" : " so far"}` : "";
    for (const button of [this.before, this.next]) button.disabled = count === 0;
    const { traces } = this.app;
    this.names.show((found ?? []).flatMap((each, i) => each.by_name.map((name) => ({ ...name, trace: traces[i].trace }))));
    traces.forEach(({ trace }, i) => {
      this.app.setMarks("search", trace, found?.[i]?.count ? found[i].bins : []);
      this.app.setHighlight(trace, found ? new Set(found[i].codes) : null);
    });
  }

  /**
   * Steps come one after the other, however quickly the key is pressed.
   * @param {1 | -1} direction
   */
  step(direction) {
    this.steps = this.steps.then(() => this.stepOnce(direction)).catch((error) => this.refuse(error));
    return this.steps;
  }

  /** @param {1 | -1} direction */
  async stepOnce(direction) {
    const pattern = this.input.value;
    const [first] = this.app.traces;
    if (!pattern || !this.tables || !first) return;
    if (this.root.dataset.searched !== pattern) await this.search();
    const trace = this.at?.trace ?? this.app.selected?.trace ?? first.trace;
    const ask = (/** @type {Record<string, string | number>} */ from) =>
      this.app.ask("search_next", { trace, pattern, direction, tables: this.tables, ...from });
    let hit = await ask(this.origin(trace, direction));
    if (hit.row === undefined) {
      const span = this.app.traces.find((each) => each.trace === trace)?.span_ns ?? 0;
      hit = await ask({ after: direction > 0 ? -1 : span + 1 });
      if (hit.row === undefined) return this.app.say("There is no hit");
      this.app.say(direction > 0 ? "From the start again" : "From the end again");
    }
    this.at = { trace, hit };
    this.app.select(trace, hit.table, hit.row, { rowId: hit.rowId, start: hit.start, duration: hit.duration });
  }

  /**
   * Behind the last hit, else from the left edge of the window on (for the one before: the right).
   * @param {number} trace
   * @param {number} direction
   * @returns {Record<string, string | number>}
   */
  origin(trace, direction) {
    if (this.at) return { after: this.at.hit.start, table: this.at.hit.table, row: this.at.hit.row };
    const { start, end } = this.app.window(trace);
    return { after: direction > 0 ? Math.floor(start) - 1 : Math.ceil(end) };
  }
}

/** @type {SearchPanel | null} */
let mounted = null;

/** @type {import("./types").Panel} */
export const panel = {
  id: "search",
  title: "Search",
  hint: "Ops, calls and markers by name",
  isEarly: true,
  key: "/",
  mount(root, app) {
    mounted = new SearchPanel(root, app);
  },
  shown() {
    mounted?.focus();
  },
};
