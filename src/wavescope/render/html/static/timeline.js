"use strict";
// Draws timelines: zoom, pan, find, and what lies under the pointer.
(() => {
  const { load, firstAbove, duration } = wavescopeTimelineData;
  const AXIS = 22;
  const OVERVIEW = 14;
  const GAP = 6;
  const MARKER_ROW = 16;
  const GPU_ROW = 38;
  const QUEUE_ROW = 20;
  const LABELS = 118;
  const SMALLEST_BOX = 3;
  const STRIPS_WITH_QUEUES = 24;

  class Timeline {
    constructor(figure, data) {
      this.figure = figure;
      this.data = data;
      this.canvas = figure.querySelector("canvas");
      this.context = this.canvas.getContext("2d", { alpha: false });
      this.tip = figure.querySelector(".tip");
      this.colouring = 0;
      this.window = [0, data.span];
      this.word = "";
      this.matches = null;
      this.queues = figure.querySelector(".tools input[type=checkbox]");
      if (this.queues) this.queues.checked = data.strips.length <= STRIPS_WITH_QUEUES;
      this.listen();
      new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
      for (const name of ["themechange", "beforeprint"]) {
        (name === "beforeprint" ? window : document).addEventListener(name, () => this.draw());
      }
      figure.dataset.ready = "true";
    }

    // ---- what is where

    rows() {
      const found = [];
      let top = OVERVIEW + GAP + AXIS;
      this.data.markers.lanes.forEach((lane, number) => {
        const height = lane.depth * MARKER_ROW;
        found.push({ kind: "markers", number, top, height, label: `thread ${lane.thread}` });
        top += height + GAP;
      });
      this.data.strips.forEach((strip, number) => {
        if (strip.queue !== null && !this.queues.checked) return;
        const height = strip.queue === null ? GPU_ROW : QUEUE_ROW;
        const label = strip.queue === null ? `GPU ${strip.gpu}` : `queue ${strip.queue}`;
        found.push({ kind: "strip", number, top, height, label, strip });
        top += height + (strip.queue === null ? 3 : 2);
        const next = this.data.strips[number + 1];
        if (next && next.queue === null) top += GAP;
      });
      return { rows: found, height: top + 4 };
    }

    x(ns) {
      return LABELS + ((ns - this.window[0]) / (this.window[1] - this.window[0])) * (this.width - LABELS);
    }

    ns(x) {
      return this.window[0] + ((x - LABELS) / (this.width - LABELS)) * (this.window[1] - this.window[0]);
    }

    // ---- moving

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

    // ---- drawing

    palette() {
      const style = (text) => getComputedStyle(this.figure).getPropertyValue(text).trim();
      const swatches = [...this.figure.querySelectorAll(`[data-colouring="${this.colouring}"] .swatch`)];
      const probe = this.tip;
      const resolved = (name) => {
        probe.style.color = `var(${name})`;
        const found = getComputedStyle(probe).color;
        probe.style.color = "";
        return found;
      };
      return {
        classes: swatches.map((swatch) => getComputedStyle(swatch).backgroundColor),
        ground: resolved("--panel"),
        idle: resolved("--idle"),
        text: resolved("--text"),
        soft: resolved("--soft"),
        line: resolved("--line"),
        accent: resolved("--accent"),
        marker: [resolved("--marker-a"), resolved("--marker-b")],
        markerText: resolved("--text"),
        font: style("--sans") || "sans-serif",
      };
    }

    draw() {
      const { rows, height } = this.rows();
      const scale = window.devicePixelRatio || 1;
      this.width = this.canvas.parentElement.clientWidth;
      if (!this.width) return;
      this.canvas.width = Math.round(this.width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.width = `${this.width}px`;
      this.canvas.style.height = `${height}px`;
      const context = this.context;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      this.colours = this.palette();
      context.fillStyle = this.colours.ground;
      context.fillRect(0, 0, this.width, height);
      this.laid = rows;
      this.boxes = 0;
      this.drawAxis(height);
      for (const row of rows) {
        if (row.kind === "markers") this.drawMarkers(row);
        else this.drawStrip(row, scale);
        this.drawLabel(row);
      }
      this.drawOverview();
      this.tell();
    }

    drawAxis(height) {
      const context = this.context;
      const [from, to] = this.window;
      const wanted = (to - from) / Math.max(2, (this.width - LABELS) / 110);
      const decade = 10 ** Math.floor(Math.log10(wanted));
      const step = [1, 2, 5, 10].map((n) => n * decade).find((n) => n >= wanted);
      context.font = `11px ${this.colours.font}`;
      context.textBaseline = "middle";
      context.textAlign = "left";
      const y = OVERVIEW + GAP;
      for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
        const x = Math.round(this.x(at)) + 0.5;
        context.fillStyle = this.colours.line;
        context.fillRect(x, y + 4, 1, height);
        context.fillStyle = this.colours.soft;
        if (x < this.width - 50) context.fillText(duration(at), x + 4, y + AXIS / 2);
      }
    }

    drawLabel(row) {
      const context = this.context;
      context.fillStyle = this.colours.ground;
      context.fillRect(0, row.top - 1, LABELS - 4, row.height + 2);
      context.textAlign = "left";
      context.textBaseline = "middle";
      const isGpu = row.kind === "strip" && row.strip.queue === null;
      context.fillStyle = isGpu ? this.colours.text : this.colours.soft;
      context.font = `${isGpu ? "600 12.5px" : "11px"} ${this.colours.font}`;
      const middle = row.top + row.height / 2;
      context.fillText(row.label, isGpu ? 2 : 12, isGpu ? middle - 7 : middle, LABELS - 18);
      if (!isGpu) return;
      context.fillStyle = this.colours.soft;
      context.font = `11px ${this.colours.font}`;
      context.fillText(`${row.strip.busy.toFixed(1)} % busy`, 2, middle + 8, LABELS - 8);
    }

    // A strip's columns of pixels: each class of ops takes its share of the height.
    drawStrip(row, scale) {
      const context = this.context;
      const left = Math.round(LABELS * scale);
      const width = this.canvas.width - left;
      const height = Math.round(row.height * scale);
      const top = Math.round(row.top * scale);
      const image = context.createImageData(width, height);
      const pixels = new Uint32Array(image.data.buffer);
      const faint = this.matches ? 0.25 : 1;
      const [from, to] = this.window;
      const perPixel = (to - from) / width;
      const level = this.data.level(this.colouring, row.number, perPixel);
      const count = this.colours.classes.length;
      const idle = packedColour(this.colours.idle);
      const colours = this.colours.classes.map((colour) =>
        packedColour(colour, faint, this.colours.idle),
      );
      pixels.fill(idle);
      for (let x = 0; x < width; x += 1) {
        const first = Math.max(0, Math.floor((from + x * perPixel) / level.bin));
        const stop = Math.min(level.bins, Math.max(first + 1, Math.ceil((from + (x + 1) * perPixel) / level.bin)));
        let y = height;
        for (let c = 0; c < count && y > 0; c += 1) {
          let sum = 0;
          for (let b = first; b < stop; b += 1) sum += level.values[c * level.bins + b];
          if (sum <= 0) continue;
          const tall = Math.max(1, Math.round((sum / (stop - first) / 100) * height));
          const end = Math.max(0, y - tall);
          for (let p = y - 1; p >= end; p -= 1) pixels[p * width + x] = colours[c];
          y = end;
        }
      }
      context.putImageData(image, left, top);
      this.drawOps(row);
    }

    // Boxes of single ops that are wide enough to be seen.
    drawOps(row) {
      const context = this.context;
      const ops = this.data.ops;
      const classes = ops.classes[this.colouring];
      const [from, to] = this.window;
      const shortest = (SMALLEST_BOX * (to - from)) / (this.width - LABELS);
      const stop = ops.first[row.number + 1];
      context.font = `11px ${this.colours.font}`;
      context.textBaseline = "middle";
      context.textAlign = "left";
      for (let i = firstAbove(ops.latest, ops.first[row.number], stop, from); i < stop && ops.start[i] < to; i += 1) {
        if (ops.duration[i] < shortest || ops.start[i] + ops.duration[i] <= from) continue;
        const x = Math.max(LABELS, this.x(ops.start[i]));
        const end = Math.min(this.width, this.x(ops.start[i] + ops.duration[i]));
        const isMatch = !this.matches || this.matches[ops.name[i]];
        context.fillStyle = this.colours.ground;
        context.fillRect(x, row.top, end - x, row.height);
        context.globalAlpha = isMatch ? 1 : 0.25;
        context.fillStyle = this.colours.classes[classes[i]];
        context.fillRect(x + 0.25, row.top, Math.max(1, end - x - 0.75), row.height);
        context.globalAlpha = 1;
        this.boxes += 1;
        if (end - x > 34) {
          context.fillStyle = isMatch ? textOn(this.colours.classes[classes[i]]) : this.colours.soft;
          this.text(ops.names[ops.name[i]], x + 4, row.top + row.height / 2 + 0.5, end - x - 7);
        }
      }
    }

    drawMarkers(row) {
      const context = this.context;
      const markers = this.data.markers;
      const [from, to] = this.window;
      const stop = markers.first[row.number + 1];
      context.font = `11px ${this.colours.font}`;
      context.textBaseline = "middle";
      for (let i = firstAbove(markers.latest, markers.first[row.number], stop, from); i < stop && markers.start[i] < to; i += 1) {
        const x = Math.max(LABELS, this.x(markers.start[i]));
        const end = Math.min(this.width, this.x(markers.start[i] + markers.duration[i]));
        if (end <= LABELS || end - x < 0.3) continue;
        const y = row.top + markers.depth[i] * MARKER_ROW;
        context.fillStyle = this.colours.marker[markers.name[i] % 2];
        context.fillRect(x, y, Math.max(1, end - x - 0.75), MARKER_ROW - 1.5);
        if (end - x > 30) {
          context.fillStyle = this.colours.markerText;
          this.text(markers.names[markers.name[i]], x + 4, y + MARKER_ROW / 2 - 0.5, end - x - 7);
        }
      }
    }

    // Text cut to a width; letters are about as wide as on average.
    text(text, x, y, width) {
      const fits = Math.floor(width / 5.8);
      this.context.fillText(text.length > fits ? `${text.slice(0, Math.max(1, fits - 1))}…` : text, x, y, width + 2);
    }

    drawOverview() {
      const context = this.context;
      const all = this.width - LABELS;
      context.fillStyle = this.colours.idle;
      context.fillRect(LABELS, 2, all, OVERVIEW - 4);
      const strips = this.data.strips.filter((strip) => strip.queue === null);
      context.fillStyle = this.colours.soft;
      const perPixel = this.data.span / all;
      const count = this.colours.classes.length;
      const found = strips.map((strip) => this.data.level(this.colouring, this.data.strips.indexOf(strip), perPixel));
      for (let x = 0; x < all && found.length; x += 1) {
        let sum = 0;
        for (const level of found) {
          const bin = Math.min(level.bins - 1, Math.floor((x * perPixel) / level.bin));
          for (let c = 0; c < count; c += 1) sum += level.values[c * level.bins + bin];
        }
        const tall = Math.min(1, sum / 100 / found.length) * (OVERVIEW - 4);
        context.fillRect(LABELS + x, OVERVIEW - 2 - tall, 1, tall);
      }
      const left = LABELS + (this.window[0] / this.data.span) * all;
      const right = LABELS + (this.window[1] / this.data.span) * all;
      context.strokeStyle = this.colours.accent;
      context.lineWidth = 2;
      context.strokeRect(left + 1, 1, Math.max(3, right - left - 2), OVERVIEW - 2);
      context.fillStyle = this.colours.soft;
      context.font = `11px ${this.colours.font}`;
      context.textBaseline = "middle";
      context.fillText("everything", 2, OVERVIEW / 2, LABELS - 8);
      if (this.selection) {
        context.globalAlpha = 0.2;
        context.fillStyle = this.colours.accent;
        const [a, b] = this.selection;
        context.fillRect(Math.min(a, b), OVERVIEW + GAP, Math.abs(b - a), this.canvas.height);
        context.globalAlpha = 1;
      }
    }

    tell() {
      const [from, to] = this.window;
      this.figure.querySelector("output.window").textContent =
        `${duration(from)} to ${duration(to)} (${duration(to - from)})`;
      this.figure.dataset.from = String(Math.round(from));
      this.figure.dataset.to = String(Math.round(to));
      this.figure.dataset.boxes = String(this.boxes);
    }

    // ---- finding

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

    // ---- what is under the pointer

    lines(x, y) {
      const row = this.laid.find((r) => y >= r.top && y < r.top + r.height);
      if (!row || x < LABELS) return null;
      const at = this.ns(x);
      if (row.kind === "markers") return this.markerLines(row, at, y);
      return this.opLines(row, at) ?? this.shareLines(row, at);
    }

    opLines(row, at) {
      const ops = this.data.ops;
      const [from, to] = this.window;
      const shortest = (SMALLEST_BOX * (to - from)) / (this.width - LABELS);
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
      return [
        `${this.place(row)}: ${busy.toFixed(0)} % busy`,
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

    // ---- input

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

  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);

  // A colour as canvas pixels hold it, mixed with another where it is to be faint.
  const packedColour = (colour, strength = 1, other = colour) => {
    const to = channels(other);
    const [r, g, b] = channels(colour).map((value, i) => Math.round(value * strength + to[i] * (1 - strength)));
    return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  };

  const textOn = (colour) => {
    const [r, g, b] = channels(colour);
    return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#14171d" : "#ffffff";
  };

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
