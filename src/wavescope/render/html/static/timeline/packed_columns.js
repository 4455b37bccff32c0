// Columns as a page carries them: deflated, the bytes of all values place by place, in base64.

/**
 * @typedef {object} PackedColumn
 * @property {1 | 2 | 4 | 8} bytes of a value
 * @property {number} length
 * @property {string} data
 */
/** @typedef {Uint8Array | Uint16Array | Uint32Array | Float64Array} Column */

// TypeScript before 5.1 does not know it.
const DecompressionStream = /** @type {{ new (format: string): GenericTransformStream }} */ (
  Reflect.get(globalThis, "DecompressionStream")
);
const ARRAYS = { 2: Uint16Array, 4: Uint32Array, 8: Float64Array };

/** @param {string} data */
const inflated = async (data) => {
  const text = atob(data);
  const compressed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) compressed[i] = text.charCodeAt(i);
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  writer.write(compressed);
  writer.close();
  return new Uint8Array(await new Response(stream.readable).arrayBuffer());
};

/**
 * Integers of 1, 2 or 4 bytes as such, of 8 as doubles.
 * @param {PackedColumn} column
 * @returns {Promise<Column>}
 */
export const unpacked = async ({ bytes: width, length, data }) => {
  const planes = await inflated(data);
  if (width === 1) return planes;
  const values = new ARRAYS[width](length);
  for (let place = width - 1; place >= 0; place -= 1) {
    const plane = planes.subarray(place * length, (place + 1) * length);
    for (let i = 0; i < length; i += 1) values[i] = values[i] * 256 + plane[i];
  }
  return values;
};

/**
 * Steps become times again; each group starts anew.
 * @param {PackedColumn} column
 * @param {Column} groups
 */
export const unpackedTimes = async (column, groups) => {
  const steps = await unpacked(column);
  const found = new Float64Array(steps.length);
  for (let i = 0; i < steps.length; i += 1) {
    found[i] = i > 0 && groups[i] === groups[i - 1] ? found[i - 1] + steps[i] : steps[i];
  }
  return found;
};
