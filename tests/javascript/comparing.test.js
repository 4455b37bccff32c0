import assert from "node:assert/strict";
import test from "node:test";

import { alignAt } from "../../src/wavescope/render/html/static/view/aligning.js";
import { handOver } from "../../src/wavescope/render/html/static/view/perfetto.js";

test("traces are moved so that the given times lie above each other", () => {
  let offsets = [];
  alignAt({ setOffsets: (wanted) => { offsets = wanted; } }, [30, 100, 5]);
  assert.deepEqual(offsets, [70, 0, 95]);
  assert.deepEqual(offsets.map((offset, trace) => offset + [30, 100, 5][trace]), [100, 100, 100]);
});

/** A page and another tab; what the tab was told. */
const tabs = () => {
  const told = [];
  const listeners = new Set();
  return {
    told,
    tab: { closed: false, postMessage: (data, origin) => told.push([data, origin]) },
    here: {
      addEventListener: (_, heard) => listeners.add(heard),
      removeEventListener: (_, heard) => listeners.delete(heard),
    },
    say: (event) => [...listeners].forEach((heard) => heard(event)),
    listeners,
  };
};
const PERFETTO = "https://ui.perfetto.dev";

test("the tab gets the bytes after it answered, and only Perfetto's page can answer", async () => {
  const { told, tab, here, say, listeners } = tabs();
  const buffer = new ArrayBuffer(3);
  const handing = handOver(tab, buffer, "window.pftrace", here);
  say({ source: tab, origin: "https://example.org", data: "PONG" });
  say({ source: {}, origin: PERFETTO, data: "PONG" });
  say({ source: tab, origin: PERFETTO, data: "PING" });
  assert.deepEqual(told, []);
  say({ source: tab, origin: PERFETTO, data: "PONG" });
  assert.equal(await handing, true);
  assert.deepEqual(told, [[{ perfetto: { buffer, title: "window.pftrace" } }, PERFETTO]]);
  assert.equal(listeners.size, 0);
});

test("the tab is asked until it is closed", async () => {
  const { told, tab, here } = tabs();
  tab.postMessage = (data, origin) => {
    told.push([data, origin]);
    tab.closed = told.length === 2;
  };
  assert.equal(await handOver(tab, new ArrayBuffer(1), "", here), false);
  assert.deepEqual(told, [["PING", PERFETTO], ["PING", PERFETTO]]);
});
