// Which rows are shown, and in which order: what a reader folded, hid, pinned, moved and looks for.

/** @typedef {import("../timeline/types").Row} Row */

/**
 * A row as it is listed.
 * @typedef {object} Listed
 * @property {Row} row
 * @property {number} level how deep below others
 * @property {boolean} hasChildren
 * @property {boolean} isFolded
 * @property {boolean} isPinned
 */

/** @typedef {{ folded: [string, boolean][], hidden: string[], pinned: string[], order: [string, string[]][] }} Arranged */

export class Arrangement {
  constructor() {
    /** @type {Map<string, boolean>} where it is not as the row says itself */
    this.folded = new Map();
    /** @type {Set<string>} */
    this.hidden = new Set();
    /** @type {string[]} */
    this.pinned = [];
    /** @type {Map<string, string[]>} children by parent, where they were moved */
    this.order = new Map();
    this.filter = "";
    /** @type {Row[]} */
    this.rows = [];
    /** @type {Map<string, Row>} */
    this.byId = new Map();
    /** @type {Map<string, Row[]>} */
    this.children = new Map();
  }

  /** @param {Row[]} rows in the order of the trace, parents before their children */
  setRows(rows) {
    this.rows = rows;
    this.byId = new Map(rows.map((row) => [row.id, row]));
    this.children = new Map();
    for (const row of rows) {
      const parent = this.byId.has(row.parent) ? row.parent : "";
      this.children.set(parent, [...(this.children.get(parent) ?? []), row]);
    }
  }

  /** @param {string} id */
  isFolded(id) {
    return this.folded.get(id) ?? this.byId.get(id)?.isFolded ?? false;
  }

  /** @param {string} id */
  canFold(id) {
    const row = this.byId.get(id);
    return row !== undefined && (this.children.has(id) || row.planes > 1 || row.kind === "series");
  }

  /**
   * @param {string} id
   * @param {boolean} [isFolded]
   */
  fold(id, isFolded = !this.isFolded(id)) {
    if (!this.canFold(id)) return;
    if (isFolded === (this.byId.get(id)?.isFolded ?? false)) this.folded.delete(id);
    else this.folded.set(id, isFolded);
  }

  /** @param {boolean} isFolded */
  foldAll(isFolded) {
    for (const row of this.rows) this.fold(row.id, isFolded);
  }

  /** @param {string} id */
  hide(id) {
    this.hidden.add(id);
  }

  /** @param {string} [id] all where none is given */
  showAgain(id) {
    if (id === undefined) this.hidden.clear();
    else this.hidden.delete(id);
  }

  /** @param {string} id */
  pin(id) {
    if (this.pinned.includes(id)) this.pinned = this.pinned.filter((other) => other !== id);
    else this.pinned = [...this.pinned, id];
  }

  /**
   * Move a row by so many places among those it stands with.
   * @param {string} id
   * @param {number} places
   */
  move(id, places) {
    const siblings = this.siblings(id);
    const shown = siblings.filter((other) => !this.hidden.has(other));
    const target = shown[shown.indexOf(id) + places];
    if (target === undefined) return false;
    return this.moveTo(id, target);
  }

  /**
   * Put a row in the place of another that it stands with.
   * @param {string} id
   * @param {string} target
   */
  moveTo(id, target) {
    const siblings = this.siblings(id);
    const [from, to] = [siblings.indexOf(id), siblings.indexOf(target)];
    if (from < 0 || to < 0 || from === to) return false;
    siblings.splice(to, 0, ...siblings.splice(from, 1));
    if (this.pinned.includes(id)) this.pinned = siblings;
    else this.order.set(this.parentOf(id), siblings);
    return true;
  }

  /** @param {string} id */
  parentOf(id) {
    const parent = this.byId.get(id)?.parent ?? "";
    return this.byId.has(parent) ? parent : "";
  }

