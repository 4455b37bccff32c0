// The rank that was chosen on a map: its row as bars, and the command that opens its trace there.

import { shadeOf, valueText } from "./cells.js";
import { isDark, shades } from "./shades.js";
import { viewCommand } from "./view_command.js";

/** @typedef {import("./heat_map.js").Cell} Cell */
/** @typedef {import("./map_data.js").MapData} MapData */

const HEIGHT = 72;

/**
 * @param {string} name
 * @param {string} text
 * @param {string} [kind]
 */
const made = (name, text, kind) => {
  const found = document.createElement(name);
  found.textContent = text;
  if (kind) found.className = kind;
  return found;
};

export class ChosenRank {
  /**
   * @param {HTMLElement} box
   * @param {MapData} data
   */
  constructor(box, data) {
    this.box = box;
    this.data = data;
    this.measure = 0;
    /** @type {Cell | null} */
    this.cell = null;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
  }

  /** @param {Cell | null} cell */
  show(cell) {
    this.cell = cell;
    this.box.hidden = !cell;
    this.tell();
  }

  /** What is said of the rank, anew: the measure or the rank is another one. */
  tell() {
    const { cell, data, box } = this;
    if (!cell) return;
    const who = data.ranks[cell.rank];
    const measure = data.measures[this.measure];
    const head = made("h4", who.label);
    head.append(made("span", who.place));
    const mean = valueText(measure, data.mean(this.measure, cell.rank));
    const here = valueText(measure, data.value(this.measure, cell.rank, cell.column));
    const words = `${measure.title}: ${here} at ${data.columnText(cell.column)}, on average ${mean}.`;
    box.replaceChildren(head, made("p", words), this.canvas, ...this.command(cell));
    if (who.clock) box.append(made("p", who.clock, "note"));
    this.draw();
  }

  /** @param {Cell} cell */
  command(cell) {
    const who = this.data.ranks[cell.rank];
    const time = this.data.window(cell.rank, cell.column);
    const text = time ? viewCommand(who, ...time) : "";
    if (!text) return [made("p", time ? "Its file's name cannot be typed: open it by hand." : "It has no such step.", "note")];
    const line = made("div", "", "opens");
    const code = made("code", text);
    code.tabIndex = 0;
    const button = made("button", "Copy");
    button.setAttribute("type", "button");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        getSelection()?.selectAllChildren(code);
        button.textContent = "Selected";
      }
    });
    line.append(made("span", "Open its trace here:"), code, button);
    return [line];
  }

  /** The bars, in the page's colours and width. */
  draw() {
    const { canvas, cell, data } = this;
    if (!cell) return;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const scale = devicePixelRatio || 1;
    const width = canvas.clientWidth;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(HEIGHT * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const measure = data.measures[this.measure];
    const colours = shades(isDark());
    const each = width / data.columns;
    const top = measure.unit === "%" ? 1 : measure.largest || 1;
    const style = getComputedStyle(canvas);
    for (let column = 0; column < data.columns; column += 1) {
      const value = data.value(this.measure, cell.rank, column);
      if (Number.isNaN(value)) continue;
      const shade = shadeOf(measure, value);
      const high = Math.max(1, (HEIGHT - 6) * Math.min(1, value / top));
      context.fillStyle = `rgb(${colours.subarray(3 * shade, 3 * shade + 3).join(" ")})`;
      context.fillRect(column * each, HEIGHT - high, Math.max(0.5, each * (each > 4 ? 0.9 : 1)), high);
    }
    context.fillStyle = style.outlineColor;
    context.fillRect(cell.column * each, 0, Math.max(2, each), 3);
  }
}
