// A map's data as the page carries it, unpacked: measures by rank and column, and what columns are.

import { unpacked } from "../timeline/packed_columns.js";
import { position } from "../timeline/time_text.js";
import { valueOf } from "./cells.js";
import { ownTime } from "./view_command.js";

/** @typedef {import("./cells.js").Measure} Measure */
/** @typedef {import("./view_command.js").Rank} Rank */
/** @typedef {import("../timeline/packed_columns.js").PackedColumn} PackedColumn */
/**
 * @typedef {object} CarriedMap
 * @property {"time" | "step"} kind
 * @property {number} columns
 * @property {number} [width] of a column of time, in ns
 * @property {string[]} [labels] of steps
 * @property {PackedColumn} [starts] of steps, in us of each rank's own time since its left edge
 * @property {PackedColumn} [lengths]
 * @property {(Measure & { data: PackedColumn })[]} measures
 */

export class MapData {
  /**
   * @param {CarriedMap} carried
   * @param {Rank[]} ranks
   * @param {ArrayLike<number>[]} codes of each measure
   * @param {ArrayLike<number>[]} times starts and lengths of steps
   */
  constructor(carried, ranks, codes, times) {
    this.kind = carried.kind;
    this.columns = carried.columns;
    this.width = carried.width ?? 0;
    this.labels = carried.labels ?? [];
    this.measures = carried.measures;
    this.ranks = ranks;
    this.codes = codes;
    this.times = times;
  }

  /** @param {CarriedMap} carried @param {Rank[]} ranks */
  static async unpacked(carried, ranks) {
    const codes = await Promise.all(carried.measures.map(({ data }) => unpacked(data)));
    const { starts, lengths } = carried;
    const times = starts && lengths ? await Promise.all([unpacked(starts), unpacked(lengths)]) : [];
    return new MapData(carried, ranks, codes, times);
  }

  /** @param {number} measure @param {number} rank @param {number} column */
  value(measure, rank, column) {
    return valueOf(this.measures[measure], this.codes[measure][rank * this.columns + column]);
  }

  /** @param {number} measure @param {number} rank */
  mean(measure, rank) {
    let [sum, count] = [0, 0];
    for (let column = 0; column < this.columns; column += 1) {
      const value = this.value(measure, rank, column);
      if (Number.isNaN(value)) continue;
      sum += value;
      count += 1;
    }
    return count ? sum / count : NaN;
  }

  /**
   * What a column is, in words.
   * @param {number} column
   */
  columnText(column) {
    if (this.kind === "step") return `step ${this.labels[column]}`;
    const span = this.width * this.columns;
    const place = (/** @type {number} */ at) => position(at * this.width, this.width / 10, span);
    return `${place(column)} to ${place(column + 1)}`;
  }

  /**
   * A rank's own time from the start of a column to its end; null where it has no such step.
   * @param {number} rank
   * @param {number} column
   * @returns {[bigint, bigint] | null}
   */
  window(rank, column) {
    const who = this.ranks[rank];
    if (this.kind === "time") return [ownTime(who, column * this.width), ownTime(who, (column + 1) * this.width)];
    const cell = rank * this.columns + column;
    const length = this.times[1][cell];
    if (!length) return null;
    const start = BigInt(who.left) + 1000n * BigInt(this.times[0][cell]);
    return [start, start + 1000n * BigInt(length)];
  }
}
