// What lies under the pointer, in words.

import { duration } from "../timeline/time_text.js";
import { element } from "./elements.js";

/** @typedef {import("../timeline/types").Hit} Hit */
/** @typedef {import("../timeline/types").Colouring} Colouring */

const MOST_SHARES = 8;
/** Where a name will stand that is on its way. */
export const NO_NAME_YET = "…";

/**
 * @param {Hit} hit
 * @param {string} name whole, of the box
 * @param {Colouring | undefined} colouring
 * @param {number} scale ns of a pixel
 * @returns {string[]}
 */
export function tipLines(hit, name, colouring, scale) {
  const { row, box } = hit;
  const labelOf = (/** @type {number} */ number) => colouring?.labels[number] ?? "";
  if (box) {
    const time = box.duration > 0 ? `${duration(box.duration)} from ${duration(box.start)}` : `at ${duration(box.start)}`;
    return [name || NO_NAME_YET, time, [row.label, labelOf(box.class)].filter(Boolean).join(" · ")];
  }
  if (hit.value !== null) {
    const value = Number.isNaN(hit.value) ? "not known" : `${Number(hit.value.toPrecision(4))} ${row.unit}`.trim();
    return [`${row.label}: ${value}`, `at ${duration(hit.time)}`];
  }
  const busy = hit.shares.reduce((sum, { share }) => sum + share, 0);
  return [
    `${row.label}: ${percent(Math.min(1, busy))} busy`,
    `in ${duration(Math.max(1, scale))} at ${duration(hit.time)}`,
    ...hit.shares.slice(0, MOST_SHARES).map(({ class: number, share }) => `${percent(share)} ${labelOf(number)}`),
  ];
}

/** @param {number} share */
function percent(share) {
  return `${(100 * share).toFixed(share > 0 && share < 0.01 ? 1 : 0)} %`;
}

export class HoverTip {
  /** @param {HTMLElement} stage */
  constructor(stage) {
    this.stage = stage;
    this.tip = element("div", { class: "tip", role: "tooltip", hidden: true });
    stage.append(this.tip);
  }

  hide() {
    this.tip.hidden = true;
  }

  /**
   * @param {string[]} lines
   * @param {number} x
   * @param {number} y
   */
  show(lines, x, y) {
    this.tip.hidden = false;
    this.tip.replaceChildren(...lines.map((text, i) => element(i ? "span" : "strong", { text })));
    const { clientWidth, clientHeight } = this.stage;
    const { offsetWidth, offsetHeight } = this.tip;
    const below = y + 18 + offsetHeight < clientHeight;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, clientWidth - offsetWidth - 4))}px`;
    this.tip.style.top = `${Math.max(0, below ? y + 18 : y - offsetHeight - 8)}px`;
  }
}
