// What is under the pointer, as a tip, and what keys have selected, for screen readers: in words, as
// soon as its name is there.

import { HoverTip, NO_NAME_YET } from "./hover_tip.js";

/** @typedef {import("../timeline/types").Hit} Hit */

export class PointedAt {
  /**
   * @param {{ stage: HTMLElement, heard: HTMLElement }} parts
   * @param {(hit: Hit) => string[]} linesOf
   */
  constructor({ stage, heard }, linesOf) {
    this.tip = new HoverTip(stage);
    this.heard = heard;
    this.linesOf = linesOf;
    /** @type {Hit | null} what is under the pointer, while its name is on its way */
    this.tipped = null;
    /** @type {Hit | null} what was selected, until it is said */
    this.toSay = null;
  }

  /** @param {Hit | null} hit */
  show(hit) {
    if (!hit) {
      this.tip.hide();
      return;
    }
    const lines = this.linesOf(hit);
    this.tipped = lines[0] === NO_NAME_YET ? hit : null;
    this.tip.show(lines, hit.x, hit.y);
  }

  hide() {
    this.tip.hide();
  }

  /** @param {Hit} hit */
  say(hit) {
    this.toSay = hit;
    this.tellNames();
  }

  /** Names that were on their way when they were to be told. */
  tellNames() {
    if (this.tipped && !this.tip.tip.hidden) this.show(this.tipped);
    const lines = this.toSay && this.linesOf(this.toSay);
    if (!lines || lines[0] === NO_NAME_YET) return;
    this.toSay = null;
    this.heard.textContent = lines.join(", ");
  }
}