  /** @param {string} id */
  siblings(id) {
    if (this.pinned.includes(id)) return this.pinned.filter((other) => this.byId.has(other));
    return this.ordered(this.parentOf(id)).map((row) => row.id).filter((other) => !this.pinned.includes(other));
  }

  /**
   * The children of a row in their order; those that were not known when they were moved come last.
   * @param {string} parent
   */
  ordered(parent) {
    const children = this.children.get(parent) ?? [];
    const order = this.order.get(parent);
    if (!order) return children;
    const place = (/** @type {Row} */ row) => {
      const at = order.indexOf(row.id);
      return at < 0 ? order.length : at;
    };
    return [...children].sort((a, b) => place(a) - place(b));
  }

  /**
   * Unfold and show whatever keeps a row out of sight.
   * @param {string} id
   */
  reveal(id) {
    if (this.filter && !this.listed().some(({ row }) => row.id === id)) this.filter = "";
    this.hidden.delete(id);
    if (this.pinned.includes(id)) return;
    for (let above = this.parentOf(id); above; above = this.parentOf(above)) {
      this.hidden.delete(above);
      this.fold(above, false);
    }
  }

  /** @returns {Listed[]} what is shown, the pinned ones first */
  listed() {
    const matches = this.matching();
    const pinned = this.pinned
      .flatMap((id) => this.byId.get(id) ?? [])
      .filter((row) => !this.hidden.has(row.id) && (!matches || matches.has(row.id)))
      .map((row) => this.entry(row, 0, true));
    return [...pinned, ...this.listedBelow("", 0, matches)];
  }

  /**
   * @param {string} parent
   * @param {number} level
   * @param {Set<string> | null} matches
   * @returns {Listed[]}
   */
  listedBelow(parent, level, matches) {
    return this.ordered(parent).flatMap((row) => {
      if (this.hidden.has(row.id) || (matches && !matches.has(row.id))) return [];
      const isPinned = this.pinned.includes(row.id);
      const own = isPinned ? [] : [this.entry(row, level, false)];
      const isOpen = matches || isPinned || !this.isFolded(row.id);
      return isOpen ? [...own, ...this.listedBelow(row.id, isPinned ? level : level + 1, matches)] : own;
    });
  }

  /**
   * @param {Row} row
   * @param {number} level
   * @param {boolean} isPinned
   * @returns {Listed}
   */
  entry(row, level, isPinned) {
    return { row, level, hasChildren: this.canFold(row.id), isFolded: this.isFolded(row.id), isPinned };
  }

  /** Rows that the filter is for: those with its words, what is below them and what is above them. */
  matching() {
    const words = this.filter.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) return null;
    const found = new Set();
    for (const row of this.rows) {
      const path = this.path(row.id);
      const text = path.map((id) => this.byId.get(id)?.label.toLowerCase()).join(" ");
      if (words.every((word) => text.includes(word))) path.forEach((id) => found.add(id));
    }
    return found;
  }

  /**
   * A row and what it is below of.
   * @param {string} id
   */
  path(id) {
    const path = [id];
    for (let above = this.parentOf(id); above; above = this.parentOf(above)) path.push(above);
    return path;
  }

  /** Rows that were hidden, as far as they are known. */
  hiddenRows() {
    return [...this.hidden].flatMap((id) => this.byId.get(id) ?? []);
  }

  /** As it is: nothing folded, hidden, pinned or moved by hand. */
  reset() {
    this.restore({ folded: [], hidden: [], pinned: [], order: [] });
    this.filter = "";
  }

  /** @returns {Arranged} */
  state() {
    return {
      folded: [...this.folded],
      hidden: [...this.hidden],
      pinned: [...this.pinned],
      order: [...this.order],
    };
  }

  /** @param {Arranged} state */
  restore({ folded, hidden, pinned, order }) {
    this.folded = new Map(folded);
    this.hidden = new Set(hidden);
    this.pinned = [...pinned];
    this.order = new Map(order);
  }
}
