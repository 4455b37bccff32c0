// Handing a file to Perfetto's page in another tab: its bytes go from tab to tab, to no server.

const ORIGIN = "https://ui.perfetto.dev";
const ASK_AGAIN_MS = 100;
const PATIENCE_MS = 60_000;

/**
 * Give the tab the file as soon as its page answers.
 * @param {Window} tab
 * @param {ArrayBuffer} buffer
 * @param {string} title
 * @param {Pick<Window, "addEventListener" | "removeEventListener">} here
 * @returns {Promise<boolean>} whether the page took it in time
 */
export function handOver(tab, buffer, title, here = window) {
  return new Promise((resolve) => {
    const end = (/** @type {boolean} */ isTaken) => {
      clearInterval(asking);
      clearTimeout(patience);
      here.removeEventListener("message", heard);
      resolve(isTaken);
    };
    const heard = (/** @type {any} */ event) => {
      if (event.source !== tab || event.origin !== ORIGIN || event.data !== "PONG") return;
      tab.postMessage({ perfetto: { buffer, title } }, ORIGIN);
      end(true);
    };
    const asking = setInterval(() => (tab.closed ? end(false) : tab.postMessage("PING", ORIGIN)), ASK_AGAIN_MS);
    const patience = setTimeout(() => end(false), PATIENCE_MS);
    here.addEventListener("message", heard);
  });
}

/** An empty tab at Perfetto's page; it has to be opened while the click is being handled. */
export function perfettoTab() {
  return window.open(ORIGIN);
}
