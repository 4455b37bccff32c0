// Aligning several traces: at their starts, at a marker that all have, at a step, at a kernel.

import { element } from "./elements.js";

/** @typedef {import("./types").App} App */
/** @typedef {{ name: string, count: number, at: number[] }} CommonMarker */
/** @typedef {{ name: string, at: number[] }} Moment */

/**
 * Put the traces so that these times, of each trace from its first event on, lie above each other.
 * @param {App} app
 * @param {number[]} at
 */
export function alignAt(app, at) {
  const latest = Math.max(...at);
  app.setOffsets(at.map((time) => latest - time));
}

const WAYS = [["start", "their starts"], ["marker", "a marker"], ["step", "a step"], ["kernel", "a kernel"]];
/** @type {Record<string, string>} */
const NOTHING = { marker: "No marker is in all traces.", step: "No steps are found in all traces." };

/** A choice of what to align by, kept in the page's address. */
export class AligningControl {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {CommonMarker[] | null} */
    this.markers = null;
    /** @type {Moment[] | null} */
    this.steps = null;
    this.isWaiting = false;
    this.way = element("select", { name: "align-at", "aria-label": "Align traces at", onchange: () => this.changed() });
    for (const [value, text] of WAYS) this.way.append(element("option", { value, text }));
    this.marker = element("select", { name: "align-marker", "aria-label": "Marker", class: "which", onchange: () => this.chosen(1) });
    this.number = element("input", { name: "align-number", type: "number", min: "1", value: "1", "aria-label": "Which one", onchange: () => this.chosen() });
    this.count = element("span", { class: "count" });
    this.said = element("output", { class: "said" });
    this.element = element(
      "div", { class: "aligning" },
      element("label", {}, "Align at ", this.way), this.marker, element("label", {}, "number ", this.number), this.count, this.said,
    );
    /** What the address was last told, or told itself. */
    this.known = "";
    this.refresh();
    app.onTraces(() => this.follow());
    this.follow();
  }

  /** Traces were read or moved, or the address says something else: somebody went back in it. */
  follow() {
    if (this.app.traces.length < 2) return;
    if (this.app.kept("align") !== this.known) this.restore();
    else if (this.isWaiting) this.changed(this.wanted);
  }

  /** What the address says; the traces may not have been read yet. */
  restore() {
    this.known = this.app.kept("align");
    const [way, number, ...name] = this.known.split(":");
    this.way.value = WAYS.some(([known]) => known === way) ? way : "start";
    if (way === "marker" || way === "step") this.changed({ number: Number(number) || 1, name: name.join(":") });
    else {
      this.isWaiting = false;
      this.said.textContent = "";
      this.refresh();
    }
  }

  /** @param {string} text */
  keep(text) {
    this.known = text;
    this.app.keep("align", text);
  }

  /**
   * Another way was chosen: find out what there is, then align at it.
   * @param {{ number: number, name: string }} [wanted]
   */
  async changed(wanted = { number: 1, name: "" }) {
    const way = this.way.value;
    this.wanted = wanted;
    this.isWaiting = false;
    this.said.textContent = way === "kernel" ? "Click a kernel in the table." : way === "start" ? "" : "…";
    if (way === "kernel") return this.refresh();
    try {
      await this.load(way, wanted.name);
    } catch (error) {
      if (wanted === this.wanted) this.refuse(/** @type {Error & { status?: number }} */ (error));
      return;
    }
    if (wanted !== this.wanted) return;
    this.said.textContent = "";
    this.refresh();
    if (way === "marker" && wanted.name) this.marker.value = wanted.name;
    await this.chosen(wanted.number);
  }

  /**
   * What there is to align at; a marker that a link names may be none of those that are listed.
   * @param {string} way
   * @param {string} name
   */
  async load(way, name) {
    if (way === "step") this.steps ??= (await this.app.ask("alignments", { by: "step" })).steps;
    if (way !== "marker") return;
    const markers = /** @type {CommonMarker[]} */ (this.markers ??= (await this.app.ask("alignments")).markers);
    if (!name || markers.some((marker) => marker.name === name)) return;
    markers.push(await this.app.ask("alignments", { marker: name, number: 1 }));
    this.marker.replaceChildren();
  }

  /** @param {Error & { status?: number }} error */
  refuse({ status, message }) {
    this.isWaiting = status === 503;
    if (this.isWaiting) this.said.textContent = message;
    else this.say(message);
    this.refresh();
  }

  /**
   * In the panel, and elsewhere where that is closed.
   * @param {string} text
   */
  say(text) {
    this.said.textContent = text;
    if (!this.element.offsetParent) this.app.say(text);
  }

  /** The fields that belong to the way, filled with what there is. */
  refresh() {
    const way = this.way.value;
    const found = way === "marker" ? this.markers : way === "step" ? this.steps : null;
    if (way === "marker" && this.markers && this.marker.options.length === 0) {
      this.marker.append(...this.markers.map(({ name }) => element("option", { value: name, text: shortened(name) })));
    }
    this.marker.hidden = way !== "marker" || !found?.length;
    const label = /** @type {HTMLElement} */ (this.number.parentElement);
    label.hidden = this.count.hidden = !found?.length;
    if (found && !found.length) this.say(NOTHING[way]);
  }

  /**
   * Align at what the fields say.
   * @param {number} [number]
   */
  async chosen(number = Math.round(Number(this.number.value))) {
    const way = this.way.value;
    const marker = this.markers?.find(({ name }) => name === this.marker.value);
    const most = way === "marker" ? marker?.count ?? 0 : way === "step" ? this.steps?.length ?? 0 : 1;
    if (most === 0) return;
    const which = Math.max(1, Math.min(most, number || 1));
    this.number.value = String(which);
    this.number.max = String(most);
    this.count.textContent = `of ${most.toLocaleString("en")}`;
    let at = this.app.traces.map(() => 0);
    if (way === "step" && this.steps) at = this.steps[which - 1].at;
    if (way === "marker" && marker) {
      at = which === 1 ? marker.at : (await this.app.ask("alignments", { marker: marker.name, number: which })).at;
    }
    alignAt(this.app, at);
    this.keep(way === "start" ? "" : `${way}:${which}${way === "marker" ? `:${this.marker.value}` : ""}`);
    this.said.textContent = "";
  }

  /**
   * The traces were aligned at an op of a kernel.
   * @param {string} what
   */
  sayKernel(what) {
    this.way.value = "kernel";
    this.refresh();
    this.said.textContent = what;
    this.keep("kernel");
  }
}

/** @param {string} text */
function shortened(text) {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}
