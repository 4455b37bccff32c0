// Looks up the traces again and again: often while one is being read, rarely to see whether the
// server is still there, and with patience when it is not.

const WHILE_READING_MS = 400;
const WHEN_WHOLE_MS = 5000;
const WHEN_DOWN_MS = 1000;

export class TracePolling {
  /**
   * @param {import("./asking.js").Asking} asking
   * @param {(traces: any[]) => void} onTraces
   * @param {(problem: string) => void} onProblem an empty text: there is none
   */
  constructor(asking, onTraces, onProblem) {
    this.asking = asking;
    this.onTraces = onTraces;
    this.onProblem = onProblem;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.isAsking = false;
  }

  /** Ask now. */
  async ask() {
    if (this.isAsking) return;
    clearTimeout(this.timer);
    this.isAsking = true;
    let wait = WHEN_DOWN_MS;
    try {
      const { traces } = await this.asking.json("traces");
      this.onProblem("");
      this.onTraces(traces);
      const isReading = traces.some((/** @type {any} */ trace) => !trace.is_whole && !trace.problem);
      wait = isReading ? WHILE_READING_MS : WHEN_WHOLE_MS;
    } catch (error) {
      this.onProblem(/** @type {Error} */ (error).message);
    } finally {
      this.isAsking = false;
      this.timer = setTimeout(() => this.ask(), wait);
    }
  }
}
