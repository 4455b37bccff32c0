// The page's address follows what is seen; going back and forth in it is seen again.

import { readAddress, writeAddress } from "./address.js";

/** @typedef {import("./address.js").Seen} Seen */

const AFTER_MS = 150;

export class LinkKeeping {
  /**
   * @param {() => Seen} seen
   * @param {(seen: Seen) => void} restore
   */
  constructor(seen, restore) {
    this.seen = seen;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.isJumping = false;
    addEventListener("popstate", () => {
      clearTimeout(this.timer);
      this.timer = undefined;
      restore(readAddress(location.hash));
    });
  }

  /** Something moved: the address says so soon. */
  moved() {
    this.timer ??= setTimeout(() => this.write(), AFTER_MS);
  }

  /** Something else is looked at: one step back leads to what was before all that one click did. */
  jumped() {
    if (this.isJumping) return;
    this.isJumping = true;
    queueMicrotask(() => (this.isJumping = false));
    this.write();
    history.pushState(null, "", this.address());
    this.moved();
  }

  write() {
    clearTimeout(this.timer);
    this.timer = undefined;
    const address = this.address();
    if (address !== location.pathname + location.search + location.hash) history.replaceState(null, "", address);
  }

  address() {
    return location.pathname + location.search + writeAddress(this.seen());
  }
}
