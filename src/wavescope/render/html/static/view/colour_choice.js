// By what ranges are coloured, and which colour means what.

import { element } from "./elements.js";

/** @typedef {import("./joined_source.js").JoinedSource} JoinedSource */

const AGAIN_AFTER_MS = 1000;

export class ColourChoice {
  /**
   * @param {{ select: HTMLSelectElement, legend: HTMLElement }} parts
   * @param {import("./asking.js").Asking} asking
   * @param {(id: string, isChosen: boolean) => void} onColours
   */
  constructor({ select, legend }, asking, onColours) {
    this.select = select;
    this.legend = legend;
    this.asking = asking;
    this.onColours = onColours;
    /** @type {JoinedSource | null} */
    this.source = null;
    this.id = "";
    this.drawn = "";
    /** @type {Map<string, number>} the version at which labels were asked for, by trace and id */
    this.asked = new Map();
    select.addEventListener("change", () => this.choose(select.value, true));
  }

  /**
   * Traces are known, or grew.
   * @param {JoinedSource} source
   */
  update(source) {
    this.source = source;
    const ids = source.colourings.map(({ id }) => id);
    if (ids.join("\n") !== [...this.select.options].map(({ value }) => value).join("\n")) {
      this.select.replaceChildren(...source.colourings.map(({ id, title }) => element("option", { value: id, text: title })));
    }
    this.choose(ids.includes(this.id) ? this.id : ids[0] ?? "", false);
  }

  /** Number of the colouring in use. */
  get number() {
    return Math.max(0, this.source?.colourings.findIndex(({ id }) => id === this.id) ?? 0);
  }

  /**
   * @param {string} id
   * @param {boolean} isChosen by the reader
   */
  choose(id, isChosen) {
    this.id = id;
    this.select.value = id;
    this.draw();
    this.onColours(id, isChosen);
    this.source?.sources.forEach((source, trace) => {
      if (source.colourings.some((colouring) => colouring.id === id)) this.ask(trace, id, source.version);
    });
  }

  /**
   * @param {number} trace
   * @param {string} id
   * @param {number} version
   */
  async ask(trace, id, version) {
    const key = `${trace}\n${id}`;
    if ((this.asked.get(key) ?? -1) >= version) return;
    this.asked.set(key, version);
    try {
      const { labels, series } = await this.asking.json("colouring", { trace, by: id });
      this.source?.setLabels(trace, id, labels, series);
      this.draw();
      this.onColours(this.id, false);
    } catch {
      // While a trace is being read some are not known; the server may also be away.
      setTimeout(() => this.asked.delete(key), AGAIN_AFTER_MS);
    }
  }

  /** Those that were seen so far; more when a frame had more. */
  draw() {
    const colouring = this.source?.colourings[this.number];
    const seen = this.source?.classesSeen.get(this.id) ?? new Set();
    const key = JSON.stringify([this.id, colouring?.labels, [...seen].sort()]);
    if (key === this.drawn) return;
    this.drawn = key;
    const items = (colouring?.labels ?? []).map((label, i) =>
      element(
        "li", { hidden: !seen.has(i) },
        element("span", { class: `swatch s${colouring?.series[i]}`, "aria-hidden": "true" }),
        element("bdi", { text: label, title: label }),
      ),
    );
    this.legend.replaceChildren(...items);
    this.legend.dataset.by = this.id;
  }
}
