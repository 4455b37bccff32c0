// What surrounds the rows: the axis, labels, and the overview of everything.

import { cutText } from "./boxes.js";
import { emptyCanvas } from "./canvases.js";
import { AXIS, OVERVIEW } from "./layout.js";
import { axisStep, position } from "./time_text.js";
import { BLOCK } from "./time_window.js";

/** @typedef {import("./types").LaidRow} LaidRow */
/** @typedef {import("./types").Row} Row */
/** @typedef {import("./colours.js").Palette} Palette */
/** @typedef {import("./row_pictures.js").RowPictures} RowPictures */
/**
 * Where a frame is drawn; lengths are CSS pixels.
 * @typedef {object} Frame
 * @property {CanvasRenderingContext2D} pen scaled to CSS pixels
 * @property {Palette} palette
 * @property {number} left where the strips begin
 * @property {number} width
 * @property {number} height
 * @property {number} ratio
 * @property {string} unit of the axis
 */

const TICK = 110;
const LAST_LABEL = 50;

/**
 * @param {Frame} frame
 * @param {import("./time_window.js").TimeWindow} shown
 * @param {number} top
 */
export const drawAxis = (frame, shown, top) => {
  const { pen, palette, left, width, height, ratio, unit } = frame;
  const step = axisStep(shown.length / Math.max(2, (width - left) / TICK));
  pen.font = `11px ${palette.font}`;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  for (let at = Math.ceil(shown.from / step) * step; at <= shown.to; at += step) {
    const x = Math.round(left + shown.pixelOf(at) / ratio);
    pen.fillStyle = palette.line;
    pen.fillRect(x, top + 4, 1, height);
    pen.fillStyle = palette.soft;
    if (x < width - LAST_LABEL) pen.fillText(position(at, step, shown.to, unit), x + 4, top + AXIS / 2);
  }
};

/** @param {Frame} frame @param {LaidRow} laid */
export const drawLabel = (frame, laid) => {
  const { pen, palette, left } = frame;
  const { row, top, height } = laid;
  const isHead = row.kind === "gpu" || row.kind === "group";
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  pen.fillStyle = isHead ? palette.text : palette.soft;
  pen.font = `${isHead ? "600 12.5px" : "11px"} ${palette.font}`;
  const middle = top + height / 2;
  const hasDetail = row.detail !== "" && height >= 30;
  const x = isHead ? 2 : 12;
  pen.fillText(cutText(row.label, 1.4 * (left - x)), x, hasDetail ? middle - 7 : middle, left - x - 6);
  if (!hasDetail) return;
  pen.fillStyle = palette.soft;
  pen.font = `11px ${palette.font}`;
  pen.fillText(row.detail, x, middle + 8, left - x - 6);
};

/**
 * The rows whose work the overview shows.
 * @param {readonly Row[]} rows
 */
export const overviewRows = (rows) => {
  const gpus = rows.filter((row) => row.kind === "gpu");
  return gpus.length ? gpus : rows.filter((row) => row.kind === "queue");
};

/**
 * Busy shares of the whole span: for each device pixel the mean of the rows.
 * @param {RowPictures} pictures
 * @param {readonly Row[]} rows
 * @param {number} span
 * @param {number} count device pixels
 */
export const busyShares = (pictures, rows, span, count) => {
  const busy = new Float32Array(count);
  const scale = span / count;
  for (const row of rows) {
    for (let number = 0; number * BLOCK < count; number += 1) {
      const { columns } = pictures.seen(row, scale, number);
      if (!columns) continue;
      const end = Math.min(count, columns.first + columns.count);
      for (let c = 0; c < columns.classes.length; c += 1) {
        for (let x = columns.first; x < end; x += 1) {
          busy[x] += columns.shares[c * columns.count + x - columns.first] / (255 * rows.length);
        }
      }
    }
  }
  return busy;
};

/**
 * The busy shares as a picture of one device pixel each.
 * @param {Float32Array} busy
 * @param {number} height device pixels
 * @param {Palette} palette
 */
export const busyPicture = (busy, height, palette) => {
  const picture = emptyCanvas(busy.length, height);
  const pen = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
  pen.fillStyle = palette.idle;
  pen.fillRect(0, 0, busy.length, height);
  pen.fillStyle = palette.soft;
  busy.forEach((share, x) => {
    const tall = share > 0 ? Math.max(1, Math.round(Math.min(1, share) * height)) : 0;
    if (tall) pen.fillRect(x, height - tall, 1, tall);
  });
  return picture;
};

/**
 * @param {Frame} frame
 * @param {HTMLCanvasElement} picture
 * @param {ArrayLike<number> | null} marks
 * @param {import("./time_window.js").TimeWindow} shown
 */
export const drawOverview = (frame, picture, marks, shown) => {
  const { pen, palette, left, width } = frame;
  const all = width - left;
  pen.drawImage(picture, left, 2, all, OVERVIEW - 4);
  pen.fillStyle = palette.accent;
  for (let i = 0; marks && i < marks.length; i += 1) {
    if (marks[i] > 0) pen.fillRect(left + (i / marks.length) * all, 0, Math.max(1.5, all / marks.length), OVERVIEW - 6);
  }
  const from = left + (shown.from / shown.span) * all;
  const to = left + (shown.to / shown.span) * all;
  pen.strokeStyle = palette.accent;
  pen.lineWidth = 2;
  pen.strokeRect(from + 1, 1, Math.max(3, to - from - 2), OVERVIEW - 2);
};
