// Loads traces into Perfetto's trace_processor (WebAssembly) and runs SQL on them.
//
//   node query.mjs BUNDLE_FOLDER < requests > answers
//
// BUNDLE_FOLDER holds engine_bundle.js and the trace_processor*.wasm files of the Perfetto UI.
// A request is a line of JSON: {"trace": "path", "statements": ["SELECT ...", ...]}
// Its answer is one too: {"results": [{"columns": [...], "rows": [[...], ...]}, ...]} or {"error": "..."}.
// Integers are printed exactly, however large.

import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import vm from "node:vm";

const APPEND_TRACE_DATA = 1;
const FINALIZE_TRACE_DATA = 2;
const QUERY_STREAMING = 3;

const FIELD = {
  stream: { message: 1 },
  rpc: { sequence: 1, request: 2, fatalError: 5, appendData: 101, queryArguments: 103, appendResult: 201, queryResult: 203 },
  queryResult: { columnName: 1, error: 2, batch: 3 },
  batch: { cells: 1, varints: 2, floats: 3, blobs: 4, strings: 5 },
};

const CELL = { null: 1, varint: 2, float: 3, string: 4, blob: 5 };

function varint(value) {
  const bytes = [];
  let rest = BigInt(value);
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

const varintField = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytesField = (field, bytes) => Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.position = 0;
  }

  varint() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.position++];
      if (byte === undefined) throw new Error("truncated varint");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }

  take(length) {
    this.position += length;
    return this.bytes.subarray(this.position - length, this.position);
  }

  *fields() {
    while (this.position < this.bytes.length) {
      const tag = Number(this.varint());
      const wireType = tag & 7;
      if (wireType === 0) yield [tag >> 3, this.varint()];
      else if (wireType === 2) yield [tag >> 3, this.take(Number(this.varint()))];
      else if (wireType === 1) yield [tag >> 3, this.take(8)];
      else if (wireType === 5) yield [tag >> 3, this.take(4)];
      else throw new Error(`wire type ${wireType}`);
    }
  }
}

const text = (bytes) => new TextDecoder("utf-8").decode(bytes);

function packedVarints(bytes) {
  const reader = new Reader(bytes);
  const values = [];
  while (reader.position < bytes.length) values.push(BigInt.asIntN(64, reader.varint()));
  return values;
}

// Compiling the module takes most of the time of a short query: every engine uses the first one's.
const compiled = new Map();
const CompiledModule = WebAssembly.Module;
WebAssembly.Module = function (bytes) {
  if (!compiled.has(bytes.length)) compiled.set(bytes.length, new CompiledModule(bytes));
  return compiled.get(bytes.length);
};

// Starts the worker bundle of the Perfetto UI inside this process, with a stand-in message port.
function startEngine(folder) {
  const port = { onmessage: null, postMessage: null };
  const scope = globalThis;
  scope.self = scope;
  scope.location = { href: `${folder}/engine_bundle.js` };
  scope.importScripts = () => {};
  scope.WorkerGlobalScope = class {};
  scope.XMLHttpRequest = class {
    open(_method, url) {
      this.url = url;
    }
    send() {
      this.response = fs.readFileSync(path.join(folder, path.basename(this.url)));
      this.status = 200;
    }
  };
  const hidden = scope.process;
  scope.process = undefined; // the bundle refuses to run when it sees node
  vm.runInThisContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"), { filename: "engine_bundle.js" });
  scope.process = hidden;
  return port;
}

class TraceProcessor {
  constructor(folder) {
    this.sequence = 0;
    this.replies = [];
    this.port = startEngine(folder);
  }

  async ready() {
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.port.postMessage = (bytes) => this.replies.push(Buffer.from(bytes));
    globalThis.onmessage({ data: this.port });
  }

