import assert from "node:assert/strict";
import test from "node:test";

import { partAt, rowHeight, rowOrder, shadeOf, valueOf, valueText } from "../../src/wavescope/render/html/static/ranks/cells.js";
import { shades } from "../../src/wavescope/render/html/static/ranks/shades.js";
import { ownTime, viewCommand } from "../../src/wavescope/render/html/static/ranks/view_command.js";

const linear = (part) => (part <= 0.04045 * 255 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);

// What people see who lack one kind of cones, by Viénot, Brettel and Mollon (1999).
const KINDS = {
  usual: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
  deutan: [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
};

const brightness = (colours, i, matrix) => {
  const rgb = [...colours.subarray(3 * i, 3 * i + 3)].map(linear);
  const seen = matrix.map((row) => row.reduce((sum, factor, part) => sum + factor * rgb[part], 0));
  return 0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2];
};

for (const [kind, matrix] of Object.entries(KINDS)) {
  test(`more is always darker in the light and brighter in the dark: ${kind}`, () => {
    for (const isDark of [false, true]) {
      const colours = shades(isDark, 64);
      for (let i = 1; i < 64; i += 1) {
        const change = brightness(colours, i, matrix) - brightness(colours, i - 1, matrix);
        assert.ok(isDark ? change > 0 : change < 0, `${i}: ${change}`);
      }
    }
  });
}

test("codes are values, and 0 is none", () => {
  const measure = { title: "", unit: "ns", low: 0, high: 500, largest: 1000, codes: 65_535 };
  assert.deepEqual([1, 65_535].map((code) => valueOf(measure, code)), [0, 1000]);
  assert.ok(Number.isNaN(valueOf(measure, 0)));
  assert.deepEqual([-5, 0, 250, 500, 9999].map((value) => shadeOf(measure, value)), [0, 0, 128, 255, 255]);
  assert.equal(shadeOf({ ...measure, high: 0 }, 3), 0);
  assert.equal(valueText(measure, 1500), "1.500 us");
  assert.equal(valueText({ ...measure, unit: "%" }, 0.5), "50.0 %");
  assert.equal(valueText(measure, NaN), "not recorded");
});

test("all ranks are drawn, each at least a pixel high", () => {
  assert.deepEqual([1, 8, 64, 512, 1000].map(rowHeight), [22, 22, 10, 1, 1]);
});

test("places lie in the part that holds them", () => {
  assert.deepEqual([0, 9.9, 10, 99.9, 100, -3].map((at) => partAt(at, 100, 10)), [0, 0, 1, 9, 9, 0]);
});

test("rows are in their own order or the highest first; what has no value is last", () => {
  const means = [3, NaN, 9, 3];
  assert.deepEqual(rowOrder((row) => means[row], 4, false), [0, 1, 2, 3]);
  assert.deepEqual(rowOrder((row) => means[row], 4, true), [2, 0, 3, 1]);
});

test("times of commands keep all their digits", () => {
  const rank = { commands: [["wavescope view a.db", " --rank=3"]], later: [], left: "1763000000123456789", rate: 1 };
  assert.equal(ownTime(rank, 11), 1763000000123456800n);
  assert.equal(ownTime({ ...rank, rate: 0.5 }, 20), 1763000000123456799n);
  assert.equal(viewCommand(rank, 1n, 2n), "wavescope view a.db --start=1 --end=2 --rank=3");
  assert.equal(viewCommand({ ...rank, commands: [["", ""]] }, 1n, 2n), "");
});

test("a command opens the file that has the middle of the time", () => {
  const rank = { commands: [["a", ""], ["b", ""], ["c", ""]], later: ["1763000000123456789", "1763000000123456799"] };
  const opened = (from, to) => viewCommand(rank, 1763000000123456000n + from, 1763000000123456000n + to)[0];
  assert.deepEqual([opened(0n, 800n), opened(788n, 790n), opened(700n, 900n), opened(0n, 2000n)], ["a", "b", "c", "c"]);
});
