// The contract between collectors (C++) and the reader (Python, formats/session/): what a recorded process leaves.
//
// A session is a folder. Each process writes its own files there, all named `<base>.<stream>` with
// base = "<pid>-<start>" (start: CLOCK_BOOTTIME ns in decimal when the collector was loaded), so that a forked child or a
// reused pid never meets an older file. A collector never opens a database in somebody else's process.
//
//   <base>.ops       OpRecord       dispatches and copies, written when they are known to be complete; of CUDA programs
//                                   GraphOpRecord, which is longer
//   <base>.calls     CallRecord     HIP or CUDA API calls
//   <base>.markers   MarkerRecord   roctx and NVTX ranges and marks
//   <base>.counters  CounterRecord  what was seen, timed, skipped and lost per queue, updated in place
//   <base>.text      TextEntry...   strings, each once, named by their id elsewhere
//   <base>.facts     JSON lines     agents, queues, kernels, clock pairs, process facts (see below)
//   <base>.control   ControlPage    lets another process pause and resume recording
//   <base>.pending   PendingBlock   dispatches in flight and just completed, with the signals that the GPU itself writes.
//   While
//                                   the process lives it is /dev/shm/wavescope-<base>.pending: memory that the GPU may write
//                                   and no disk sees. An orderly end removes it; of a killed process it has everything that
//                                   was complete and not yet in <base>.ops. The recorder then moves it into the session.
//
// A process keeps no descriptor of its files: it has them mapped. That it lives, and has not become another program, shows
// in /proc/<pid>/maps, which then names its facts. Files are made for their user alone.
//
// Ops, text and facts grow at their end; where the process was killed, zeros may follow what was written last.
//
// The four record streams are a StreamHeader (one page) followed by fixed-size records. Every record starts with a byte
// `kind`; 0 means empty: the file is grown in blocks, threads fill their own blocks, and a record counts from the moment
// its kind is stored (last, with release order). A killed process leaves everything up to its last completed record; a
// torn tail is shorter than a record and is dropped. All integers are little endian. Unknown kinds are skipped.
//
// Times are nanoseconds of CLOCK_BOOTTIME's domain as ROCr reports system time ("ns" below), except raw GPU ticks in
// OpRecord when OP_RAW_TICKS is set: the reader converts them with the clock pairs of the facts, interpolating between
// the two pairs around a tick and extrapolating at the ends.
//
// Facts, one JSON object a line, by their "fact" member (other members may be absent, unknown facts are skipped):
//   process   pid, ppid, command, hostname, cpu_count, mode, collector_version, start_ns, environment (names only),
//             rank, world_size (from the launcher's variables)
//   agent     gpu, name (gfx90a), product, uuid, cu_count, clock_mhz, wave_size, memory_clock_mhz, memory_width_bits,
//             driver_node, bdf, memory_bytes; of NVIDIA name is sm_90, cu_count the multiprocessors, wave_size the warp
//   queue     queue, gpu, address (hsa_queue_t*), size; of CUDA instead stream (CUPTI's number), context, name ("stream 7")
//   kernel    object (kernel_object), name (mangled, without .kd), ns (known from then on: an object that is given out again
//             has another fact), vgprs, agprs, sgprs (as allocated), lds_bytes, scratch_bytes, kernarg_bytes, code_object
//             (URI)
//   function  function (index used by CallRecord), name, kind (launch, copy, fill, alloc, stream, event, sync, graph,
//   other),
//             arguments (names of CallRecord::arguments with what they hold after a colon: "bytes" is a number, -1 being
//             2^64-1; "dst:address" a pointer or handle; "kernel:text" an id of the text stream, 0 when not known;
//             "block:xyz" three sizes of 21 bits each, x lowest). Written before the function's first record. domain (CUDA)
//             and category (cuda_runtime, cuda_driver) where it is not one of HIP.
//   thread    thread, name
//   category  domain (of NVTX; absent for the default one), category, name
//   label     what (hip_device, hip_stream, hsa_agent), id, name   (how the program calls one of its things)
//   clock     gpu, ticks, ns   (often at first, then a few times a second while there are ops); the first, of before the
//   first
//             op, with ticks_per_second
//   runtime   name (hsa, hip, cuda, cupti), version, path; of hsa also extension, library, rocm, limits (a list of texts);
//   of
//             cupti also driver
//   slice     start_ns, end_ns   every kernel that began in it was recorded; lite mode of CUDA records such slices only.
//             Written when it is over and its records are in
//   note      text, count   (something was not recorded, and why)
//   cost      worker_cpu_ns, sweeps, bytes   (the collector's own; one for each time that the runtime was loaded)
//   end       ns, reason (exit, unload, signal)   absent when the process was killed
#ifndef WAVESCOPE_CHUNK_FORMAT_H
#define WAVESCOPE_CHUNK_FORMAT_H

