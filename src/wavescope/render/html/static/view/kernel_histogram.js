// How often a kernel took how long, on a logarithmic axis.

import { duration } from "../timeline/time_text.js";

const NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * @param {number[]} counts
 * @param {number[]} edges one more than counts
 * @param {{ width: number, height: number }} size
 */
export function histogramPicture(counts, edges, { width, height }) {
  const picture = made("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "kernel-histogram", role: "img" });
  const first = counts.findIndex((count) => count > 0);
  if (first < 0) return picture;
  let last = counts.length - 1;
  while (counts[last] === 0) last -= 1;
  const most = Math.max(...counts.slice(first, last + 1));
  const step = width / (last - first + 1);
  for (let bin = first; bin <= last; bin += 1) {
    if (!counts[bin]) continue;
    // A bin that has any is seen, however small its share.
    const high = Math.max(1, (counts[bin] / most) * height);
    const bar = made("rect", { x: (bin - first) * step, y: height - high, width: Math.max(1, Math.min(step - 0.5, 12)), height: high });
    bar.append(titled(`${duration(edges[bin])} to ${duration(edges[bin + 1])}: ${counts[bin].toLocaleString("en")}`));
    picture.append(bar);
  }
  picture.setAttribute("aria-label", `${duration(edges[first])} to ${duration(edges[last + 1])}`);
  return picture;
}

/** @param {string} text */
function titled(text) {
  const title = made("title", {});
  title.textContent = text;
  return title;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
function made(tag, attributes) {
  const found = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, String(value));
  return found;
}
