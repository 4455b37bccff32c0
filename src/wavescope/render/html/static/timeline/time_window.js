// The window of time that is seen, and its pixels.

/** Pixels of one block: what is asked of a source and painted at once. */
export const BLOCK = 512;

/**
 * A window [from, to) inside of [0, span) on `count` pixels. The picture begins at the whole
 * pixel next to `from`, so that pictures of one scale fit together however far they are moved.
 */
export class TimeWindow {
  /**
   * @param {number} span ns
   * @param {number} count device pixels
   * @param {number} least ns of the narrowest window
   */
  constructor(span, count, least = 100) {
    this.span = Math.max(1, span);
    this.least = least;
    this.count = Math.max(1, count);
    this.from = 0;
    this.length = this.span;
  }

  get to() {
    return this.from + this.length;
  }

  /** ns of one pixel */
  get scale() {
    return this.length / this.count;
  }

  /** the number of the pixel at the left edge */
  get first() {
    return Math.round(this.from / this.scale);
  }

  /** @param {number} from @param {number} to */
  show(from, to) {
    this.length = Math.min(this.span, Math.max(this.least, to - from));
    this.moveTo(from);
  }

  /**
   * Move to another start; the scale stays what it is.
   * @param {number} from
   */
  moveTo(from) {
    this.from = Math.min(Math.max(0, from), this.span - this.length);
  }

  /**
   * Move by whole pixels from the pixel `first` on.
   * @param {number} first
   * @param {number} pixels
   */
  moveBy(first, pixels) {
    this.moveTo((first + Math.round(pixels)) * this.scale);
  }

  /** @param {number} factor below 1 into the picture @param {number} at the time that stays */
  zoom(factor, at) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  /**
   * The same time on more or fewer pixels.
   * @param {number} count
   */
  resize(count) {
    this.count = Math.max(1, count);
  }

  /**
   * Another length of all; who saw everything sees everything again.
   * @param {number} span
   */
  grow(span) {
    const isWhole = this.from === 0 && this.length === this.span;
    this.span = Math.max(1, span);
    this.show(isWhole ? 0 : this.from, isWhole ? this.span : this.to);
  }

  /**
   * Where a time is, in pixels from the left edge.
   * @param {number} time
   */
  pixelOf(time) {
    return time / this.scale - this.first;
  }

  /** @param {number} pixel from the left edge */
  timeAt(pixel) {
    return (this.first + pixel) * this.scale;
  }

  /**
   * The block of a pixel that counts from the left edge.
   * @param {number} pixel
   */
  blockAt(pixel) {
    return Math.floor((this.first + pixel) / BLOCK);
  }
}
