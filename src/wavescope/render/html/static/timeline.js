"use strict";
// What a reader does with a timeline: zoom, pan, find, and see what lies under the pointer.
(() => {
  const { load, firstAbove, recordedTime, duration } = wavescopeTimelineData;
  const { TimelineDrawing, LABELS, OVERVIEW, MARKER_ROW } = wavescopeTimelineDrawing;
  const STRIPS_WITH_QUEUES = 24;

  class Timeline extends TimelineDrawing {
    constructor(figure, data) {
      super(figure, data);
      this.word = "";
      if (this.queues) this.queues.checked = data.strips.length <= STRIPS_WITH_QUEUES;
      this.listen();
      new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
      document.addEventListener("themechange", () => this.draw());
      this.draw();
      performance.mark("timeline-drawn");
      figure.dataset.ready = "true";
    }

    show(from, to) {
      const least = 100;
      const span = Math.min(this.data.span, Math.max(least, to - from));
      const start = Math.min(Math.max(0, from), this.data.span - span);
      this.window = [start, start + span];
      this.draw();
    }

    zoom(factor, at = (this.window[0] + this.window[1]) / 2) {
      const [from, to] = this.window;
      this.show(at - (at - from) * factor, at + (to - at) * factor);
    }

    pan(share) {
      const step = (this.window[1] - this.window[0]) * share;
      this.show(this.window[0] + step, this.window[1] + step);
    }

    find(word) {
      this.word = word.trim().toLowerCase();
      const ops = this.data.ops;
      const told = this.figure.querySelector("output.matches");
      if (!this.word) {
        this.matches = null;
        told.textContent = "";
        this.draw();
        return;
      }
      this.matches = ops.names.map((name) => name.toLowerCase().includes(this.word));
      let count = 0;
      let total = 0;
      for (let i = 0; i < ops.name.length; i += 1) {
        if (!this.matches[ops.name[i]]) continue;
        count += 1;
        total += ops.duration[i];
      }
      told.textContent = `${count.toLocaleString("en")} ops, ${duration(total)}`;
      this.draw();
    }

    // Show the next match after the middle of the window; after the last the first.
    next() {
      if (!this.matches) return;
      const ops = this.data.ops;
      const middle = (this.window[0] + this.window[1]) / 2;
      let best = -1;
      let first = -1;
      for (let i = 0; i < ops.name.length; i += 1) {
        if (!this.matches[ops.name[i]]) continue;
        const centre = ops.start[i] + ops.duration[i] / 2;
        if (centre > middle + 1 && (best < 0 || ops.start[i] < ops.start[best])) best = i;
        if (first < 0 || ops.start[i] < ops.start[first]) first = i;
      }
      const found = best >= 0 ? best : first;
      if (found < 0) return;
      const centre = ops.start[found] + ops.duration[found] / 2;
      const half = Math.min((this.window[1] - this.window[0]) / 2, ops.duration[found] * 10);
      this.show(centre - half, centre + half);
    }

    lines(x, y) {
      const row = this.laid.find((r) => y >= r.top && y < r.top + r.height);
      if (!row || x < LABELS) return null;
      const at = this.ns(x);
      if (row.kind === "markers") return this.markerLines(row, at, y);
      return this.opLines(row, at) ?? this.shareLines(row, at);
    }

    opLines(row, at) {
      const ops = this.data.ops;
      const shortest = this.shortestBox();
      const stop = ops.first[row.number + 1];
      let found = -1;
      for (let i = firstAbove(ops.latest, ops.first[row.number], stop, at); i < stop && ops.start[i] <= at; i += 1) {
        if (ops.duration[i] >= shortest && ops.start[i] + ops.duration[i] > at) found = i;
      }
      if (found < 0) return null;
      const classes = this.data.colourings.map((by, c) => by.labels[ops.classes[c][found]]);
      return [
        ops.names[ops.name[found]],
        `${duration(ops.duration[found])} from ${duration(ops.start[found])}`,
        `${this.place(row)} · ${classes.join(" · ")}`,
      ];
    }

    shareLines(row, at) {
      const perPixel = (this.window[1] - this.window[0]) / (this.width - LABELS);
      const level = this.data.level(this.colouring, row.number, perPixel);
      const bin = Math.min(level.bins - 1, Math.max(0, Math.floor(at / level.bin)));
      const shares = this.data.colourings[this.colouring].labels
        .map((label, c) => [level.values[c * level.bins + bin], label])
        .filter(([share]) => share > 0)
        .sort((a, b) => b[0] - a[0]);
      const busy = Math.min(100, shares.reduce((sum, [share]) => sum + share, 0));
      const recorded = row.strip.recorded;
      const seen = recorded ? (100 * recordedTime(recorded, bin * level.bin, (bin + 1) * level.bin)) / level.bin : 100;
      return [
        recorded ? `${this.place(row)}: ${seen.toFixed(0)} % recorded` : `${this.place(row)}: ${busy.toFixed(0)} % busy`,
        `in ${duration(level.bin)} from ${duration(bin * level.bin)}`,
        ...shares.map(([share, label]) => `${share.toFixed(0)} % ${label}`),
      ];
    }

    markerLines(row, at, y) {
      const markers = this.data.markers;
      const depth = Math.floor((y - row.top) / MARKER_ROW);
      const stop = markers.first[row.number + 1];
      for (let i = firstAbove(markers.latest, markers.first[row.number], stop, at); i < stop && markers.start[i] <= at; i += 1) {
        if (markers.depth[i] !== depth || markers.start[i] + markers.duration[i] <= at) continue;
        return [
          markers.names[markers.name[i]],
          `${duration(markers.duration[i])} from ${duration(markers.start[i])}`,
          `marker of ${row.label}`,
        ];
      }
      return null;
    }

    place(row) {
      if (row.strip.label) return row.strip.name || row.label;
      return row.strip.queue === null ? row.label : `GPU ${row.strip.gpu}, ${row.label}`;
    }

    hover(x, y) {
      const lines = this.lines(x, y);
      this.tip.hidden = !lines;
      if (!lines) return;
      const parts = lines.map((line, i) => {
        const part = document.createElement(i === 0 ? "strong" : "span");
        part.textContent = line;
        return part;
      });
      this.tip.replaceChildren(...parts);
      const left = Math.min(x + 14, this.width - this.tip.offsetWidth - 4);
      this.tip.style.left = `${Math.max(0, left)}px`;
      this.tip.style.top = `${y + 18}px`;
    }

    listen() {
      const act = { in: () => this.zoom(0.5), out: () => this.zoom(2), all: () => this.show(0, this.data.span) };
      for (const button of this.figure.querySelectorAll("[data-act]")) {
        button.addEventListener("click", act[button.dataset.act]);
      }
      this.figure.querySelector("select")?.addEventListener("change", (event) => {
        this.colouring = Number(event.target.value);
        for (const legend of this.figure.querySelectorAll("[data-colouring]")) {
          legend.hidden = legend.dataset.colouring !== event.target.value;
        }
        this.draw();
      });
      this.queues?.addEventListener("change", () => this.draw());
      const search = this.figure.querySelector("input[type=search]");
      search.addEventListener("input", () => this.find(search.value));
      search.addEventListener("keydown", (event) => event.key === "Enter" && this.next());
      this.canvas.addEventListener("keydown", (event) => this.key(event));
      this.canvas.addEventListener("dblclick", (event) => this.zoom(0.25, this.ns(event.offsetX)));
      this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
      this.drag();
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const keys = {
        w: () => this.zoom(0.5),
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        s: () => this.zoom(2),
        "-": () => this.zoom(2),
        a: () => this.pan(-0.25),
        ArrowLeft: () => this.pan(-0.25),
        d: () => this.pan(0.25),
        ArrowRight: () => this.pan(0.25),
        Home: () => this.show(0, this.data.span),
      };
      const done = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!done) return;
      event.preventDefault();
      done();
    }

    wheel(event) {
      if (event.ctrlKey || event.metaKey || event.shiftKey) {
        event.preventDefault();
        const delta = event.deltaY || event.deltaX;
        this.zoom(1.2 ** Math.max(-3, Math.min(3, delta / 50)), this.ns(event.offsetX));
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.pan(event.deltaX / this.width);
      }
    }

    drag() {
      let held = null;
      this.canvas.addEventListener("pointerdown", (event) => {
        held = { x: event.offsetX, window: this.window, isRange: event.shiftKey, isOverview: event.offsetY < OVERVIEW };
        this.canvas.setPointerCapture(event.pointerId);
        if (held.isOverview) this.centre(event.offsetX);
      });
      this.canvas.addEventListener("pointermove", (event) => {
        if (!held) {
          this.hover(event.offsetX, event.offsetY);
          return;
        }
        this.tip.hidden = true;
        if (held.isOverview) {
          this.centre(event.offsetX);
        } else if (held.isRange) {
          this.selection = [held.x, event.offsetX];
          this.draw();
        } else {
          const perPixel = (held.window[1] - held.window[0]) / (this.width - LABELS);
          const moved = (held.x - event.offsetX) * perPixel;
          this.show(held.window[0] + moved, held.window[1] + moved);
        }
      });
      this.canvas.addEventListener("pointerup", () => {
        const range = this.selection;
        held = null;
        this.selection = null;
        if (range) this.show(this.ns(Math.min(...range)), this.ns(Math.max(...range)));
      });
    }

    centre(x) {
      const at = ((x - LABELS) / (this.width - LABELS)) * this.data.span;
      const half = (this.window[1] - this.window[0]) / 2;
      this.show(at - half, at + half);
    }
  }

  const timelines = new Map();
  for (const figure of document.querySelectorAll(".timeline")) {
    const source = document.getElementById(figure.dataset.source);
    const made = load(JSON.parse(source.textContent)).then((data) => new Timeline(figure, data));
    timelines.set(figure.dataset.source, made);
  }

  // Rows of tables lead to their place on the timeline.
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", async () => {
      const timeline = await timelines.get(button.dataset.timeline);
      const [from, to] = button.dataset.zoom.split(" ").map(Number);
      const margin = Math.max(500, (to - from) * 0.5);
      timeline.show(from - margin, to + margin);
      timeline.figure.scrollIntoView({ block: "center", behavior: "auto" });
      timeline.canvas.focus({ preventScroll: true });
    });
  }
})();
