// The rows' labels beside the timeline: a tree that folds, pins, hides and moves rows.

import { element } from "./elements.js";

/** @typedef {import("./arrangement.js").Arrangement} Arrangement */
/** @typedef {import("./arrangement.js").Listed} Listed */
/** @typedef {import("../timeline/types").LaidRow} LaidRow */

/** @typedef {{ root: HTMLElement, fold: HTMLElement, name: HTMLElement, detail: HTMLElement, pin: HTMLButtonElement }} Label */

const INDENT = 12;
const TEXT = 32; // the height that a label's texts need, two lines of them
const DEEP = 48; // the least height of a row whose label stands at its top

export class RowLabels {
  /**
   * @param {HTMLElement} root
   * @param {Arrangement} arrangement
   * @param {{ onChange: () => void, onFocus: (id: string) => void, say: (text: string) => void }} told
   */
  constructor(root, arrangement, told) {
    this.root = root;
    this.arrangement = arrangement;
    this.told = told;
    /** @type {Map<string, Label>} */
    this.labels = new Map();
    /** @type {Listed[]} */
    this.listed = [];
    this.current = "";
    this.dragged = "";
    root.addEventListener("keydown", (event) => this.key(event));
    root.addEventListener("focusin", (event) => this.focused(/** @type {HTMLElement} */ (event.target)));
  }

  /** @param {Listed[]} listed */
  set(listed) {
    this.listed = listed;
    const seen = new Set(listed.map(({ row }) => row.id));
    for (const [id, label] of this.labels) {
      if (seen.has(id)) continue;
      label.root.remove();
      this.labels.delete(id);
    }
    if (!seen.has(this.current)) this.current = listed[0]?.row.id ?? "";
    listed.forEach((entry, i) => {
      const label = this.labels.get(entry.row.id) ?? this.made(entry.row.id);
      this.describe(label, entry, i);
      if (this.root.children[i] !== label.root) this.root.insertBefore(label.root, this.root.children[i] ?? null);
    });
  }

  /** @param {string} id */
  made(id) {
    const fold = element("span", { class: "fold", "aria-hidden": "true" });
    const name = element("bdi", { class: "name" });
    const detail = element("span", { class: "detail" });
    const pin = this.button("Pin", "Keep at the top (p)", () => this.act(id, "pin"));
    const tools = element(
      "span", { class: "row-tools" },
      this.button("↑", "Move up (Alt+↑)", () => this.act(id, "up")),
      this.button("↓", "Move down (Alt+↓)", () => this.act(id, "down")),
      pin,
      this.button("Hide", "Hide (h)", () => this.act(id, "hide")),
    );
    const root = element("div", { class: "label", role: "treeitem", draggable: "true", "data-row": id }, fold, element("span", { class: "texts" }, name, detail), tools);
    root.addEventListener("click", () => this.act(id, "fold"));
    this.listenToDrags(root, id);
    const label = { root, fold, name, detail, pin };
    this.labels.set(id, label);
    return label;
  }

