import assert from "node:assert/strict";
import test from "node:test";

import { JoinedSource } from "../../src/wavescope/render/html/static/view/joined_source.js";
import { ServedSource } from "../../src/wavescope/render/html/static/view/served_source.js";
import { TILE, TileCache } from "../../src/wavescope/render/html/static/view/tile_cache.js";
import { cutTile, decodeTiles, tileBytes } from "../../src/wavescope/render/html/static/view/tile_decoder.js";

const COLUMNS = [["depth", Uint16Array], ["start", Float64Array], ["duration", Float64Array], ["name", Int32Array], ["row", Uint32Array], ["class", Uint8Array]];

/** An answer of the server, as the contract of tiles has it. */
function encoded(version, rows) {
  const blocks = [];
  let size = 0;
  const add = (array) => {
    const place = size;
    const bytes = new Uint8Array(Math.ceil(array.byteLength / 8) * 8);
    bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    blocks.push(bytes);
    size += bytes.length;
    return place;
  };
  const described = rows.map(({ id, classes, planes = 1, shares, means = null, boxes = [] }) => ({
    id, classes, planes,
    shares: add(shares),
    means: means && add(means),
    boxes: Object.fromEntries([["count", boxes.length], ...COLUMNS.map(([name, Type]) => [name, add(Type.from(boxes, (box) => box[name] ?? 0))])]),
  }));
  let header = JSON.stringify({ version, rows: described });
  while ((4 + header.length) % 8) header += " ";
  const answer = new Uint8Array(4 + header.length + size);
  new DataView(answer.buffer).setUint32(0, header.length, true);
  answer.set(new TextEncoder().encode(header), 4);
  let at = 4 + header.length;
  for (const block of blocks) {
    answer.set(block, at);
    at += block.length;
  }
  return answer.buffer;
}

/** A server whose share in pixel k is k % 200 + 1, and that has a box in each 600 pixels. */
class Server {
  constructor() {
    this.asked = [];
    this.isUp = true;
    this.version = 1;
    this.problem = null;
    this.held = null;
  }

  async bytes(name, { rows, scale, first, count, offset, by }, { signal } = {}) {
    this.asked.push({ rows, scale, first, count, by, ...(offset ? { offset } : {}) });
    if (this.held) await this.held;
    if (signal?.aborted) throw Object.assign(new Error("aborted"), { name: "AbortError" });
    if (this.problem) throw new Error(this.problem);
    const boxes = [];
    for (let begin = 0; begin < first + count; begin += 600) {
      if (begin + 400 + offset / scale > first) boxes.push({ start: begin * scale + offset, duration: 400 * scale, row: begin / 600, class: 3 });
    }
    const moved = Math.floor(offset / scale);
    const shares = Uint8Array.from({ length: count }, (_, k) => ((first + k - moved) % 200) + 1);
    return encoded(this.version, rows.split(",").map((id) => ({ id, classes: [3], shares, boxes })));
  }

  async json(name, { codes }) {
    this.asked.push({ name, codes });
    return { names: Object.fromEntries(codes.split(",").map((code) => [code, { short: `n${code}`, whole: `name ${code}` }])) };
  }
}

const row = (id) => ({ id, kind: "queue", label: id, planes: 1, parent: "", table: "ops", isFolded: false });
const info = (version, more = {}) => ({
  trace: 0, label: "", first_ns: "0", span_ns: 20_000, version, rows: [row("a"), row("b")], colourings: [{ id: "category", title: "" }], ...more,
});
const served = (more) => {
  const server = new Server();
  const source = new ServedSource(0, server, new TileCache(10e6));
  source.update(info(1, more));
  return { server, source };
};
/** Draw rows in blocks, as the timeline does, and wait for what was asked. */
const draw = async (source, viewport, rows = source.rows) => {
  const drawn = rows.map((each) => source.columns(each, 0, viewport));
  await new Promise((done) => setTimeout(done, 5));
  return drawn;
};
const block = (scale, number) => ({ scale, first: TILE * number, count: TILE });

test("an answer is decoded in place, with instants and means", () => {
  const means = Float32Array.from([1.5, NaN]);
  const shares = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]);
  const boxes = [{ depth: 1, start: 2 ** 40 + 0.5, duration: 7, name: -1, row: 4e9, class: 9 }];
  const { version, tiles } = decodeTiles(encoded(7, [{ id: "x", classes: [0, 9], planes: 2, shares, means, boxes }]), 2);
  const tile = tiles.get("x");
  assert.equal(version, 7);
  assert.deepEqual([...tile.shares], [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual([...tile.means], [1.5, NaN]);
  assert.deepEqual(COLUMNS.map(([name]) => tile.boxes[name][0]), [1, 2 ** 40 + 0.5, 7, -1, 4e9, 9]);
});

