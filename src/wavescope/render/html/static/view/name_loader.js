// Names of a trace by their codes, fetched in batches.

const BATCH = 2000;
const MOST_NAMES = 200_000;
const NAMELESS = "(no name)";

export class NameLoader {
  /**
   * @param {number} trace
   * @param {string} table "ops", whose names are shortened, or "calls" for all of the host
   * @param {import("./asking.js").Asking} asking
   * @param {() => void} onChange
   */
  constructor(trace, table, asking, onChange) {
    this.trace = trace;
    this.table = table;
    this.asking = asking;
    this.onChange = onChange;
    /** @type {Map<number, { short: string, whole: string }>} */
    this.known = new Map();
    /** @type {Set<number>} */
    this.wanted = new Set();
    this.isAsking = false;
  }

  /** @param {number} code */
  short(code) {
    return code < 0 ? NAMELESS : this.find(code)?.short ?? "";
  }

  /** @param {number} code */
  whole(code) {
    return code < 0 ? NAMELESS : this.find(code)?.whole ?? "";
  }

  /** @param {number} code */
  find(code) {
    const name = this.known.get(code);
    if (!name) {
      this.wanted.add(code);
      if (!this.isAsking) {
        this.isAsking = true;
        queueMicrotask(() => this.fetchAll());
      }
    }
    return name;
  }

  async fetchAll() {
    try {
      while (this.wanted.size > 0) {
        const codes = [...this.wanted].slice(0, BATCH);
        const { names } = await this.asking.json("names", { trace: this.trace, table: this.table, codes: codes.join(",") });
        if (this.known.size > MOST_NAMES) this.known.clear();
        for (const code of codes) {
          this.wanted.delete(code);
          this.known.set(code, names[code] ?? { short: NAMELESS, whole: NAMELESS });
        }
        this.onChange();
      }
    } catch {
      // Whoever draws asks again.
      this.wanted.clear();
    } finally {
      this.isAsking = false;
    }
  }
}
