// Tables that sort by a click on a column's title and keep only the rows that hold a word.

const collator = new Intl.Collator(undefined, { numeric: true });

/**
 * @param {HTMLTableRowElement} row
 * @param {number} column
 */
const cellText = (row, column) => (row.cells[column].textContent ?? "").trim();

/**
 * Numbers carry thousands separators; a dash stands for no value.
 * @param {HTMLTableRowElement} row
 * @param {number} column
 */
const cellNumber = (row, column) => {
  const text = cellText(row, column).replaceAll(",", "");
  return text === "" || text === "-" ? NaN : Number.parseFloat(text);
};

/**
 * @param {number} column
 * @param {boolean} isNumber
 * @returns {(a: HTMLTableRowElement, b: HTMLTableRowElement) => number}
 */
const compare = (column, isNumber) => (a, b) => {
  if (!isNumber) return collator.compare(cellText(a, column), cellText(b, column));
  const x = cellNumber(a, column);
  const y = cellNumber(b, column);
  return x - y;
};

/**
 * @param {HTMLTableRowElement} row
 * @param {number} column
 */
const isMissing = (row, column) => Number.isNaN(cellNumber(row, column));

/** @param {HTMLTableElement} table */
const setUp = (table) => {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const headings = table.tHead?.rows[0].cells ?? [];
  const box = /** @type {HTMLElement} */ (table.closest(".table"));
  const search = /** @type {HTMLInputElement | null} */ (box.querySelector("input[type=search]"));
  const found = box.querySelector("output");
  const more = /** @type {HTMLButtonElement | null} */ (box.querySelector("button.more"));
  const shown = more ? Number(more.dataset.shown) : original.length;
  let isWhole = !more;

  const refresh = () => {
    const word = search ? search.value.trim().toLowerCase() : "";
    let matching = 0;
    let place = 0;
    for (const row of body.rows) {
      const matches = !word || (row.textContent ?? "").toLowerCase().includes(word);
      if (matches) matching += 1;
      row.hidden = !matches || (!isWhole && !word && place >= shown);
      if (matches) place += 1;
    }
    if (found) found.textContent = word ? `${matching} of ${original.length} rows` : "";
    if (more) {
      more.hidden = Boolean(word);
      more.textContent = isWhole ? "Show fewer" : `Show all ${original.length} rows`;
      more.setAttribute("aria-expanded", String(isWhole));
    }
  };

  /** @param {HTMLTableCellElement} heading */
  const sortBy = (heading) => {
    const before = heading.getAttribute("aria-sort");
    const isNumber = heading.classList.contains("number");
    const first = isNumber ? "descending" : "ascending";
    const second = isNumber ? "ascending" : "descending";
    const direction = before === first ? second : before === second ? null : first;
    for (const other of headings) other.removeAttribute("aria-sort");
    let rows = original;
    if (direction) {
      heading.setAttribute("aria-sort", direction);
      const column = heading.cellIndex;
      const order = compare(column, isNumber);
      const missing = isNumber ? original.filter((row) => isMissing(row, column)) : [];
      const present = isNumber ? original.filter((row) => !isMissing(row, column)) : [...original];
      present.sort(direction === "ascending" ? order : (a, b) => order(b, a));
      rows = [...present, ...missing];
    }
    body.append(...rows);
    refresh();
  };

  for (const heading of headings) {
    heading.querySelector("button")?.addEventListener("click", () => sortBy(heading));
  }
  search?.addEventListener("input", refresh);
  more?.addEventListener("click", () => {
    isWhole = !isWhole;
    refresh();
  });
  refresh();
};

for (const table of /** @type {NodeListOf<HTMLTableElement>} */ (document.querySelectorAll(".table table"))) setUp(table);
