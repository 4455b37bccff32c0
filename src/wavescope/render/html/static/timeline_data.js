"use strict";
// What a timeline draws, made from the page's packed columns.
const wavescopeTimelineData = (() => {
  // Undo deflate and the order of bytes by place.
  const bytesOf = async (column) => {
    const text = atob(column.data);
    const compressed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) compressed[i] = text.charCodeAt(i);
    const stream = new DecompressionStream("deflate");
    const writer = stream.writable.getWriter();
    writer.write(compressed);
    writer.close();
    return new Uint8Array(await new Response(stream.readable).arrayBuffer());
  };

  // Integers of 1, 2 or 4 bytes as such, of 8 as doubles.
  const unpacked = async (column) => {
    const { bytes: width, length } = column;
    const planes = await bytesOf(column);
    if (width === 1) return planes;
    const values = new { 2: Uint16Array, 4: Uint32Array, 8: Float64Array }[width](length);
    for (let place = width - 1; place >= 0; place -= 1) {
      const plane = planes.subarray(place * length, (place + 1) * length);
      for (let i = 0; i < length; i += 1) values[i] = values[i] * 256 + plane[i];
    }
    return values;
  };

  // Steps become times again; each group starts anew.
  const times = async (column, groups) => {
    const steps = await unpacked(column);
    const found = new Float64Array(steps.length);
    for (let i = 0; i < steps.length; i += 1) {
      found[i] = i > 0 && groups[i] === groups[i - 1] ? found[i - 1] + steps[i] : steps[i];
    }
    return found;
  };

  // Rows of a group lie together: where each begins, and the latest end up to each row.
  const ranges = (groups, count, starts, durations) => {
    const first = new Uint32Array(count + 1);
    for (const group of groups) first[group + 1] += 1;
    for (let i = 0; i < count; i += 1) first[i + 1] += first[i];
    const latest = new Float64Array(starts.length);
    for (let i = 0; i < starts.length; i += 1) {
      const end = starts[i] + durations[i];
      latest[i] = i > 0 && groups[i] === groups[i - 1] ? Math.max(latest[i - 1], end) : end;
    }
    return { first, latest };
  };

  // A strip's levels of detail: each level has half as many bins as the one before.
  const levels = (finest, classes, bins) => {
    const found = [{ values: finest, bins }];
    while (bins > 512) {
      const half = Math.ceil(bins / 2);
      const from = found.at(-1).values;
      const values = new Float32Array(classes * half);
      for (let c = 0; c < classes; c += 1) {
        for (let b = 0; b < half; b += 1) {
          const at = c * bins + 2 * b;
          const right = 2 * b + 1 < bins ? from[at + 1] : 0;
          values[c * half + b] = (from[at] + right) / 2;
        }
      }
      bins = half;
      found.push({ values, bins });
    }
    return found;
  };

  const load = async (data) => {
    const ops = data.ops;
    const markers = data.markers;
    const [shares, strip, duration, name, classes, lane, depth, markerDuration, markerName] =
      await Promise.all([
        Promise.all(data.shares.map(unpacked)),
        unpacked(ops.strip),
        unpacked(ops.duration),
        unpacked(ops.name),
        Promise.all(ops.classes.map(unpacked)),
        unpacked(markers.lane),
        unpacked(markers.depth),
        unpacked(markers.duration),
        unpacked(markers.name),
      ]);
    const start = await times(ops.start, strip);
    const markerStart = await times(markers.start, lane);
    const cache = new Map();
    return {
      ...data,
      ops: {
        names: ops.names,
        strip,
        start,
        duration,
        name,
        classes,
        ...ranges(strip, data.strips.length, start, duration),
      },
      markers: {
        names: markers.names,
        lanes: markers.lanes,
        lane,
        depth,
        start: markerStart,
        duration: markerDuration,
        name: markerName,
        ...ranges(lane, markers.lanes.length, markerStart, markerDuration),
      },
      // The coarsest level of a strip whose bins are not wider than `width` ns.
      level: (colouring, number, width) => {
        const key = `${colouring}/${number}`;
        if (!cache.has(key)) {
          const count = data.colourings[colouring].labels.length;
          const size = count * data.bins;
          const finest = shares[colouring].subarray(number * size, (number + 1) * size);
          cache.set(key, levels(finest, count, data.bins));
        }
        const all = cache.get(key);
        const step = Math.max(0, Math.floor(Math.log2(Math.max(1, width / data.bin))));
        const place = Math.min(step, all.length - 1);
        return { ...all[place], bin: data.bin * 2 ** place };
      },
    };
  };

  // The first row in [from, to) whose value is above `limit`, of values that never decrease.
  const firstAbove = (values, from, to, limit) => {
    while (from < to) {
      const middle = (from + to) >> 1;
      if (values[middle] > limit) to = middle;
      else from = middle + 1;
    }
    return from;
  };

  const axisUnit = document.querySelector(".timeline")?.dataset.unit;

  const unitOf = (ns) =>
    ns >= 1e9 ? ["s", 1e9] : ns >= 1e6 ? ["ms", 1e6] : ns >= 1e3 ? ["us", 1e3] : ["ns", 1];

  // A place on the time axis, in the unit of `largest`, with digits enough to tell `step` apart.
  const position = (ns, step, largest) => {
    if (axisUnit) return duration(ns);
    const [unit, per] = unitOf(largest);
    const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(per / step) - 1e-9)));
    return `${(ns / per).toFixed(digits)} ${unit}`;
  };

  const duration = (ns) => {
    if (axisUnit) return `${Math.round(ns).toLocaleString("en")} ${axisUnit}`;
    const size = Math.abs(ns);
    const [unit, per] = unitOf(size);
    if (per === 1) return `${Math.round(ns)} ns`;
    const value = size / per;
    return `${(ns / per).toFixed(value >= 100 ? 1 : value >= 10 ? 2 : 3)} ${unit}`;
  };

  // How much of [from, to) lies in the slices that were recorded.
  const recordedTime = (recorded, from, to) => {
    let time = 0;
    const count = recorded.start.length;
    for (let i = firstAbove(recorded.end, 0, count, from); i < count && recorded.start[i] < to; i += 1) {
      time += Math.min(to, recorded.end[i]) - Math.max(from, recorded.start[i]);
    }
    return time;
  };

  return { load, firstAbove, recordedTime, duration, position };
})();