#include <stdint.h>

#define WAVESCOPE_CHUNK_MAGIC "WAVESCP1"
#define WAVESCOPE_CHUNK_VERSION 1
#define WAVESCOPE_PAGE_BYTES 4096

enum WavescopeStream {
  WAVESCOPE_STREAM_OPS = 1,
  WAVESCOPE_STREAM_CALLS = 2,
  WAVESCOPE_STREAM_MARKERS = 3,
  WAVESCOPE_STREAM_COUNTERS = 4,
  WAVESCOPE_STREAM_PENDING = 5,
};

typedef struct WavescopeStreamHeader {  // with what was dropped padded to one page
  char magic[8];
  uint32_t version;
  uint32_t stream;  // WavescopeStream
  uint32_t record_bytes;  // a reader steps by this, so records may grow at their end
  uint32_t pid;
  uint64_t start_ns;
} WavescopeStreamHeader;

typedef struct WavescopeDroppedOps {
  uint16_t gpu;
  uint16_t queue;
  uint32_t kind;  // WavescopeOpKind
  uint64_t count;
} WavescopeDroppedOps;

#define WAVESCOPE_DROPPED_OPS 252
#define WAVESCOPE_ANY_GPU 0xffff

// Follows the header where the newest records were kept (WAVESCOPE_KEEP): what made room for them is a hole in the file.
typedef struct WavescopeDropped {
  uint64_t records;  // of calls and markers; of ops the places from the first on that are no longer to be read
  uint64_t entries;  // of `ops` that are in use
  // By queue and kind, without dispatches whose times are lost. Those of further queues have one entry for each kind, of
  // WAVESCOPE_ANY_GPU and WAVESCOPE_ALL_QUEUES.
  WavescopeDroppedOps ops[WAVESCOPE_DROPPED_OPS];
} WavescopeDropped;

enum WavescopeOpKind {
  WAVESCOPE_OP_NONE = 0,  // of an op in flight: the runtime refused it, so it never ran
  WAVESCOPE_OP_DISPATCH = 1,
  WAVESCOPE_OP_COPY = 2,
  WAVESCOPE_OP_FILL = 3,
  WAVESCOPE_OP_BARRIER = 4,
  WAVESCOPE_OP_GRAPH_RUN = 5,  // a graph from its first node to its last, where its nodes are not recorded one by one
};

enum WavescopeOpFlags {
  WAVESCOPE_OP_RAW_TICKS = 1,  // start and end are GPU ticks
  WAVESCOPE_OP_APP_SIGNAL = 2,  // the application's own signal carried the times
  WAVESCOPE_OP_TIMES_LOST = 4,  // it ran, but its times are not known: start and end are 0
  WAVESCOPE_OP_GRAPH = 8,  // came in a batch of packets, as graph replays do
  WAVESCOPE_OP_BLOCKS = 16,  // the grid counts workgroups, not work-items
};

typedef struct WavescopeOpRecord {
  uint8_t kind;  // WavescopeOpKind
  uint8_t flags;  // WavescopeOpFlags
  uint16_t gpu;
  uint32_t thread;  // kernel thread id of the submitter
  uint64_t start;
  uint64_t end;
  uint64_t correlation;  // of the call that caused it, unique in the process; 0 when unknown
  uint64_t kernel;  // dispatch: kernel_object; copy and fill: bytes
  uint32_t grid[3];  // dispatch: work-items; copy: source and target GPU (0xffffffff host), engine
  uint16_t workgroup[3];
  uint16_t queue;  // index in the facts; copies: 0xffff
  uint32_t marker;  // id of the innermost open range of the submitting thread; 0 for none
} WavescopeOpRecord;