test("parts of an answer have their pixels of every plane and class, and the boxes they touch", () => {
  const shares = Uint8Array.from({ length: 8 * 2 }, (_, i) => i);
  const boxes = [[0, 4], [0, 5], [4, 2], [6, 0], [8, 1]].map(([start, duration]) => ({ start, duration }));
  const tile = decodeTiles(encoded(1, [{ id: "x", classes: [4, 5], planes: 1, shares, boxes }]), 8).tiles.get("x");
  const part = cutTile(tile, 4, 4, 4, 8);
  assert.deepEqual([...part.shares], [4, 5, 6, 7, 12, 13, 14, 15]);
  assert.deepEqual([...part.boxes.start].map((start, i) => [start, part.boxes.duration[i]]), [[0, 5], [4, 2], [6, 0]]);
});

test("the least recently drawn tiles make room, and memory is counted", () => {
  const tile = (n) => ({ version: 1, count: TILE, planes: 1, classes: [0], shares: new Uint8Array(n), means: null, boxes: { length: 0 } });
  const cache = new TileCache(3 * tileBytes(tile(1000)));
  for (const number of [0, 1, 2]) cache.put("0:a", "c", 10, number, tile(1000));
  cache.get("0:a", "c", 10, 0);
  cache.put("0:a", "c", 20, 5, tile(1000));
  assert.deepEqual([0, 1, 2].map((number) => Boolean(cache.get("0:a", "c", 10, number))), [true, false, true]);
  assert.deepEqual(cache.stripsNear("0:a", "c", 19).map(({ scale, numbers }) => [scale, [...numbers]]), [[20, [5]], [10, [0, 2]]]);
  assert.equal(cache.bytes, 3 * tileBytes(tile(1000)));
  cache.dropTrace(0);
  assert.equal(cache.bytes, 0);
  assert.deepEqual(cache.stripsNear("0:a", "c", 19), []);
});

test("rows of one window are asked for at once, then drawn exactly, and not asked for again", async () => {
  const { server, source } = served();
  const rows = source.rows.flatMap((each) => [source.columns(each, 0, block(10, 0)), source.columns(each, 0, block(10, 1))]);
  await draw(source, block(10, 1));
  assert.deepEqual(rows, [null, null, null, null]);
  assert.deepEqual(server.asked[0], { rows: "a,b", scale: 10, first: 0, count: 2 * TILE, by: "category" });
  const [columns] = await draw(source, block(10, 1));
  assert.equal(columns.isExact, true);
  assert.equal(columns.first, TILE);
  assert.deepEqual([...columns.shares], Array.from({ length: TILE }, (_, k) => ((TILE + k) % 200) + 1));
  assert.equal(server.asked.length, 1);
  assert.equal(source.isSettled, true);
  assert.equal(source.columns(source.rows[0], 0, block(10, 1)), columns);
});

test("a box that reaches into a tile is in it, once", async () => {
  const { source } = served();
  await draw(source, block(10, 1));
  const boxes = source.boxes(source.rows[0], 0, block(10, 1));
  assert.deepEqual([...boxes.start], [6000]);
  await draw(source, block(10, 0));
  assert.deepEqual([...source.boxes(source.rows[0], 0, block(10, 0)).start], [0]);
  const both = source.boxes(source.rows[0], 0, { scale: 10, first: 0, count: 2 * TILE });
  assert.deepEqual([...both.start], [0, 6000]);
});

test("until exact tiles are there another scale is drawn, averaged or stretched", async () => {
  const { server, source } = served();
  await draw(source, block(10, 0));
  server.held = new Promise(() => {});
  const [wide] = await draw(source, block(20, 0));
  assert.equal(wide.isExact, false);
  assert.deepEqual([...wide.shares.slice(0, 4)], [2, 4, 6, 8].map((value) => Math.round(value - 0.5)));
  assert.deepEqual([...wide.shares.slice(256, 260)], [0, 0, 0, 0]);
  const [near] = await draw(source, block(5, 0));
  assert.deepEqual([...near.shares.slice(0, 6)], [1, 1, 2, 2, 3, 3]);
  const boxes = source.boxes(source.rows[0], 0, block(5, 0));
  assert.deepEqual([...boxes.start], [0]);
});

test("a trace that grew makes tiles stale: they are drawn, and asked for again", async () => {
  const { server, source } = served();
  await draw(source, block(10, 0));
  source.update(info(2, { span_ns: 40_000 }));
  server.version = 2;
  const [columns] = await draw(source, block(10, 0));
  assert.equal(columns.isExact, false);
  assert.equal(columns.shares[5], 6);
  assert.equal(server.asked.length, 2);
  assert.equal((await draw(source, block(10, 0)))[0].isExact, true);
});

test("another first event drops what was counted from the old one", async () => {
  const { source } = served();
  await draw(source, block(10, 0));
  source.update(info(2, { first_ns: "-5" }));
  assert.equal(source.columns(source.rows[0], 0, block(10, 0)), null);
});

