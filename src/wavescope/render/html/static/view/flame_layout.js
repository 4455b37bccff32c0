// Where the boxes of a flame graph lie: each below its parent, the heaviest first.

/**
 * What `api/flame` answers.
 * @typedef {object} FlameAnswer
 * @property {string} of
 * @property {number} total
 * @property {string[]} names
 * @property {{ parent: number[], name: number[], value: number[], self: number[], count: number[] }} nodes
 * @property {number} left_out
 * @property {string} sampled
 */

export class FlameLayout {
  /** @param {FlameAnswer} answer */
  constructor({ names, nodes }) {
    this.names = names;
    this.nodes = nodes;
    this.count = nodes.parent.length;
    /** @type {number[][]} */
    this.children = Array.from({ length: this.count }, () => []);
    this.depth = new Uint32Array(this.count);
    /** where each box begins, in units of value from the left edge of the root */
    this.start = new Float64Array(this.count);
    for (let node = 1; node < this.count; node += 1) {
      this.depth[node] = this.depth[nodes.parent[node]] + 1;
      this.children[nodes.parent[node]].push(node);
    }
    for (let node = 0; node < this.count; node += 1) {
      const below = this.children[node];
      below.sort((a, b) => nodes.value[b] - nodes.value[a] || this.name(a).localeCompare(this.name(b)));
      let at = this.start[node];
      for (const child of below) {
        this.start[child] = at;
        at += nodes.value[child];
      }
    }
    this.deepest = this.depth.reduce((most, depth) => Math.max(most, depth), 0);
  }

  /** @param {number} node */
  name(node) {
    return this.names[this.nodes.name[node]];
  }

  /** @param {number} node */
  value(node) {
    return this.nodes.value[node];
  }

  /** @param {number} node itself last */
  path(node) {
    const found = [];
    for (let at = node; at >= 0; at = this.nodes.parent[at]) found.unshift(at);
    return found;
  }

  /**
   * Where a box lies when `focus` is as wide as the picture: 0 to 1.
   * @param {number} node
   * @param {number} focus
   * @returns {[number, number]}
   */
  place(node, focus) {
    if (this.isAround(node, focus)) return [0, 1];
    const whole = this.value(focus) || 1;
    const left = (this.start[node] - this.start[focus]) / whole;
    return [left, left + this.value(node) / whole];
  }

  /**
   * Whether `node` is `focus` or one that it is below.
   * @param {number} node
   * @param {number} focus
   */
  isAround(node, focus) {
    let at = focus;
    while (this.depth[at] > this.depth[node]) at = this.nodes.parent[at];
    return at === node;
  }

  /**
   * The box at a place of the picture, -1 for none.
   * @param {number} x 0 to 1
   * @param {number} depth
   * @param {number} focus
   */
  at(x, depth, focus) {
    const above = this.path(focus);
    if (depth < above.length) return above[depth];
    const wanted = this.start[focus] + x * this.value(focus);
    let node = focus;
    while (node >= 0 && this.depth[node] < depth) {
      node = this.children[node].find((child) => wanted >= this.start[child] && wanted < this.start[child] + this.value(child)) ?? -1;
    }
    return node;
  }

  /**
   * Which nodes have a name that matches, and how much of the time of `focus` is in them: a node
   * inside of another that matches counts once.
   * @param {(name: string, place: number) => boolean} matches
   * @param {number} focus
   */
  found(matches, focus) {
    const isName = this.names.map(matches);
    const isFound = new Uint8Array(this.count);
    const isInside = new Uint8Array(this.count);
    let [time, count] = [0, 0];
    for (let node = 0; node < this.count; node += 1) {
      const parent = this.nodes.parent[node];
      isFound[node] = Number(isName[this.nodes.name[node]]);
      isInside[node] = Number(isFound[node] || (parent >= 0 && isInside[parent]));
      count += isFound[node];
    }
    const waiting = [focus];
    while (waiting.length) {
      const node = /** @type {number} */ (waiting.pop());
      if (isInside[node]) time += this.value(node);
      else waiting.push(...this.children[node]);
    }
    return { isFound, count, share: this.value(focus) ? time / this.value(focus) : 0 };
  }
}