// The records of the ops stream of CUDA programs, as the header's record_bytes tells.
typedef struct WavescopeGraphOpRecord {
  WavescopeOpRecord op;  // its queue is that of a copy, too
  uint64_t graph_node;  // 0: not of a graph
  uint64_t graph;
} WavescopeGraphOpRecord;

// What the packet processor of a GPU knows as amd_signal_t.
typedef struct WavescopePendingSignal {
  int64_t kind;
  int64_t value;  // 1 until the dispatch is complete; its ticks are there before that
  uint64_t event_mailbox;
  uint64_t event;
  uint64_t start_ticks;
  uint64_t end_ticks;
  uint64_t reserved[2];
} WavescopePendingSignal;

#define WAVESCOPE_PENDING_SLOTS 1024
#define WAVESCOPE_PLACE_NOWHERE UINT64_MAX
#define WAVESCOPE_PLACE_LATER (UINT64_MAX - 1)

typedef struct WavescopePendingBlock {  // the records of the pending stream
  uint64_t filled;  // slots in use, from the first on; stored after their records
  uint8_t spare[WAVESCOPE_PAGE_BYTES - 8];
  // 0: complete if its signal is, which then has the times. Else the record has them, and this is 1 + its place in the ops
  // stream, where it is if that stream is so long; LATER when it has none yet, NOWHERE when it was counted as lost.
  uint64_t places[WAVESCOPE_PENDING_SLOTS];
  WavescopePendingSignal signals[WAVESCOPE_PENDING_SLOTS];
  WavescopeOpRecord records[WAVESCOPE_PENDING_SLOTS];
} WavescopePendingBlock;

enum WavescopeCallFlags {
  WAVESCOPE_CALL_OPEN = 1,  // entered, not yet returned (the process ended inside it)
};

typedef struct WavescopeCallRecord {
  uint8_t kind;  // 1
  uint8_t flags;  // WavescopeCallFlags
  uint16_t function;  // index in the facts
  uint32_t thread;
  uint64_t start;  // ns
  uint64_t end;  // ns; 0 while open
  uint64_t correlation;
  uint64_t stream;
  int32_t result;
  uint32_t marker;
  uint64_t arguments[6];  // as the function's row names them; text arguments are ids of the text stream
} WavescopeCallRecord;

enum WavescopeMarkerKind {
  WAVESCOPE_MARKER_RANGE = 1,  // opened and closed
  WAVESCOPE_MARKER_MARK = 2,  // an instant
  WAVESCOPE_MARKER_OPEN = 3,  // opened; becomes RANGE when closed
};

enum WavescopeMarkerFlags {
  WAVESCOPE_MARKER_START_STOP = 1,  // roctxRangeStartA/Stop: not part of a thread's nesting
  WAVESCOPE_MARKER_OTHER_THREAD = 2,  // closed on another thread than it was opened on
  WAVESCOPE_MARKER_NVTX = 4,
  WAVESCOPE_MARKER_ABANDONED = 8,  // its thread ended and left it open
};

enum WavescopePayloadKind {  // of the number that an NVTX marker carries
  WAVESCOPE_PAYLOAD_NONE = 0,
  WAVESCOPE_PAYLOAD_UINT64 = 1,
  WAVESCOPE_PAYLOAD_INT64 = 2,
  WAVESCOPE_PAYLOAD_DOUBLE = 3,
  WAVESCOPE_PAYLOAD_UINT32 = 4,
  WAVESCOPE_PAYLOAD_INT32 = 5,
  WAVESCOPE_PAYLOAD_FLOAT = 6,
};

typedef struct WavescopeMarkerRecord {
  uint8_t kind;  // WavescopeMarkerKind
  uint8_t flags;  // WavescopeMarkerFlags
  uint16_t depth;  // of push/pop nesting when it was opened
  uint32_t thread;
  uint64_t start;  // ns
  uint64_t end;  // ns; 0 while open, but the end of its thread if that left it open
  uint32_t id;  // from 1, unique in the process
  uint32_t parent;  // id of the range around it on its thread; 0 for none
  uint64_t text;  // id in the text stream
  uint64_t correlation;
  uint32_t domain;  // id in the text stream of the name of its NVTX domain; 0 for the default one
  uint8_t payload_kind;  // WavescopePayloadKind
  uint8_t spare;
  uint16_t category;  // NVTX's number, within the domain; 0 for none
  uint64_t payload;  // the number's bits, in the lowest bytes
} WavescopeMarkerRecord;