  request(method, ...parts) {
    this.replies = [];
    const message = Buffer.concat([
      varintField(FIELD.rpc.sequence, this.sequence++),
      varintField(FIELD.rpc.request, method),
      ...parts,
    ]);
    this.port.onmessage({ data: new Uint8Array(bytesField(FIELD.stream.message, message)) });
    const messages = [];
    for (const [field, bytes] of new Reader(Buffer.concat(this.replies)).fields())
      if (field === FIELD.stream.message) messages.push(new Map(new Reader(bytes).fields()));
    for (const reply of messages)
      if (reply.has(FIELD.rpc.fatalError)) throw new Error(text(reply.get(FIELD.rpc.fatalError)));
    return messages;
  }

  load(file) {
    const handle = fs.openSync(file, "r");
    const block = Buffer.alloc(16 << 20);
    for (;;) {
      const length = fs.readSync(handle, block, 0, block.length, null);
      if (length === 0) break;
      const replies = this.request(APPEND_TRACE_DATA, bytesField(FIELD.rpc.appendData, block.subarray(0, length)));
      for (const reply of replies) {
        const result = new Map(new Reader(reply.get(FIELD.rpc.appendResult) ?? Buffer.alloc(0)).fields());
        if (result.has(2)) throw new Error(`the trace was refused: ${text(result.get(2))}`);
      }
    }
    fs.closeSync(handle);
    this.request(FINALIZE_TRACE_DATA);
  }

  query(sql) {
    const argument = bytesField(FIELD.rpc.queryArguments, bytesField(1, Buffer.from(sql)));
    const columns = [];
    const cells = [];
    for (const reply of this.request(QUERY_STREAMING, argument)) {
      for (const [field, value] of new Reader(reply.get(FIELD.rpc.queryResult)).fields()) {
        if (field === FIELD.queryResult.columnName) columns.push(text(value));
        else if (field === FIELD.queryResult.error && value.length) throw new Error(`${text(value)}\nin: ${sql}`);
        else if (field === FIELD.queryResult.batch) cells.push(...batchCells(value));
      }
    }
    const rows = [];
    for (let start = 0; start < cells.length; start += columns.length) rows.push(cells.slice(start, start + columns.length));
    return { columns, rows };
  }
}

function batchCells(bytes) {
  let kinds = [];
  const values = { varints: [], floats: [], strings: [], blobs: [] };
  for (const [field, value] of new Reader(bytes).fields()) {
    if (field === FIELD.batch.cells) kinds = kinds.concat(packedVarints(value).map(Number));
    else if (field === FIELD.batch.varints) values.varints = values.varints.concat(packedVarints(value));
    else if (field === FIELD.batch.floats)
      for (let at = 0; at < value.length; at += 8) values.floats.push(Buffer.from(value).readDoubleLE(at));
    else if (field === FIELD.batch.blobs) values.blobs.push(Buffer.from(value).toString("hex"));
    else if (field === FIELD.batch.strings) values.strings = text(value).split("\0");
  }
  const next = { varints: 0, floats: 0, strings: 0, blobs: 0 };
  const take = (kind) => values[kind][next[kind]++];
  return kinds.map((kind) => {
    if (kind === CELL.varint) return take("varints");
    if (kind === CELL.float) return take("floats");
    if (kind === CELL.string) return take("strings");
    if (kind === CELL.blob) return take("blobs");
    return null;
  });
}

const cellJson = (cell) => (typeof cell === "bigint" ? cell.toString() : JSON.stringify(cell));
const resultJson = ({ columns, rows }) =>
  `{"columns":${JSON.stringify(columns)},"rows":[${rows.map((row) => `[${row.map(cellJson).join(",")}]`).join(",")}]}`;

async function answer(folder, { trace, statements }) {
  const processor = new TraceProcessor(folder);
  await processor.ready();
  processor.load(trace);
  return `{"results":[${statements.map((sql) => resultJson(processor.query(sql))).join(",")}]}`;
}

const [folder] = process.argv.slice(2);
console.warn = () => {}; // trace_processor's log lines
for await (const line of readline.createInterface({ input: process.stdin })) {
  const reply = await answer(folder, JSON.parse(line)).catch((error) => JSON.stringify({ error: error.message }));
  process.stdout.write(`${reply}\n`);
}
