import assert from "node:assert/strict";
import test from "node:test";

import { nothingSeen, readAddress, writeAddress } from "../../src/wavescope/render/html/static/view/address.js";

const EVERYTHING = {
  window: [1234.5, 99_000_000_123],
  by: "kernel",
  rows: {
    folded: [["0:gpu/0", true], ["1:process/-1", false]],
    hidden: ["0:queue/0/1"],
    pinned: ["0:calls/0/12", "0:gpu/1"],
    order: [["", ["0:gpu/1", "0:gpu/0"]], ["0:gpu/0", ["0:queue/0/2", "0:queue/0/1"]]],
  },
  find: "queue 2, עברית",
  scrolled: 320,
  selected: { trace: 1, table: "ops", row: 4_000_000_000 },
  range: { trace: 0, start: 5, end: 17 },
  panel: "details",
  offsets: [0, 1500],
  kept: { search: "gemm|^a&b=c #%", align: "\u05d0" },
};

test("what is seen comes back from its address", () => {
  assert.deepEqual(readAddress(writeAddress(EVERYTHING)), EVERYTHING);
});

test("an address is readable, and empty where there is nothing to say", () => {
  assert.equal(writeAddress(nothingSeen()), "");
  const seen = { ...nothingSeen(), window: [0.25, 10], rows: { ...nothingSeen().rows, pinned: ["0:gpu/0", "0:gpu/1"] } };
  assert.equal(writeAddress(seen), "#window=0.25_10&pin=0:gpu/0,0:gpu/1");
});

test("what an address says wrongly is left out", () => {
  const nothing = nothingSeen();
  for (const text of [
    "#window=5_5", "#window=a_b", "#window=7", "#window=_9", "#op=0_ops", "#op=x_ops_1", "#op=0__1", "#op=0_ops_1e9",
    "#range=0_9_3", "#range=-1_0_3", "#offsets=0_x", "#offsets=0_1e300", "#scrolled=-3", "#scrolled=x", "#by=%E0%A4%A", "#__proto__=1", "#constructor=1", "#=&&x", "", "#",
  ]) {
    assert.deepEqual(readAddress(text), nothing, text);
  }
});

test("a lone surrogate does not stop the address", () => {
  const written = writeAddress({ ...nothingSeen(), kept: { search: "a\ud800b" } });
  assert.equal(readAddress(written).kept.search, "a\ufffdb");
});