enum WavescopeSkipReason {
  WAVESCOPE_SKIP_APP_SIGNAL = 0,  // lite mode leaves dispatches with the application's signal alone
  WAVESCOPE_SKIP_GRAPH_BATCH = 1,  // lite mode leaves batches alone
  WAVESCOPE_SKIP_PAUSED = 2,
  WAVESCOPE_SKIP_FILTER = 3,  // the kernel name does not match --kernel; counted by who reads the records
  WAVESCOPE_SKIP_NOT_INTERCEPTED = 4,
  WAVESCOPE_SKIP_OUTSIDE_SLICES = 5,  // of lite mode of CUDA
  WAVESCOPE_SKIP_REASONS = 6,
};

enum WavescopeLossReason {
  WAVESCOPE_LOSS_BUFFER_FULL = 0,
  WAVESCOPE_LOSS_PENDING_AT_EXIT = 1,
  WAVESCOPE_LOSS_TIMESTAMPS = 2,
  WAVESCOPE_LOSS_SIZE_LIMIT = 3,  // --max-size
  WAVESCOPE_LOSS_NO_SPACE = 4,  // of the disk, or for a file of the process
  WAVESCOPE_LOSS_UNREACHABLE = 5,  // the session's file was gone, cut off or closed to the process
  WAVESCOPE_LOSS_REASONS = 6,
};

#define WAVESCOPE_COPY_QUEUE 0xffff
#define WAVESCOPE_ALL_QUEUES 0xfffe

// One per queue, updated in place by its only writer; one per GPU with queue COPY_QUEUE counts copies instead. Of CUDA
// programs one per GPU with ALL_QUEUES counts kernels, those of graphs too, and is updated by atomic additions.
typedef struct WavescopeCounterRecord {
  uint8_t kind;  // 1
  uint8_t spare;
  uint16_t gpu;
  uint32_t queue;  // index in the facts
  uint64_t packets;  // of any kind, counted independently of records
  uint64_t seen;  // kernel dispatches
  uint64_t timed;
  uint64_t skipped[WAVESCOPE_SKIP_REASONS];
  uint64_t lost[WAVESCOPE_LOSS_REASONS];
} WavescopeCounterRecord;

typedef struct WavescopeTextEntry {  // followed by `bytes` bytes of UTF-8, padded with zeros to a multiple of 8
  uint64_t id;  // from 1
  uint64_t bytes;
} WavescopeTextEntry;

typedef struct WavescopeControlPage {  // mapped by the collector, written by `wavescope start|stop PID` and who copies
  char magic[8];
  uint32_t version;
  uint32_t recording;  // 0 paused, 1 recording
  uint64_t still_until_ns;  // until then no record is dropped, as somebody reads them
  uint32_t dropping;  // 1 while the collector drops records
  uint32_t spare;
} WavescopeControlPage;

#ifdef __cplusplus
static_assert(sizeof(WavescopeStreamHeader) == 32, "header");
static_assert(sizeof(WavescopeOpRecord) == 64, "op");
static_assert(sizeof(WavescopeGraphOpRecord) == 80, "graph op");
static_assert(sizeof(WavescopeCallRecord) == 96, "call");
static_assert(sizeof(WavescopeMarkerRecord) == 64, "marker");
static_assert(sizeof(WavescopeCounterRecord) == 128, "counter");
static_assert(sizeof(WavescopeTextEntry) == 16, "text");
static_assert(sizeof(WavescopePendingSignal) == 64, "signal");
static_assert(sizeof(WavescopePendingBlock) == 35 * WAVESCOPE_PAGE_BYTES, "pending");
static_assert(sizeof(WavescopeControlPage) == 32, "control");
static_assert(sizeof(WavescopeStreamHeader) + sizeof(WavescopeDropped) <= WAVESCOPE_PAGE_BYTES, "dropped");
#endif

#endif
