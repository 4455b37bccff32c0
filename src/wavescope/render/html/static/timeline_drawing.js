"use strict";
// How a timeline looks: strips, boxes of single ops, marker ranges, the axis and the overview.
const wavescopeTimelineDrawing = (() => {
  const { firstAbove, recordedTime, duration, position } = wavescopeTimelineData;
  const AXIS = 22;
  const OVERVIEW = 14;
  const GAP = 6;
  const MARKER_ROW = 16;
  const GPU_ROW = 38;
  const QUEUE_ROW = 20;
  const LABELS = 118;
  const SMALLEST_BOX = 3;

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

  // Some tools number queues by their address: its last digits are enough to tell them apart.
  const queueName = (number) =>
    number < 1e5 ? `queue ${number}` : `queue …${number.toString(16).slice(-6)}`;

  class TimelineDrawing {
    constructor(figure, data) {
      this.figure = figure;
      this.data = data;
      this.canvas = figure.querySelector("canvas");
      this.context = this.canvas.getContext("2d", { alpha: false });
      this.tip = figure.querySelector(".tip");
      this.queues = figure.querySelector(".tools input[type=checkbox]");
      this.colouring = 0;
      this.window = [0, data.span];
      this.matches = null;
      this.selection = null;
    }

    rows() {
      const found = [];
      let top = OVERVIEW + GAP + AXIS;
      this.data.markers.lanes.forEach((lane, number) => {
        const height = lane.depth * MARKER_ROW;
        found.push({ kind: "markers", number, top, height, label: lane.thread < 0 ? "markers" : `thread ${lane.thread}` });
        top += height + GAP;
      });
      this.data.strips.forEach((strip, number) => {
        if (strip.queue !== null && !this.queues.checked) return;
        const height = strip.queue === null ? GPU_ROW : QUEUE_ROW;
        const label =
          strip.label ?? (strip.queue === null ? `GPU ${strip.gpu}` : strip.name || queueName(strip.queue));
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
        if (x < this.width - 50) context.fillText(position(at, step, to), x + 4, y + AXIS / 2);
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
      if (row.strip.busy === null) return;
      const sign = row.strip.recorded ? "\u2248 " : "";
      context.fillText(`${sign}${row.strip.busy.toFixed(1)} % busy`, 2, middle + 8, LABELS - 8);
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
      if (row.strip.recorded) this.hatch(row.strip.recorded, pixels, width, height, perPixel);
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

    // Where less than half of a pixel's time was recorded nothing is known, which is not idle.
    hatch(recorded, pixels, width, height, perPixel) {
      const line = packedColour(this.colours.line);
      const [from] = this.window;
      for (let x = 0; x < width; x += 1) {
        const start = from + x * perPixel;
        if (2 * recordedTime(recorded, start, start + perPixel) >= perPixel) continue;
        for (let y = 0; y < height; y += 1) {
          if ((x + y) % 6 < 2) pixels[y * width + x] = line;
        }
      }
    }

    // Boxes of single ops that are wide enough to be seen.
    drawOps(row) {
      const context = this.context;
      const ops = this.data.ops;
      const classes = ops.classes[this.colouring];
      const [from, to] = this.window;
      const shortest = this.shortestBox();
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
      const place = (ns) => position(ns, (to - from) / 1000, to);
      this.figure.querySelector("output.window").textContent =
        `${place(from)} to ${place(to)} (${duration(to - from)})`;
      this.figure.dataset.from = String(Math.round(from));
      this.figure.dataset.to = String(Math.round(to));
      this.figure.dataset.boxes = String(this.boxes);
    }

    // The shortest op that is drawn as a box of its own.
    shortestBox() {
      return (SMALLEST_BOX * (this.window[1] - this.window[0])) / (this.width - LABELS);
    }
  }

  return { TimelineDrawing, LABELS, OVERVIEW, MARKER_ROW };
})();
