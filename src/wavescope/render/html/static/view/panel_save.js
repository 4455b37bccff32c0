// The part of a trace that is seen, or selected, as a file; or handed to Perfetto's page.

import { duration, position } from "../timeline/time_text.js";
import { element } from "./elements.js";
import { handOver, perfettoTab } from "./perfetto.js";

/** @typedef {import("./types").App} App */

const PERFETTO_HINT = "Opens a new tab at ui.perfetto.dev and hands it the window: "
  + "the data leaves this tab of the browser, but goes to no server";

class SavePanel {
  /**
   * @param {HTMLElement} root
   * @param {App} app
   */
  constructor(root, app) {
    this.app = app;
    this.trace = element("select", { name: "save-trace", "aria-label": "Trace", onchange: () => this.update() });
    this.what = element("p", { class: "what" });
    this.said = element("output", { class: "said" });
    const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ onclick) =>
      element("button", { type: "button", text, title, onclick });
    this.buttons = [
      button("", "A file for Perfetto and other readers of its format", () => this.save("perfetto")),
      button("", "A trace file that every command of wavescope reads", () => this.save("wavescope")),
      button("", PERFETTO_HINT, () => this.openInPerfetto()),
    ];
    this.isBusy = false;
    root.append(this.what, element("div", { class: "panel-head" }, this.trace, ...this.buttons, this.said));
    for (const listen of [app.onTraces, app.onWindow]) listen.call(app, () => this.update());
    app.onRange((range) => this.chosen(range));
    this.update();
    this.chosen(app.range);
  }

  /** The selected range of the trace, else what the window shows of it; that may be nothing. */
  get part() {
    const trace = Number(this.trace.value || 0);
    const { range } = this.app;
    const isSelected = range !== null && range.trace === trace;
    const { start, end } = isSelected ? range : this.app.window(trace);
    return { trace, isSelected, start: Math.floor(start), end: end > start ? Math.ceil(end) : Math.floor(start) };
  }

  /**
   * Of a range the trace that it is of.
   * @param {import("./types").Range | null} range
   */
  chosen(range) {
    if (range) this.trace.value = String(range.trace);
    this.update();
  }

  update() {
    const { traces } = this.app;
    this.trace.hidden = traces.length < 2;
    if (this.trace.options.length !== traces.length) {
      this.trace.replaceChildren(...traces.map(({ trace, label }) => element("option", { value: String(trace), text: label })));
    }
    const { isSelected, start, end } = this.part;
    const at = position(start, Math.max(1, (end - start) / 1000), Math.max(1, end));
    const what = isSelected ? "range" : "window";
    this.what.textContent = end > start
      ? `What starts in the ${what}: ${duration(end - start)} from ${at} on`
      : `The ${what} shows nothing of this trace.`;
    const texts = [`Save ${what} as .pftrace`, `Save ${what} as trace`, `Open ${what} in Perfetto`];
    this.buttons.forEach((button, i) => {
      button.textContent = texts[i];
      button.disabled = this.isBusy || end <= start;
    });
  }

  /**
   * The file of a format.
   * @param {string} format
   * @returns {Promise<{ blob: Blob, name: string }>}
   */
  async file(format) {
    const { trace, start, end } = this.part;
    const answer = await fetch(this.app.address("window", { trace, start, end, format }), { cache: "no-store" });
    if (!answer.ok) throw new Error((await answer.json()).error);
    const name = /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
    return { blob: await answer.blob(), name: name ?? "window" };
  }

  /**
   * @param {string} words
   * @param {() => Promise<string>} work what to say in the end
   */
  async during(words, work) {
    this.said.textContent = words;
    this.isBusy = true;
    this.update();
    try {
      this.said.textContent = await work();
    } catch (error) {
      this.said.textContent = /** @type {Error} */ (error).message;
    } finally {
      this.isBusy = false;
      this.update();
    }
  }

  /** @param {string} format */
  save(format) {
    return this.during("Writing…", async () => {
      const { blob, name } = await this.file(format);
      const address = URL.createObjectURL(blob);
      element("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      return `${name}, ${blob.size.toLocaleString("en")} bytes`;
    });
  }

  openInPerfetto() {
    const tab = perfettoTab();
    return this.during("Writing…", async () => {
      if (!tab) return "The browser did not open a tab: allow pop-ups of this page.";
      const { blob, name } = await this.file("perfetto");
      this.said.textContent = "Waiting for Perfetto's page…";
      const isTaken = await handOver(tab, await blob.arrayBuffer(), name);
      return isTaken ? "Perfetto has the window." : "Perfetto's page did not answer: save the file and open it there.";
    });
  }
}

/** @type {import("./types").Panel} */
export const panel = {
  id: "save",
  title: "Save",
  hint: "Save the window as a file, or open it in Perfetto",
  key: "o",
  mount(root, app) {
    new SavePanel(root, app);
  },
};
