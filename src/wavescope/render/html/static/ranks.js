// The heat maps of a job: what lies under the pointer or the keys, and the rank that is chosen.

import { valueText } from "./ranks/cells.js";
import { ChosenRank } from "./ranks/chosen_rank.js";
import { HeatMap } from "./ranks/heat_map.js";
import { MapData } from "./ranks/map_data.js";
import { isDark, shades } from "./ranks/shades.js";

/** @typedef {import("./ranks/heat_map.js").Cell} Cell */

const TIP_DISTANCE = 14;
const FAR = 10;

class RankMapView {
  /**
   * @param {HTMLElement} figure
   * @param {MapData} data
   */
  constructor(figure, data) {
    this.figure = figure;
    this.data = data;
    this.canvas = this.part("canvas.map", HTMLCanvasElement);
    this.tip = this.part(".tip", HTMLElement);
    this.told = this.part("output.told", HTMLElement);
    this.map = new HeatMap(this.canvas, data);
    this.chosen = new ChosenRank(this.part(".chosen", HTMLElement), data);
    this.listen();
    this.showMeasure();
    figure.dataset.ready = "true";
  }

  /**
   * @template {Element} T
   * @param {string} selector
   * @param {{ new (): T }} kind
   * @returns {T}
   */
  part(selector, kind) {
    const found = this.figure.querySelector(selector);
    if (!(found instanceof kind)) throw new Error(`${selector} is not in the page`);
    return found;
  }

