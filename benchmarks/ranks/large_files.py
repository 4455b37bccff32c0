"""Writes large trace files of one job, a rank each, that belong together.

All ranks run the same kernels with noise of their own and wait for each other in each collective,
as in tests/rank_jobs but made of whole columns: a million ops of a rank take seconds to write.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np
import orjson

from tests.rank_jobs.machine import nccl_kernel
from tests.rank_jobs.truth import TrueClock
from wavescope.formats import ExportOptions, exporter_for
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import AGENTS, CALLS, LINKS, MARKERS, OPS, PROCESSES
from wavescope.model.op_kinds import KERNEL_TYPE, MARKER_TYPE
from wavescope.model.progress import no_progress

OPS_PER_STEP = 2_000
COLLECTIVES_PER_STEP = 20
NAMES = 150
_SEGMENT = OPS_PER_STEP // COLLECTIVES_PER_STEP - 1
"""Kernels before each collective."""
_TRANSFER_NS = 300_000
_LEAD_NS = 60_000
"""How long before its op a launch is."""
_ALL_REDUCE = nccl_kernel("AllReduce_Sum_bf16_RING_LL")


@dataclass(frozen=True)
class Shape:
    """What the files are like."""

    ranks: int
    """Ranks of the job; files may be of some of them only."""
    ops: int = 1_000_000
    has_calls: bool = False
    """Whether each launch is recorded, and the arguments of each collective."""
    seed: int = 1

    @property
    def steps(self) -> int:
        return max(1, self.ops // OPS_PER_STEP)


def clock_of(shape: Shape, rank: int) -> TrueClock:
    """The clock of a rank: off by up to 5 ms and 20 ppm."""
    rng = np.random.default_rng([shape.seed, 5, rank])
    return TrueClock(int(rng.integers(-5_000_000, 5_000_001)), float(rng.uniform(-20, 20)))


def exchange_ends(shape: Shape, files: int) -> np.ndarray:
    """When each collective has its last member and is through, in true time."""
    sums = np.stack([_lengths(shape, rank).sum(axis=1) for rank in range(files)])
    ends = np.empty(sums.shape[1])
    now = 0.0
    for number, length in enumerate(sums.max(axis=0).tolist()):
        now = ends[number] = now + length + _TRANSFER_NS
    return ends


def write_rank(path: Path, shape: Shape, rank: int, ends: np.ndarray) -> None:
    """Write the trace of one rank."""
    lengths = _lengths(shape, rank)
    begins = np.concatenate(([0.0], ends[:-1]))
    kernel_ends = begins[:, None] + np.cumsum(lengths, axis=1)
    kernel_starts = kernel_ends - lengths + 400
    jitter = np.random.default_rng([shape.seed, 9, rank]).uniform(0, 3_000, len(ends))
    starts = np.concatenate((kernel_starts, kernel_ends[:, -1:] + 1_000), axis=1).ravel()
    finished = np.concatenate((kernel_ends, (ends + jitter)[:, None]), axis=1).ravel()
    finished = np.maximum(finished, starts + 100)
    builder = TraceBuilder(str(path), "generated")
    clock = clock_of(shape, rank)
    _add_ops(builder, shape, clock.own(starts), clock.own(finished))
    step_begins = np.concatenate(([0.0], finished.reshape(shape.steps, -1)[:-1, -1] + 100))
    step_ends = finished.reshape(shape.steps, -1)[:, -1] + 50
    _add_markers(builder, clock.own(step_begins), clock.own(step_ends))
    host = f"node-{rank // 8:03d}"
    builder.add_row(
        PROCESSES, pid=1000 + rank, rank=rank, world_size=shape.ranks, host=host, name="python"
    )
    builder.add_row(
        AGENTS,
        gpu=0,
        process=0,
        local_index=0,
        host=host,
        uuid=f"GPU-{rank:08x}",
        chip="gfx942",
        model="AMD Instinct MI300X",
        clock_mhz=2100,
    )
    path.unlink(missing_ok=True)
    exporter_for(path, "").write(
        builder, path, ExportOptions(gzip=False, short_names=False), no_progress
    )
    builder.close()


def _lengths(shape: Shape, rank: int) -> np.ndarray:
    """[collective, kernel before it]: how long the kernels of a rank take, with the gap before."""
    nominal = np.random.default_rng([shape.seed, 3]).integers(4_000, 60_000, OPS_PER_STEP)
    nominal = nominal.reshape(COLLECTIVES_PER_STEP, -1)[:, :_SEGMENT]
    rng = np.random.default_rng([shape.seed, 4, rank])
    gpu = 1 + rng.uniform(-0.003, 0.003)
    rows = shape.steps * COLLECTIVES_PER_STEP
    noise = rng.standard_normal((rows, _SEGMENT), np.float32) * 0.01 + gpu
    return np.tile(nominal, (shape.steps, 1)) * noise


def _add_ops(builder: TraceBuilder, shape: Shape, start_ns: np.ndarray, end_ns: np.ndarray) -> None:
    count = len(start_ns)
    place = np.arange(count) % OPS_PER_STEP
    is_collective = place % (_SEGMENT + 1) == _SEGMENT
    names = builder.strings.codes([f"Cijk_Alik_Bljk_BBS_BH_MT{16 * n}x64" for n in range(1, NAMES)])
    name = names[place * 7 % len(names)]
    name[is_collective] = builder.strings.code(_ALL_REDUCE)
    ones = np.ones(count, np.int32)
    columns = {
        "gpu": 0 * ones,
        "queue": np.where(is_collective, 20, 7),
        "sequence": 0 * ones,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "name": name,
        "type": builder.strings.code(KERNEL_TYPE) * ones,
        "process": 0 * ones,
        "grid_x": (place + 1) * 256,
        "grid_y": ones,
        "grid_z": ones,
        "workgroup_x": 256 * ones,
        "workgroup_y": ones,
        "workgroup_z": ones,
    }
    if shape.has_calls:
        columns |= {"correlation": np.arange(count) + 1, "thread": ones}
    builder.add(OPS, columns)
    if shape.has_calls:
        _add_calls(builder, shape, start_ns, np.flatnonzero(is_collective))


def _add_calls(
    builder: TraceBuilder, shape: Shape, start_ns: np.ndarray, collectives: np.ndarray
) -> None:
    """A launch for each op, and a record with its arguments around each collective's."""
    count, code = len(start_ns), builder.strings.code
    places = np.insert(np.arange(count), collectives, -1)
    is_record = places < 0
    launch_rows = np.flatnonzero(~is_record)
    begins = np.minimum.accumulate((start_ns - _LEAD_NS)[::-1])[::-1]
    starts, ends = np.empty((2, len(places)), np.int64)
    starts[launch_rows], ends[launch_rows] = begins, begins + 2_000
    starts[is_record], ends[is_record] = begins[collectives] - 200, begins[collectives] + 2_200
    arguments = np.full(len(places), -1, np.int64)
    arguments[is_record] = builder.add_texts(
        [_arguments(shape, number + 1) for number in range(len(collectives))]
    )
    ones = np.ones(len(places), np.int32)
    correlation = np.full(len(places), -1, np.int64)
    correlation[launch_rows] = np.arange(count) + 1
    builder.add(
        CALLS,
        {
            "pid": 1000 * ones,
            "thread": ones,
            "start_ns": starts,
            "end_ns": ends,
            "name": np.where(is_record, code("record_param_comms"), code("hipLaunchKernel")),
            "category": np.where(is_record, code("cpu_op"), code("cuda_runtime")),
            "args": arguments,
            "process": 0 * ones,
            "correlation": correlation,
        },
    )
    builder.add(LINKS, {"call": launch_rows + 1, "op": np.arange(count) + 1})


def _arguments(shape: Shape, sequence: int) -> bytes:
    return orjson.dumps(
        {
            "Collective name": "allreduce",
            "In msg nelems": 8 << 20,
            "Out msg nelems": 8 << 20,
            "Group size": shape.ranks,
            "dtype": "BFloat16",
            "Process Group Name": "0",
            "Process Group Description": "default_pg",
            "Process Group Ranks": "[]",
            "Seq": sequence,
        }
    )


def _add_markers(builder: TraceBuilder, start_ns: np.ndarray, end_ns: np.ndarray) -> None:
    ones = np.ones(len(start_ns), np.int32)
    builder.add(
        MARKERS,
        {
            "start_ns": start_ns,
            "end_ns": end_ns,
            "name": builder.strings.codes([f"step {number}" for number in range(len(start_ns))]),
            "type": builder.strings.code(MARKER_TYPE) * ones,
            "process": 0 * ones,
            "thread": ones,
            "flags": 0 * ones,
        },
    )
