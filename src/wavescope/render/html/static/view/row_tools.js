// Looking for rows, folding all of them, and showing those again that were hidden.

import { element } from "./elements.js";

export class RowTools {
  /**
   * @param {{ filter: HTMLInputElement, menu: HTMLDetailsElement }} parts
   * @param {import("./arrangement.js").Arrangement} arrangement
   * @param {() => void} onChange
   */
  constructor({ filter, menu }, arrangement, onChange) {
    this.filter = filter;
    this.menu = menu;
    this.arrangement = arrangement;
    this.onChange = onChange;
    this.hidden = element("ul", { class: "hidden-rows" });
    const body = element(
      "div", { class: "menu" },
      this.button("Unfold all", () => arrangement.foldAll(false)),
      this.button("Fold all", () => arrangement.foldAll(true)),
      this.button("As at first", () => arrangement.reset()),
      this.hidden,
    );
    menu.append(body);
    filter.addEventListener("input", () => {
      arrangement.filter = filter.value;
      onChange();
    });
    filter.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      arrangement.filter = "";
      onChange();
      filter.blur();
    });
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      event.stopPropagation();
      menu.open = false;
      menu.querySelector("summary")?.focus();
    });
    document.addEventListener("pointerdown", (event) => {
      if (menu.open && !menu.contains(/** @type {Node} */ (event.target))) menu.open = false;
    });
  }

  /**
   * @param {string} text
   * @param {() => void} act
   */
  button(text, act) {
    return element("button", {
      type: "button",
      text,
      onclick: () => {
        act();
        this.onChange();
      },
    });
  }

  update() {
    const rows = this.arrangement.hiddenRows();
    if (this.filter.value !== this.arrangement.filter) this.filter.value = this.arrangement.filter;
    const summary = this.menu.querySelector("summary");
    if (summary) summary.textContent = rows.length ? `Rows (${rows.length} hidden)` : "Rows";
    const items = rows.map((row) =>
      element("li", {}, this.button(`Show ${row.label}`, () => this.arrangement.showAgain(row.id))),
    );
    if (rows.length > 1) items.unshift(element("li", {}, this.button("Show all hidden", () => this.arrangement.showAgain())));
    this.hidden.replaceChildren(...items);
  }
}
