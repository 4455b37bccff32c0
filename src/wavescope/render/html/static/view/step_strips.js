// Steps drawn one above the other at the same scale: what the median step does and the slow ones do.

import { paletteOf } from "../timeline/colours.js";
import { duration } from "../timeline/time_text.js";
import { makeClickable } from "./asked_of_trace.js";
import { element } from "./elements.js";
import { decodeTiles } from "./tile_decoder.js";

/** @typedef {import("./types").App} App */
/** @typedef {{ label: string, start: number, length: number, rowId: string }} Strip */

export const STRIP_HEIGHT = 30;
const COLOURING = "category";
const MOST_PIXELS = 4096;

export class StepStrips {
  /**
   * @param {App} app
   * @param {(strip: Strip) => void} onChoose
   */
  constructor(app, onChoose) {
    this.app = app;
    this.onChoose = onChoose;
    this.element = element("div", { class: "step-strips" });
    this.trace = 0;
    /** @type {Strip[]} */
    this.strips = [];
    /** @type {Map<number, Promise<{ labels: string[], series: number[] }>>} */
    this.colourings = new Map();
    this.drawing = 0;
    let width = 0;
    new ResizeObserver(() => {
      if (this.element.clientWidth === width) return;
      width = this.element.clientWidth;
      this.draw();
    }).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  }

  /**
   * @param {number} trace
   * @param {Strip[]} strips the first is what the others are compared with
   */
  show(trace, strips) {
    this.trace = trace;
    this.strips = strips;
    this.draw();
  }

  /** ns of one pixel: the longest strip is as wide as there is room. */
  scale() {
    const longest = this.strips.reduce((most, { length }) => Math.max(most, length), 1);
    return longest / Math.max(1, Math.min(MOST_PIXELS - 1, this.room()));
  }

  room() {
    return Math.max(80, this.element.clientWidth - 160);
  }

  async draw() {
    this.drawing += 1;
    const { drawing, strips, trace } = this;
    const lines = strips.map((strip) => this.line(strip));
    this.element.replaceChildren(...lines.map(({ row }) => row));
    if (!strips.length || !this.element.clientWidth) return;
    try {
      const colouring = await this.colouring(trace);
      for (const [at, strip] of strips.entries()) {
        const tile = await this.tile(strip);
        if (this.drawing !== drawing) return;
        this.paint(lines[at].canvas, tile, colouring);
      }
      this.element.dataset.drawn = String(strips.length);
    } catch (error) {
      if (this.drawing === drawing) this.app.say(/** @type {Error} */ (error).message);
    }
  }

  /** @param {Strip} strip */
  line(strip) {
    const canvas = element("canvas", { "aria-hidden": "true" });
    const label = element("span", { class: "strip-label" }, element("bdi", { text: strip.label }), ` ${duration(strip.length)}`);
    const row = element("div", { class: "strip", title: "Show it in the timeline" }, label, canvas);
    makeClickable(row, () => this.onChoose(strip));
    row.setAttribute("role", "button");
    canvas.width = Math.max(1, Math.ceil(strip.length / this.scale()));
    canvas.height = STRIP_HEIGHT;
    canvas.style.width = `${canvas.width}px`;
    canvas.style.height = `${STRIP_HEIGHT}px`;
    return { row, canvas };
  }

  /** @param {number} trace */
  colouring(trace) {
    let found = this.colourings.get(trace);
    if (!found) {
      found = this.app.ask("colouring", { trace, by: COLOURING });
      this.colourings.set(trace, found);
      found.catch(() => this.colourings.delete(trace));
    }
    return found;
  }

  /** @param {Strip} strip */
  async tile({ start, length, rowId }) {
    const scale = this.scale();
    const first = Math.floor(start / scale);
    const count = Math.min(MOST_PIXELS, Math.max(1, Math.ceil(length / scale)));
    const parameters = { trace: this.trace, rows: rowId, scale, first, count, by: COLOURING };
    const answer = await fetch(this.app.address("tiles", parameters), { cache: "no-store" });
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const tile = decodeTiles(await answer.arrayBuffer(), count).tiles.get(rowId);
    if (!tile) throw new Error(`there is no row ${rowId}`);
    return tile;
  }

  /**
   * For each pixel the shares of classes, one above the other.
   * @param {HTMLCanvasElement} canvas
   * @param {import("./tile_decoder.js").Tile} tile
   * @param {{ labels: string[], series: number[] }} colouring
   */
  paint(canvas, tile, colouring) {
    const palette = paletteOf(this.element, { id: COLOURING, title: "", ...colouring });
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    pen.fillStyle = palette.idle;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    for (let pixel = 0; pixel < tile.count; pixel += 1) {
      let bottom = STRIP_HEIGHT;
      tile.classes.forEach((number, place) => {
        const high = (tile.shares[place * tile.count + pixel] / 255) * STRIP_HEIGHT;
        pen.fillStyle = palette.classes[number];
        pen.fillRect(pixel, bottom - high, 1, high);
        bottom -= high;
      });
    }
  }
}
