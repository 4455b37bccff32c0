// A flame graph on a canvas: a click or Enter makes a box as wide as the picture.

import { paletteOf, textOn } from "../timeline/colours.js";
import { duration } from "../timeline/time_text.js";
import { element } from "./elements.js";

/** @typedef {import("./flame_layout.js").FlameLayout} FlameLayout */

export const ROW_HEIGHT = 18;
const LEAST_WIDTH = 0.4;
const LEAST_TEXT = 24;
const SERIES = [0, 1, 2, 3, 4, 5, 6, 9, 11, 12, 13];

export class FlameGraph {
  /** @param {(focus: number) => void} onFocus */
  constructor(onFocus) {
    this.onFocus = onFocus;
    /** @type {FlameLayout | null} */
    this.layout = null;
    this.focus = 0;
    this.current = 0;
    /** @type {Uint8Array | null} */
    this.isFound = null;
    this.canvas = element("canvas", { tabindex: "0", class: "flame", role: "application", "aria-label": "Flame graph: arrows move, Enter makes a box as wide as the picture, Escape shows everything" });
    this.tip = element("div", { class: "flame-tip", hidden: true });
    this.spoken = element("output", { class: "unseen", "aria-live": "polite" });
    this.element = element("div", { class: "flame-stage" }, this.canvas, this.tip, this.spoken);
    this.listen();
  }

  /** @param {FlameLayout} layout */
  show(layout) {
    this.layout = layout;
    this.isFound = null;
    this.setFocus(0);
  }

  /** Show nothing. */
  clear() {
    this.layout = null;
    this.tip.hidden = true;
    this.canvas.style.height = "0";
  }

  /** @param {number} node */
  setFocus(node) {
    this.focus = node;
    this.current = node;
    this.tip.hidden = true;
    this.onFocus(node);
    this.draw();
  }

  /** @param {Uint8Array | null} isFound */
  mark(isFound) {
    this.isFound = isFound;
    this.draw();
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("click", (event) => {
      const node = this.nodeAt(event);
      if (node >= 0) this.setFocus(node);
    });
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => this.draw());
    canvas.addEventListener("blur", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  }

  /** @param {MouseEvent} event */
  nodeAt(event) {
    if (!this.layout || !this.canvas.clientWidth) return -1;
    const depth = Math.floor(event.offsetY / ROW_HEIGHT);
    return this.layout.at(event.offsetX / this.canvas.clientWidth, depth, this.focus);
  }

  /** @param {PointerEvent} event */
  point(event) {
    const node = this.nodeAt(event);
    this.tip.hidden = node < 0;
    if (node < 0) return;
    this.tip.textContent = this.words(node);
    const room = this.element.clientWidth - this.tip.offsetWidth - 4;
    this.tip.style.left = `${Math.max(0, Math.min(event.offsetX + 12, room))}px`;
    this.tip.style.top = `${event.offsetY + 16}px`;
  }

  /** @param {number} node */
  words(node) {
    const layout = /** @type {FlameLayout} */ (this.layout);
    const { value, self, count } = layout.nodes;
    const share = value[0] ? (100 * value[node]) / value[0] : 0;
    return `${layout.name(node)}\n${duration(value[node])} (${share.toFixed(1)} % of all), itself ${duration(self[node])}, ${count[node].toLocaleString("en")} times`;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { layout, current } = this;
    if (!layout || event.ctrlKey || event.metaKey || event.altKey) return;
    const parent = layout.nodes.parent[current];
    const siblings = parent >= 0 ? layout.children[parent] : [current];
    const at = siblings.indexOf(current);
    /** @type {Record<string, () => number | undefined>} */
    const targets = {
      ArrowDown: () => layout.children[current][0],
      ArrowUp: () => (parent >= 0 ? parent : undefined),
      ArrowLeft: () => siblings[at - 1],
      ArrowRight: () => siblings[at + 1],
      Home: () => 0,
    };
    if (event.key === "Enter" || event.key === " ") this.setFocus(current);
    else if (event.key === "Escape") {
      if (!this.focus) return;
      this.setFocus(0);
    } else if (event.key in targets) this.move(targets[event.key]());
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number | undefined} node */
  move(node) {
    const { layout } = this;
    if (node === undefined || !layout) return;
    this.current = node;
    this.spoken.textContent = this.words(node);
    const [left, right] = layout.place(node, this.focus);
    // What lies beside the focused box cannot be seen: the focus goes up with it.
    if (left < 0 || right > 1 + 1e-9) {
      this.focus = layout.nodes.parent[node] >= 0 ? layout.nodes.parent[node] : 0;
      this.onFocus(this.focus);
    }
    const top = layout.depth[node] * ROW_HEIGHT;
    const { scrollParent } = this;
    if (scrollParent && (top < scrollParent.scrollTop || top + 3 * ROW_HEIGHT > scrollParent.scrollTop + scrollParent.clientHeight)) {
      scrollParent.scrollTop = top - 3 * ROW_HEIGHT;
    }
    this.draw();
  }

