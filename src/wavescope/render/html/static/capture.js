// Source beside instructions: a line shows its instructions, a wait what it waited for.

/** @typedef {HTMLTableRowElement} TableRow */

/**
 * @param {HTMLElement} element
 * @param {string} selector
 */
const rowsOf = (element, selector) => /** @type {NodeListOf<TableRow>} */ (element.querySelectorAll(selector));

/** @param {Event} event */
const clicked = (event) => /** @type {Element} */ (event.target);

/** @param {TableRow | undefined} row */
const textOf = (row) => row?.querySelector(".text")?.textContent;

class CodeView {
  /** @param {HTMLElement} code */
  constructor(code) {
    this.code = code;
    this.told = /** @type {HTMLElement} */ (code.querySelector(".told"));
    /** @type {Map<string, TableRow>} */
    this.rowOf = new Map();
    /** @type {Map<string, TableRow[]>} */
    this.rowsOfLine = new Map();
    /** @type {Map<string, TableRow>} */
    this.lineOf = new Map();
    for (const row of rowsOf(code, ".isa tr[data-row]")) {
      this.rowOf.set(row.dataset.row ?? "", row);
      const line = row.dataset.line;
      if (!line) continue;
      const rows = this.rowsOfLine.get(line);
      if (rows) rows.push(row);
      else this.rowsOfLine.set(line, [row]);
    }
    for (const row of rowsOf(code, ".source tr[data-line]")) {
      this.lineOf.set(row.dataset.line ?? "", row);
    }
  }

  clear() {
    for (const row of rowsOf(this.code, "tr.chosen, tr.producer")) row.classList.remove("chosen", "producer");
  }

  /**
   * Only the listing moves, not the page.
   * @param {HTMLElement | undefined} row
   */
  reveal(row) {
    const listing = row?.closest(".listing");
    if (!row || !listing) return;
    const top = row.getBoundingClientRect().top - listing.getBoundingClientRect().top;
    if (top < 30 || top > listing.clientHeight - 30) listing.scrollTop += top - listing.clientHeight / 3;
  }

  /** @param {string} line */
  showLine(line) {
    this.clear();
    const rows = this.rowsOfLine.get(line) ?? [];
    this.lineOf.get(line)?.classList.add("chosen");
    for (const row of rows) row.classList.add("chosen");
    this.reveal(rows[0]);
    this.told.textContent = `${rows.length} instructions of line ${line.split(":")[1]}`;
  }

  /** @param {TableRow} row */
  showRow(row) {
    this.clear();
    row.classList.add("chosen");
    const line = this.lineOf.get(row.dataset.line ?? "");
    line?.classList.add("chosen");
    this.reveal(line);
    const waited = (row.dataset.producers ?? "").split(" ").filter(Boolean).map((text) => text.split(":"));
    const words = waited.map(([number, stall]) => {
      const producer = this.rowOf.get(number);
      producer?.classList.add("producer");
      const cycles = `${Number(stall).toLocaleString("en")} ${this.code.dataset.unit}`;
      return `row ${number}, ${cycles}: ${textOf(producer) ?? `row ${number}`}`;
    });
    this.reveal(this.rowOf.get(waited[0]?.[0]));
    this.told.textContent = words.length ? `waits for ${words.join("; ")}` : textOf(row) ?? "";
  }

  /**
   * What a row of one of the listings stands for; false: nothing.
   * @param {TableRow} row
   */
  show(row) {
    if (row.dataset.row) this.showRow(row);
    else if (row.dataset.line) this.showLine(row.dataset.line);
    else return false;
    return true;
  }

  /** A link of the plan, or of another page, names an instruction or a line. */
  showNamed() {
    const row = /** @type {TableRow | null} */ (document.getElementById(location.hash.slice(1)));
    if (!row || !this.code.contains(row) || !this.show(row)) return false;
    this.reveal(row);
    return true;
  }

  showHottest() {
    const { line: lineName = "", row: rowName = "" } = this.code.dataset;
    const line = this.lineOf.get(lineName);
    const row = this.rowOf.get(rowName);
    if (line) this.showLine(lineName);
    else if (row) this.showRow(row);
    this.reveal(line);
    this.reveal(row);
  }

  listen() {
    this.code.addEventListener("click", (event) => {
      const row = clicked(event).closest("tr");
      if (row && this.code.contains(row)) this.show(row);
    });
    // The address stays the same when a link is followed again.
    document.addEventListener("click", (event) => {
      if (location.hash && clicked(event).closest("a")?.hash === location.hash) this.showNamed();
    });
    addEventListener("hashchange", () => this.showNamed());
  }
}

const code = /** @type {HTMLElement | null} */ (document.querySelector(".code"));
if (code) {
  const view = new CodeView(code);
  view.listen();
  if (!view.showNamed()) view.showHottest();
  code.dataset.ready = "true";
}
