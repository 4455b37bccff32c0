// A table of records that sorts by a click on a title and keeps the rows that hold a word.

import { element } from "./elements.js";

/**
 * @template Record
 * @typedef {object} Column
 * @property {string} title
 * @property {string} [hint]
 * @property {(record: Record) => string | number | null} value what it is sorted by
 * @property {(record: Record) => string | Node} [shown] what stands there, else the value
 */

/** @template Record */
export class SortableRows {
  /**
   * @param {Column<Record>[]} columns
   * @param {(record: Record, row: HTMLTableRowElement) => void} [onRow] called for each row that is made
   */
  constructor(columns, onRow = () => {}) {
    this.columns = columns;
    this.onRow = onRow;
    /** @type {Record[]} */
    this.records = [];
    /** So many are shown of those that are found, in their order. */
    this.most = Infinity;
    /** @type {boolean[]} */
    this.areNumbers = [];
    this.word = "";
    /** @type {{ column: number, isDown: boolean } | null} */
    this.order = null;
    this.headings = columns.map((column, number) => {
      const button = element("button", { type: "button", text: column.title, title: column.hint ?? null, onclick: () => this.sortBy(number) });
      return element("th", { scope: "col" }, button);
    });
    this.body = element("tbody");
    this.element = element("table", {}, element("thead", {}, element("tr", {}, ...this.headings)), this.body);
  }

  /**
   * @param {Record[]} records
   * @param {number} [most]
   */
  show(records, most = Infinity) {
    this.records = records;
    this.most = most;
    // Numbers stand to the right, and so does what stands where one is missing.
    this.areNumbers = this.columns.map(({ value }) => records.some((record) => typeof value(record) === "number"));
    this.headings.forEach((heading, number) => heading.classList.toggle("number", this.areNumbers[number]));
    this.draw();
  }

  /** @param {string} word */
  filter(word) {
    this.word = word.trim().toLowerCase();
    this.draw();
  }

  /** @param {number} column first a click sorts down, then up, then not at all */
  sortBy(column) {
    if (this.order?.column !== column) this.order = { column, isDown: true };
    else this.order = this.order.isDown ? { column, isDown: false } : null;
    this.headings.forEach((heading, number) => {
      const order = this.order?.column === number ? this.order : null;
      if (order) heading.setAttribute("aria-sort", order.isDown ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
    this.draw();
  }

  draw() {
    const chosen = this.records.filter((record) => this.matches(record));
    if (this.order) {
      const { column, isDown } = this.order;
      const { value } = this.columns[column];
      chosen.sort((a, b) => compared(value(a), value(b), isDown));
    }
    this.body.replaceChildren(...chosen.slice(0, this.most).map((record) => this.row(record)));
    return chosen.length;
  }

  /** @param {Record} record */
  matches(record) {
    return !this.word || this.columns.some(({ value }) => String(value(record) ?? "").toLowerCase().includes(this.word));
  }

  /** @param {Record} record */
  row(record) {
    const cells = this.columns.map(({ value, shown }, number) =>
      element("td", { class: this.areNumbers[number] ? "number" : null }, shown ? shown(record) : String(value(record) ?? "-")),
    );
    const made = element("tr", {}, ...cells);
    this.onRow(record, made);
    return made;
  }
}

/**
 * What has no value comes last, whatever the direction.
 * @param {string | number | null} a
 * @param {string | number | null} b
 * @param {boolean} isDown
 */
function compared(a, b, isDown) {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
  return isDown ? -order : order;
}