  get scrollParent() {
    return /** @type {HTMLElement | null} */ (this.element.closest(".flame-scroll"));
  }

  draw() {
    const { layout, canvas } = this;
    const width = this.element.clientWidth;
    if (!layout || !width) return;
    const height = (layout.deepest + 1) * ROW_HEIGHT;
    const ratio = devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(Math.min(height * ratio, 32_000));
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    pen.scale(canvas.width / width, canvas.height / height);
    const palette = paletteOf(this.element, { id: "", title: "", labels: [], series: SERIES });
    pen.font = `11.5px ${palette.font}`;
    pen.textBaseline = "middle";
    for (const node of this.visible(width)) this.box(pen, palette, node, width);
  }

  /**
   * The boxes that are wide enough to be seen.
   * @param {number} width
   */
  visible(width) {
    const layout = /** @type {FlameLayout} */ (this.layout);
    const found = layout.path(this.focus);
    const least = (LEAST_WIDTH / width) * layout.value(this.focus);
    const waiting = [this.focus];
    while (waiting.length) {
      for (const child of layout.children[/** @type {number} */ (waiting.pop())]) {
        if (layout.value(child) < least) break; // those after it are no wider
        found.push(child);
        waiting.push(child);
      }
    }
    return found;
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {import("../timeline/colours.js").Palette} palette
   * @param {number} node
   * @param {number} width
   */
  box(pen, palette, node, width) {
    const layout = /** @type {FlameLayout} */ (this.layout);
    const [left, right] = layout.place(node, this.focus);
    const [x, y] = [left * width, layout.depth[node] * ROW_HEIGHT];
    const wide = Math.max(LEAST_WIDTH, (right - left) * width - 1);
    const isAbove = node !== this.focus && layout.isAround(node, this.focus);
    const isFaint = this.isFound !== null && !this.isFound[node];
    const colour = node === 0 ? palette.idle : palette.classes[numberOf(layout.name(node)) % SERIES.length];
    pen.globalAlpha = isFaint ? 0.18 : isAbove ? 0.5 : 1;
    pen.fillStyle = this.isFound?.[node] ? palette.accent : colour;
    pen.fillRect(x, y, wide, ROW_HEIGHT - 1);
    pen.globalAlpha = 1;
    if (wide > LEAST_TEXT) {
      pen.fillStyle = isFaint || isAbove || node === 0 ? palette.text : textOn(String(this.isFound?.[node] ? palette.accent : colour));
      pen.save();
      pen.beginPath();
      pen.rect(x, y, wide - 2, ROW_HEIGHT);
      pen.clip();
      pen.fillText(layout.name(node).slice(0, 400), x + 4, y + ROW_HEIGHT / 2);
      pen.restore();
    }
    if (node === this.current && document.activeElement === this.canvas) {
      pen.strokeStyle = palette.text;
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, y + 1, Math.max(1, wide - 2), ROW_HEIGHT - 3);
    }
  }
}

/** @param {string} text */
function numberOf(text) {
  let number = 7;
  for (let i = 0; i < text.length; i += 1) number = (number * 31 + text.charCodeAt(i)) >>> 0;
  return number;
}