  /**
   * @param {string} text
   * @param {string} title
   * @param {() => void} act
   */
  button(text, title, act) {
    const button = element("button", { type: "button", text, title, "aria-label": title, tabindex: "-1" });
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      act();
    });
    return button;
  }

  /**
   * @param {Label} label
   * @param {Listed} entry
   * @param {number} place
   */
  describe(label, entry, place) {
    const { row, level, hasChildren, isFolded, isPinned } = entry;
    const { root } = label;
    root.className = `label ${row.kind}${isPinned ? " pinned" : ""}${hasChildren ? " folds" : ""}`;
    root.style.paddingInlineStart = `${4 + INDENT * level}px`;
    root.tabIndex = row.id === this.current ? 0 : -1;
    // Away from what it is below of, a row says that itself.
    const detail = isPinned ? this.above(row.id) || row.detail : row.detail;
    root.title = [...new Set([row.label, row.detail, detail])].filter(Boolean).join("\n");
    root.setAttribute("aria-level", String(level + 1));
    root.setAttribute("aria-posinset", String(place + 1));
    root.setAttribute("aria-setsize", String(this.listed.length));
    if (hasChildren) root.setAttribute("aria-expanded", String(!isFolded));
    else root.removeAttribute("aria-expanded");
    label.fold.textContent = hasChildren ? (isFolded ? "▸" : "▾") : "";
    label.name.textContent = row.label;
    label.detail.textContent = detail;
    label.pin.textContent = isPinned ? "Unpin" : "Pin";
    label.pin.setAttribute("aria-pressed", String(isPinned));
  }

  /**
   * What a row is below of, the nearest first.
   * @param {string} id
   */
  above(id) {
    const { arrangement } = this;
    return arrangement.path(id).slice(1).map((each) => arrangement.byId.get(each)?.label).join(" · ");
  }

  /**
   * Put the labels beside their rows.
   * @param {readonly LaidRow[]} rows
   * @param {number} top where rows that scroll begin
   */
  lay(rows, top) {
    const bottom = this.root.clientHeight;
    for (const { row, top: at, height, isPinned } of rows) {
      const root = this.labels.get(row.id)?.root;
      if (!root) continue;
      const isOut = at >= bottom || at + height <= (isPinned ? 0 : top);
      root.classList.toggle("out", isOut && root !== document.activeElement);
      root.classList.toggle("tall", height >= 30);
      root.classList.toggle("deep", height >= DEEP);
      // Of a row that reaches above the others the label stays where the row is seen.
      const above = isPinned ? 0 : Math.max(0, top - at);
      const moved = Math.min(above, Math.max(0, height - TEXT));
      root.style.top = `${at + moved}px`;
      root.style.height = `${height - moved}px`;
      root.style.clipPath = above > moved ? `inset(${above - moved}px 0 0 0)` : "";
    }
  }

  /**
   * @param {string} id
   * @param {string} what
   */
  act(id, what) {
    const { arrangement } = this;
    const name = arrangement.byId.get(id)?.label ?? "";
    const next = this.neighbour(id);
    if (what === "fold") arrangement.fold(id);
    else if (what === "pin") arrangement.pin(id);
    else if (what === "up") arrangement.move(id, -1);
    else if (what === "down") arrangement.move(id, 1);
    else if (what === "hide") {
      arrangement.hide(id);
      this.current = next;
      this.told.say(`${name} is hidden; “Rows” shows it again`);
    }
    const hadFocus = this.root.contains(document.activeElement);
    this.told.onChange();
    if (hadFocus) this.labels.get(what === "hide" ? next : id)?.root.focus({ preventScroll: true });
  }

  /**
   * Which row has the focus when this one goes.
   * @param {string} id
   */
  neighbour(id) {
    const at = this.listed.findIndex(({ row }) => row.id === id);
    return (this.listed[at + 1] ?? this.listed[at - 1])?.row.id ?? "";
  }

  /** @param {HTMLElement} target */
  focused(target) {
    const id = /** @type {HTMLElement | null} */ (target.closest("[data-row]"))?.dataset.row ?? "";
    if (!id || id === this.current) return;
    const before = this.labels.get(this.current);
    if (before) before.root.tabIndex = -1;
    this.current = id;
    const now = this.labels.get(id);
    if (now) now.root.tabIndex = 0;
  }

  /** Go to the row that was there last; where it is out of sight, to the first that is seen. */
  focus() {
    const isSeen = (/** @type {string} */ id) => this.labels.get(id)?.root.classList.contains("out") === false;
    const id = isSeen(this.current) ? this.current : this.listed.find(({ row }) => isSeen(row.id))?.row.id;
    this.labels.get(id ?? "")?.root.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const done = event.altKey ? this.moveKey(key) : this.plainKey(key);
    if (!done) return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {string} key */
  moveKey(key) {
    if (key !== "ArrowUp" && key !== "ArrowDown") return false;
    this.act(this.current, key === "ArrowUp" ? "up" : "down");
    return true;
  }

  /** @param {string} key */
  plainKey(key) {
    const at = this.listed.findIndex(({ row }) => row.id === this.current);
    const entry = this.listed[at];
    if (!entry) return false;
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => this.go(at + 1),
      ArrowUp: () => this.go(at - 1),
      Home: () => this.go(0),
      End: () => this.go(this.listed.length - 1),
      ArrowRight: () => (entry.hasChildren && entry.isFolded ? this.act(this.current, "fold") : this.go(at + 1)),
      ArrowLeft: () => (entry.hasChildren && !entry.isFolded ? this.act(this.current, "fold") : this.goUp()),
      Enter: () => this.act(this.current, "fold"),
      " ": () => this.act(this.current, "fold"),
      p: () => this.act(this.current, "pin"),
      h: () => this.act(this.current, "hide"),
      Delete: () => this.act(this.current, "hide"),
    };
    if (!(key in keys)) return false;
    keys[key]();
    return true;
  }

  /** @param {number} at */
  go(at) {
    const entry = this.listed[Math.max(0, Math.min(this.listed.length - 1, at))];
    if (!entry) return;
    this.told.onFocus(entry.row.id);
    this.labels.get(entry.row.id)?.root.classList.remove("out");
    this.labels.get(entry.row.id)?.root.focus({ preventScroll: true });
  }

  goUp() {
    const parent = this.arrangement.parentOf(this.current);
    const at = this.listed.findIndex(({ row }) => row.id === parent);
    if (at >= 0) this.go(at);
  }

  /**
   * @param {HTMLElement} root
   * @param {string} id
   */
  listenToDrags(root, id) {
    root.addEventListener("dragstart", (event) => {
      this.dragged = id;
      event.dataTransfer?.setData("text/plain", id);
    });
    root.addEventListener("dragover", (event) => {
      if (!this.arrangement.siblings(this.dragged).includes(id)) return;
      event.preventDefault();
      root.classList.add("target");
    });
    root.addEventListener("dragleave", () => root.classList.remove("target"));
    root.addEventListener("dragend", () => (this.dragged = ""));
    root.addEventListener("drop", (event) => {
      event.preventDefault();
      root.classList.remove("target");
      if (this.dragged && this.arrangement.moveTo(this.dragged, id)) this.told.onChange();
      this.dragged = "";
    });
  }
}
