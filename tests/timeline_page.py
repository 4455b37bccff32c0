"""A page with one timeline of the viewer's kind, over a source that holds its ranges in a list."""

from __future__ import annotations

from pathlib import Path

from wavescope.render.html.modules import joined_script

STATIC = Path(__file__).parents[1] / "src" / "wavescope" / "render" / "html" / "static"
FIGURE_STYLE = ".timeline .stage { width: 900px; height: 260px; } body { margin: 0; }"
SOURCE = """
import { Timeline } from "./timeline/timeline.js";

const rowOf = (id, kind, more = {}) => ({ id, kind, label: id, detail: "", parent: "", depth: 1, planes: 1, count: 0,
  unit: "", isFolded: false, recorded: null, table: "ops", ...more });

/** Shares and boxes by looking at every range for every pixel. */
class ListedSource {
  constructor(span, rows) {
    Object.assign(this, { span, origin: "0", rows, onChange: null, asked: [], isLate: false, kept: new Map() });
    this.colourings = [{ id: "c", title: "", labels: ["a", "b"], series: [0, 1] }];
  }
  once(what, row, viewport, find) {
    const key = `${what} ${row.id} ${viewport.scale} ${viewport.first}`;
    this.asked.push(`${what} ${row.id} ${viewport.first / 512}`);
    if (!this.kept.has(key)) {
      if (this.isLate) return null;
      this.kept.set(key, find());
    }
    return this.kept.get(key);
  }
  columns(row, colouring, viewport) {
    return this.once("columns", row, viewport, () => {
      const { scale, first, count } = viewport;
      const shares = new Uint8Array(row.planes * 2 * count);
      const means = row.kind === "series" ? Float32Array.from({ length: count }, (_, x) => row.value((first + x) * scale)) : null;
      for (const range of row.ranges ?? []) {
        const plane = row.planes > 1 ? range.depth : 0;
        for (let x = 0; x < count; x += 1) {
          const from = (first + x) * scale;
          const time = Math.min(range.start + range.duration, from + scale) - Math.max(range.start, from);
          const at = (2 * plane + range.class) * count + x;
          if (time > 0) shares[at] = Math.max(1, Math.min(255, shares[at] + Math.round((255 * time) / scale)));
        }
      }
      return { first, count, classes: [0, 1], shares, means, isExact: true };
    });
  }
  boxes(row, colouring, viewport) {
    return this.once("boxes", row, viewport, () => {
      const { scale, first, count } = viewport;
      const found = (row.ranges ?? []).filter(({ start, duration }) =>
        (duration === 0 || duration >= 3 * scale) && start < (first + count) * scale && start + Math.max(1, duration) > first * scale);
      const of = (name) => found.map((range) => range[name]);
      return { length: found.length, depth: Uint16Array.from(of("depth")), start: Float64Array.from(of("start")),
        duration: Float64Array.from(of("duration")), name: Int32Array.from(of("name")),
        row: Uint32Array.from(found, (range) => row.ranges.indexOf(range)), class: Uint8Array.from(of("class")) };
    });
  }
  nameOf(row, name) {
    return `name ${name}`;
  }
}

const told = { hover: null, select: [], range: [], window: null, layout: [], boxes: 0 };
const options = { labelWidth: 100, height: "scroll", wheel: "zoom", shiftDrag: "range",
  onHover: (hit) => { told.hover = hit; }, onSelect: (hit) => told.select.push(hit), onRange: (range) => told.range.push(range),
  onViewport: (shown) => { told.window = [shown.from, shown.to]; },
  onLayout: (rows) => { told.layout = rows.map((laid) => [laid.row.id, laid.top, laid.height]); },
  onDraw: (boxes) => { told.boxes = boxes; } };
window.told = told;
window.start = (span, rows, more) => {
  window.source = new ListedSource(span, rows);
  window.timeline = new Timeline(document.querySelector(".timeline"), window.source, { ...options, ...more });
};
window.rowOf = rowOf;
window.pixel = (x, y) => [...window.timeline.pen.getImageData(x, y, 1, 1).data].slice(0, 3).join();
"""


def write_timeline_page(folder: Path) -> Path:
    """The page; a test calls its `start(span, rows, options)`."""
    script = joined_script(
        ["test.js"], lambda path: SOURCE if path == "test.js" else (STATIC / path).read_text()
    )
    page = folder / "timeline.html"
    style = (STATIC / "page.css").read_text() + FIGURE_STYLE
    page.write_text(
        f"<!DOCTYPE html><html class=scripted><head><meta charset=utf-8><style>{style}</style></head><body>"
        '<figure class="timeline"><div class="stage"><canvas tabindex="0"></canvas></div></figure>'
        f"<script>{script}</script></body></html>",
        encoding="utf-8",
    )
    return page