  listen() {
    const { canvas, figure, map } = this;
    this.part("select[name=measure]", HTMLSelectElement).addEventListener("change", () => this.showMeasure());
    this.part("select[name=order]", HTMLSelectElement).addEventListener("change", (event) => {
      map.isByValue = /** @type {HTMLSelectElement} */ (event.target).value === "value";
      map.arrange();
    });
    canvas.addEventListener("pointermove", (event) => this.point(map.cellAt(event.offsetX, event.offsetY), event));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("click", (event) => {
      const cell = map.cellAt(event.offsetX, event.offsetY);
      if (!cell) return;
      map.cursor = cell;
      this.choose(cell);
    });
    canvas.addEventListener("keydown", (event) => this.press(event));
    canvas.addEventListener("focus", () => {
      map.cursor ??= { rank: map.order[0], column: 0 };
      this.moved();
    });
    canvas.addEventListener("blur", () => {
      this.tip.hidden = true;
    });
    document.addEventListener("themechange", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(figure);
  }

  redraw() {
    this.map.draw();
    this.chosen.draw();
    this.drawScale();
  }

  showMeasure() {
    const number = Number(this.part("select[name=measure]", HTMLSelectElement).value);
    const measure = this.data.measures[number];
    this.map.measure = number;
    this.chosen.measure = number;
    this.map.arrange();
    this.chosen.tell();
    const isCut = measure.largest > measure.high;
    this.part(".scale .low", HTMLElement).textContent = valueText(measure, measure.low);
    this.part(".scale .high", HTMLElement).textContent = `${isCut ? "≥ " : ""}${valueText(measure, measure.high)}`;
    for (const note of this.figure.querySelectorAll("[data-measure]")) {
      /** @type {HTMLElement} */ (note).hidden = /** @type {HTMLElement} */ (note).dataset.measure !== String(number);
    }
    this.drawScale();
  }

  drawScale() {
    const canvas = this.part(".scale canvas", HTMLCanvasElement);
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const colours = shades(isDark());
    const image = context.createImageData(256, 1);
    for (let i = 0; i < 256; i += 1) image.data.set([...colours.subarray(3 * i, 3 * i + 3), 255], 4 * i);
    context.putImageData(image, 0, 0);
  }

  /** @param {Cell} cell */
  words({ rank, column }) {
    const { data, map } = this;
    const who = data.ranks[rank];
    const measure = data.measures[map.measure];
    return {
      title: `${who.label} · ${valueText(measure, data.value(map.measure, rank, column))}`,
      lines: [`${measure.title}, ${data.columnText(column)}`, who.place, who.clock].filter(Boolean),
    };
  }

  /**
   * @param {Cell | null} cell
   * @param {PointerEvent} [event]
   */
  point(cell, event) {
    this.figure.dataset.cell = cell ? `${cell.rank},${cell.column}` : "";
    if (!cell) this.tip.hidden = true;
    else this.showTip(cell, event?.offsetX ?? 0, event?.offsetY ?? 0);
  }

  /** @param {Cell} cell @param {number} x @param {number} y */
  showTip(cell, x, y) {
    const { tip, canvas } = this;
    const { title, lines } = this.words(cell);
    const strong = document.createElement("strong");
    strong.textContent = title;
    const rest = lines.map((text) => {
      const line = document.createElement("span");
      line.textContent = text;
      return line;
    });
    tip.replaceChildren(strong, ...rest);
    tip.hidden = false;
    const isRight = x + TIP_DISTANCE + tip.offsetWidth > canvas.clientWidth;
    tip.style.left = `${isRight ? Math.max(0, x - TIP_DISTANCE - tip.offsetWidth) : x + TIP_DISTANCE}px`;
    const isLow = y + TIP_DISTANCE + tip.offsetHeight > canvas.clientHeight;
    tip.style.top = `${isLow ? Math.max(0, y - TIP_DISTANCE - tip.offsetHeight) : y + TIP_DISTANCE}px`;
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const { map, data } = this;
    if (!map.cursor || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = map.order.indexOf(map.cursor.rank);
    /** @type {Record<string, () => [number, number]>} */
    const moves = {
      ArrowLeft: () => [row, Number(map.cursor?.column) - (event.shiftKey ? FAR : 1)],
      ArrowRight: () => [row, Number(map.cursor?.column) + (event.shiftKey ? FAR : 1)],
      ArrowUp: () => [row - (event.shiftKey ? FAR : 1), Number(map.cursor?.column)],
      ArrowDown: () => [row + (event.shiftKey ? FAR : 1), Number(map.cursor?.column)],
      PageUp: () => [row - FAR, Number(map.cursor?.column)],
      PageDown: () => [row + FAR, Number(map.cursor?.column)],
      Home: () => [row, 0],
      End: () => [row, data.columns - 1],
    };
    if (event.key === "Enter" || event.key === " ") this.choose(map.cursor);
    else if (event.key === "Escape") this.choose(null);
    else if (Object.hasOwn(moves, event.key)) {
      const [toRow, toColumn] = moves[event.key]();
      const place = Math.min(map.order.length - 1, Math.max(0, toRow));
      map.cursor = { rank: map.order[place], column: Math.min(data.columns - 1, Math.max(0, toColumn)) };
      this.moved();
    } else return;
    event.preventDefault();
  }

  /** The keys went to a cell: it is shown and said. */
  moved() {
    const { map } = this;
    if (!map.cursor) return;
    map.draw();
    const { x, y, width, height } = map.placeOf(map.cursor);
    this.figure.dataset.cell = `${map.cursor.rank},${map.cursor.column}`;
    this.showTip(map.cursor, x + width, y + height);
    const { title, lines } = this.words(map.cursor);
    this.told.textContent = [title, ...lines].join(", ");
  }

  /**
   * A rank is wanted from elsewhere in the page: the keys go on from there.
   * @param {number} rank
   */
  goTo(rank) {
    this.map.cursor = { rank, column: 0 };
    this.choose(this.map.cursor);
    this.canvas.scrollIntoView({ block: "center" });
    this.canvas.focus({ preventScroll: true });
  }

  /** @param {Cell | null} cell */
  choose(cell) {
    this.map.chosen = cell?.rank ?? null;
    this.map.draw();
    this.chosen.show(cell);
  }
}

/** @param {{ ranks: import("./ranks/view_command.js").Rank[], maps: Record<string, import("./ranks/map_data.js").CarriedMap> }} carried */
const setUp = async ({ ranks, maps }) => {
  const figures = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".rankmap"));
  /** @type {RankMapView[]} */
  const views = [];
  for (const figure of figures) {
    const data = await MapData.unpacked(maps[figure.dataset.map ?? ""], ranks);
    views.push(new RankMapView(figure, data));
  }
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("button[data-rank]"))) {
    button.hidden = false;
    button.addEventListener("click", () => views[views.length - 1].goTo(Number(button.dataset.rank)));
  }
};

const carried = document.getElementById("ranks-maps")?.textContent;
if (carried) setUp(JSON.parse(carried));