test("beyond the trace there is nothing, and nothing is asked", async () => {
  const { server, source } = served();
  const [before, after] = [...(await draw(source, block(10, -2), [row("a")])), ...(await draw(source, block(10, 4), [row("a")]))];
  assert.deepEqual([before.isExact, before.classes, after.isExact, after.classes], [true, [], true, []]);
  assert.deepEqual(server.asked, []);
});

test("at most three questions run at once, and old scales make way", async () => {
  const { server, source } = served();
  let release;
  server.held = new Promise((done) => (release = done));
  for (const scale of [10, 11, 12, 13, 14]) await draw(source, block(scale, 0));
  assert.equal(source.loader.running.size, 3);
  server.held = null;
  release();
  await draw(source, block(14, 0));
  assert.equal((await draw(source, block(14, 0)))[0].isExact, true);
  assert.ok(server.asked.length <= 5);
});

test("what a server refuses is not asked for at once again; when it is down nothing is", async () => {
  const { server, source } = served();
  server.problem = "no";
  for (let i = 0; i < 4; i += 1) await draw(source, block(10, 0));
  assert.equal(server.asked.length, 1);
  server.isUp = false;
  server.problem = null;
  source.update(info(2));
  for (let i = 0; i < 4; i += 1) await draw(source, block(10, 0));
  assert.equal(server.asked.length, 1);
  server.isUp = true;
  server.version = 2;
  await draw(source, block(10, 0));
  assert.equal((await draw(source, block(10, 0)))[0].isExact, true);
});

test("names come in batches and are told of", async () => {
  const { server, source } = served();
  let told = 0;
  source.onChange = () => (told += 1);
  assert.deepEqual([7, 8, 7, -1].map((code) => source.nameOf(source.rows[0], code)), ["", "", "", "(no name)"]);
  await new Promise((done) => setTimeout(done, 5));
  assert.deepEqual(server.asked, [{ name: "names", codes: "7,8" }]);
  assert.equal(told, 1);
  assert.equal(source.nameOf(source.rows[0], 8), "n8");
  assert.equal(source.wholeNameOf(source.rows[0], 8), "name 8");
});

test("several traces share an axis: each is moved by its offset, classes by their labels", async () => {
  const server = new Server();
  const cache = new TileCache(10e6);
  const sources = [0, 1].map((trace) => new ServedSource(trace, server, cache));
  sources.forEach((source) => source.update(info(1)));
  const joined = new JoinedSource(sources);
  joined.setOffsets([-300, 700]);
  joined.join();
  joined.setLabels(0, "category", ["w", "x", "y", "z"], [0, 1, 2, 3]);
  joined.setLabels(1, "category", ["q", "r", "s", "y"], [5, 6, 7, 2]);
  assert.deepEqual(joined.offsets, [0, 1000]);
  assert.equal(joined.span, 21_000);
  assert.deepEqual(joined.colourings[0].labels, ["w", "x", "y", "z", "q", "r", "s"]);
  const rows = [{ ...row("0:a") }, { ...row("1:a") }];
  await draw(joined, block(10, 0), rows);
  const [first, second] = await draw(joined, block(10, 0), rows);
  assert.deepEqual([first.classes, second.classes], [[3], [2]]);
  assert.deepEqual([...second.shares.slice(100 - second.first, 103 - second.first)], [1, 2, 3]);
  const boxes = joined.boxes(rows[1], 0, block(10, 0));
  assert.deepEqual([boxes.start[0], boxes.class[0]], [1000, 2]);
});

test("a trace that was moved is asked for the pixels of the axis, and none before it begins", async () => {
  const { server, source } = served();
  source.offset = 10 * (TILE + 40) + 7;
  for (const number of [0, 1, 2]) source.columns(source.rows[0], 0, block(10, number));
  await draw(source, block(10, 1), [source.rows[0]]);
  assert.deepEqual(server.asked, [{ rows: "a", scale: 10, first: TILE, count: 2 * TILE, offset: 5527, by: "category" }]);
  assert.equal(source.columns(source.rows[0], 0, block(10, 0)).classes.length, 0);
  const [columns] = await draw(source, block(10, 1), [source.rows[0]]);
  assert.deepEqual([columns.isExact, columns.first, columns.shares[40]], [true, TILE, 1]);
  assert.equal(source.boxes(source.rows[0], 0, block(10, 1)).start[0], 5527);
});

test("what was asked before a trace moved is not drawn at its new place", async () => {
  const { server, source } = served();
  let answer;
  server.held = new Promise((done) => (answer = done));
  source.columns(source.rows[0], 0, block(10, 0));
  await new Promise((done) => setTimeout(done, 5));
  source.offset = 70;
  source.columns(source.rows[0], 0, block(10, 0));
  server.held = null;
  answer();
  await new Promise((done) => setTimeout(done, 20));
  assert.deepEqual(server.asked.slice(0, 2).map(({ offset }) => offset), [undefined, 70]);
  assert.deepEqual([...source.columns(source.rows[0], 0, block(10, 0)).shares.slice(7, 10)], [1, 2, 3]);
});
