// Where the page begins: it asks for the traces, shows them, and goes on when the server is back.

import { Asking } from "./asking.js";
import { element } from "./elements.js";
import { startTheme } from "./theme.js";
import { TracePolling } from "./trace_polling.js";
import { KEY_HELP, listenToKeys } from "./view_keys.js";
import { Viewer } from "./viewer.js";
import { PANELS } from "./panels.js";

/** @typedef {import("../timeline/types").DragMode} DragMode */

const SAID_MS = 6000;
/** @type {DragMode[]} */
const DRAGS = ["pan", "range", "zoom"];

/**
 * Elements of the shell by their id.
 * @param {string} id
 * @returns {any}
 */
const part = (id) => document.getElementById(id);

/** @type {Viewer | null} */
let viewer = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let silence;

/**
 * One line at the bottom, for a while.
 * @param {string} text
 */
function say(text) {
  part("said").textContent = text;
  clearTimeout(silence);
  silence = setTimeout(() => (part("said").textContent = ""), SAID_MS);
}

/**
 * Above everything; an empty text takes it away.
 * @param {string} text
 */
function warn(text) {
  const banner = part("banner");
  if (banner.textContent !== text) banner.textContent = text;
  banner.hidden = text === "";
}

const asking = new Asking(new URL(".", location.href).href);
const polling = new TracePolling(
  asking,
  (traces) => {
    if (!viewer) {
      viewer = new Viewer(asking, traces, say);
      part("timeline").classList.remove("waiting");
    } else viewer.take(traces);
  },
  (problem) => warn(problem && (asking.isUp ? `The server does not answer as it should: ${problem}` : AWAY)),
);
const AWAY =
  "The server of this page does not answer: it was ended, or the connection is lost. What is drawn stays; it is tried again every second. A new start of `wavescope view` prints a new address.";

asking.onState = (/** @type {boolean} */ isUp) => {
  if (isUp) {
    warn("");
    viewer?.timeline.setSource(viewer.source); // what was missing is asked for again
  } else {
    warn(AWAY);
    polling.ask();
  }
};

/** @param {DragMode} mode */
function setDrag(mode) {
  viewer?.timeline.setDrag(mode);
  part("drag-mode").value = mode;
  part("timeline").dataset.drag = mode;
}

function showHelp() {
  const shown = PANELS.filter((panel) => viewer?.dock.has(panel));
  const panels = shown.flatMap(({ key, title }) => (key ? [{ keys: key.toUpperCase(), does: `open ${title}` }] : []));
  part("keys").replaceChildren(
    ...[...KEY_HELP, ...panels].flatMap(({ keys, does }) => [element("dt", { text: keys }), element("dd", { text: does })]),
  );
  part("help").showModal();
}

function escape() {
  if (!viewer) return;
  const { app, dock } = viewer;
  if (app.selected || app.range) {
    app.unselect();
    app.selectRange(null);
  } else if (dock.open) dock.toggle(dock.open);
}

function nextColouring() {
  const { options, selectedIndex } = part("colour-by");
  if (options.length) viewer?.colours.choose(options[(selectedIndex + 1) % options.length].value, true);
}

/** @param {KeyboardEvent} event */
function otherKey(event) {
  if (!viewer) return false;
  const panel = PANELS.find(({ key }) => key?.toLowerCase() === event.key.toLowerCase());
  if (panel && viewer.dock.has(panel)) {
    viewer.app.openPanel(panel.id);
    return true;
  }
  const isInDock = part("dock").contains(event.target);
  const isButton = /** @type {HTMLElement} */ (event.target).closest("button, summary, [role=separator]");
  if (isInDock || (isButton && !/^[a-z]$/i.test(event.key))) return false;
  return viewer.timeline.key(event);
}

startTheme(part("theme"));
part("zoom-in").addEventListener("click", () => viewer?.timeline.zoom(0.5));
part("zoom-out").addEventListener("click", () => viewer?.timeline.zoom(2));
part("zoom-all").addEventListener("click", () => viewer?.timeline.showAll());
part("zoom-selected").addEventListener("click", () => viewer?.timeline.zoomToSelection());
part("drag-mode").addEventListener("change", (/** @type {Event} */ event) => {
  setDrag(/** @type {DragMode} */ (/** @type {HTMLSelectElement} */ (event.target).value));
});
part("show-help").addEventListener("click", showHelp);
part("close-help").addEventListener("click", () => part("help").close());
listenToKeys(
  {
    "?": showHelp,
    Escape: escape,
    m: () => setDrag(DRAGS[(DRAGS.indexOf(part("drag-mode").value) + 1) % DRAGS.length]),
    r: () => viewer?.labels.focus(),
    t: () => viewer?.timeline.canvas.focus(),
    g: () => part("row-filter").focus(),
    c: nextColouring,
  },
  otherKey,
);
setDrag("pan");
polling.ask();
