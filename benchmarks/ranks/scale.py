"""What many ranks of a million ops each cost: CPU, memory, bytes that travel, and the reduce.

    python benchmarks/ranks/scale.py --ranks 8 64 512
    python benchmarks/ranks/scale.py --ranks 64 --engines pool dask     # side by side
    python benchmarks/ranks/scale.py --ranks 64 --engines pool cluster  # a cluster that runs already
    python benchmarks/ranks/scale.py --ranks 8 --calls                  # with launches and arguments
    python benchmarks/ranks/scale.py --ranks 8 64 --command             # the whole command as well

Files are written on the fly and removed (--keep FOLDER keeps them for the next run): one for each of
the first --distinct ranks of a job that is coherent, 70 MB each (145 MB with calls). More ranks are
hard links to these, read in full each; before the reduce their digests get rank, host and clock of
their own. Each measurement runs in a fresh process whose children are the workers only, so that
their CPU and peak memory are theirs alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE)]

import numpy as np
from large_files import Shape, clock_of, exchange_ends, write_rank

from wavescope.analyze.ranks.digest import DigestOptions, RankDigest
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.result import FileState, RanksOptions, ranks_result
from wavescope.api.rank_digests import digest_task, read_digests
from wavescope.process import keep_freed_memory
from wavescope.workers import EngineOptions, Outcome, run_all

_TITLES = (
    ("ranks", "ranks", "{}"),
    ("engine", "engine", "{}"),
    ("workers", "workers", "{}"),
    ("cpu_s", "CPU s", "{:.1f}"),
    ("cpu_per_rank_s", "s per rank", "{:.3f}"),
    ("own_cpu_s", "own CPU s", "{:.1f}"),
    ("wall_s", "wall s", "{:.1f}"),
    ("worker_mb", "MB per worker", "{:.0f}"),
    ("digest_bytes", "bytes per digest", "{:.0f}"),
    ("reduce_s", "reduce CPU s", "{:.2f}"),
    ("own_mb", "own MB", "{:.0f}"),
)


def main() -> None:
    options = _arguments()
    if options.measure:
        print(json.dumps(measured(options)))
        return
    print("  ".join(f"{title:>16}" for _, title, _ in _TITLES), flush=True)
    with ExitStack() as stack:
        folder = options.keep or Path(
            stack.enter_context(tempfile.TemporaryDirectory(dir=options.scratch))
        )
        for count in options.ranks:
            files = written(folder, options, count)
            for engine in options.engines:
                row = _in_fresh_process(options, files, count, engine)
                shown = [text.format(row[name]) for name, _, text in _TITLES]
                print("  ".join(f"{cell:>16}" for cell in shown), flush=True)
            if options.command:
                _print_command(files, count, options)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--ranks", type=int, nargs="+", default=[8])
    parser.add_argument("--ops", type=int, default=1_000_000)
    parser.add_argument("--calls", action="store_true", help="files with launches and arguments")
    parser.add_argument("--distinct", type=int, default=64, help="files that are no links")
    parser.add_argument(
        "--engines", nargs="+", choices=["pool", "dask", "cluster"], default=["pool"]
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=Path, help="a folder for the files, used again if there")
    parser.add_argument("--scratch", type=Path, help="where the temporary folder is made")
    parser.add_argument("--command", action="store_true", help="run `wavescope ranks` as well")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def written(folder: Path, options: argparse.Namespace, count: int) -> Path:
    """The folder with a file for each of `count` ranks."""
    shape = Shape(count, options.ops, options.calls)
    files = folder / f"{count}_ranks_{options.ops}_{'calls' if options.calls else 'ops'}"
    files.mkdir(parents=True, exist_ok=True)
    distinct = min(count, options.distinct)
    missing = [rank for rank in range(distinct) if not _file(files, rank).exists()]
    if missing:
        ends = exchange_ends(shape, distinct)
        with ProcessPoolExecutor(options.workers) as pool:
            wanted = [
                pool.submit(write_rank, _file(files, rank), shape, rank, ends) for rank in missing
            ]
            for each in wanted:
                each.result()
    for rank in range(distinct, count):
        if not _file(files, rank).exists():
            _file(files, rank).hardlink_to(_file(files, rank % distinct))
    return files


def _file(folder: Path, rank: int) -> Path:
    return folder / f"rank_{rank:04d}.db"


def _in_fresh_process(
    options: argparse.Namespace, files: Path, count: int, engine: str
) -> dict[str, object]:
    command = [sys.executable, __file__, "--measure", str(files), "--ranks", str(count)]
    command += ["--engines", engine, "--workers", str(options.workers), "--ops", str(options.ops)]
    command += ["--distinct", str(options.distinct)]
    # As every command has it (`wavescope.process`).
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=one_thread)
    result: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return result


def measured(options: argparse.Namespace) -> dict[str, object]:
    """Digests all files, reduces the digests, and says what both cost."""
    keep_freed_memory()
    count, engine = options.ranks[0], options.engines[0]
    paths = [str(_file(options.measure, rank)) for rank in range(count)]
    if engine == "cluster":
        outcomes, used = _on_cluster(paths, options.workers)
    else:
        outcomes, used = _with_own_workers(paths, options.workers, engine)
    answers = [outcome.value for outcome in outcomes if outcome.value is not None]
    if len(answers) != count:
        raise SystemExit(f"{count - len(answers)} files were not read")
    own = time.process_time()
    digests = _own_ranks([read_digests(answer)[0] for answer in answers], options, count)
    reading_s = time.process_time() - own
    reduce_s, table_count = _reduced(digests)
    return {
        "ranks": count,
        "engine": engine,
        "workers": options.workers,
        "cpu_s": used.workers_cpu_s,
        "cpu_per_rank_s": used.workers_cpu_s / count,
        "own_cpu_s": used.own_cpu_s,
        "wall_s": used.wall_s,
        "worker_mb": used.worker_mb,
        "digest_bytes": float(np.mean([len(answer) for answer in answers])),
        "reduce_s": reading_s + reduce_s,
        "own_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "tables": table_count,
    }


class _Used(NamedTuple):
    workers_cpu_s: float
    own_cpu_s: float
    wall_s: float
    worker_mb: float


def _with_own_workers(
    paths: list[str], count: int, engine: str
) -> tuple[list[Outcome[bytes]], _Used]:
    """Workers that are started for these files: all that they use is of them."""
    chosen = EngineOptions(workers=count, scheduler="local" if engine == "dask" else "")
    began, own = time.perf_counter(), time.process_time()
    outcomes = run_all(digest_task(DigestOptions()), paths, chosen)
    wall_s, own_cpu_s = time.perf_counter() - began, time.process_time() - own
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = workers.ru_utime + workers.ru_stime
    return outcomes, _Used(cpu_s, own_cpu_s, wall_s, workers.ru_maxrss / 1024)


def _on_cluster(paths: list[str], count: int) -> tuple[list[Outcome[bytes]], _Used]:
    """On a cluster that runs already and never had a file; its scheduler is counted as ours."""
    from running_cluster import running_cluster

    with running_cluster(count) as cluster:
        workers_s, scheduler_s = cluster.worker_cpu_s(), cluster.scheduler_cpu_s()
        began, own = time.perf_counter(), time.process_time()
        outcomes = run_all(
            digest_task(DigestOptions()), paths, EngineOptions(scheduler=cluster.address)
        )
        wall_s, own_cpu_s = time.perf_counter() - began, time.process_time() - own
        return outcomes, _Used(
            cluster.worker_cpu_s() - workers_s,
            own_cpu_s + cluster.scheduler_cpu_s() - scheduler_s,
            wall_s,
            float("nan"),  # processes of the workers have files, and have ended
        )


def _reduced(digests: list[RankDigest]) -> tuple[float, int]:
    """CPU seconds from digests to the whole result, and how many tables that has."""
    began = time.process_time()
    job = job_of(digests, range(len(digests)))
    files = [
        FileState(digest.path, rank, "", digest.op_count) for rank, digest in enumerate(digests)
    ]
    result = ranks_result(job, files, RanksOptions())
    return time.process_time() - began, len(result.tables)


def _own_ranks(
    digests: list[RankDigest], options: argparse.Namespace, count: int
) -> list[RankDigest]:
    """Digests of links as if their files were of ranks of their own."""
    distinct = min(count, options.distinct)
    shape = Shape(count, options.ops)
    return [
        digest if rank < distinct else _as_rank(digest, rank, clock_of(shape, rank).offset_ns)
        for rank, digest in enumerate(digests)
    ]


def _as_rank(digest: RankDigest, rank: int, shift_ns: int) -> RankDigest:
    collectives, steps, bins = digest.collectives, digest.steps, digest.bins
    # Ends that are equal to the last nanosecond would tell copies from all other ranks.
    jitter_ns = np.random.default_rng(rank).integers(0, 3_000, len(collectives))
    host = f"node-{rank // 8:03d}"
    return replace(
        digest,
        identity=replace(digest.identity, rank=rank, host=host, gpu_uuid=f"GPU-{rank:08x}"),
        first_ns=digest.first_ns + shift_ns,
        last_ns=digest.last_ns + shift_ns,
        collectives=replace(
            collectives,
            start_ns=collectives.start_ns + shift_ns,
            end_ns=collectives.end_ns + shift_ns + jitter_ns,
        ),
        steps=replace(steps, start_ns=steps.start_ns + shift_ns, end_ns=steps.end_ns + shift_ns),
        bins=replace(bins, first_ns=bins.first_ns + shift_ns),
    )


def _print_command(files: Path, count: int, options: argparse.Namespace) -> None:
    """What the command takes; links have the ranks of other files, so only without them."""
    if count > options.distinct:
        return
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    command = [sys.executable, "-m", "wavescope", "ranks", str(files), "--json"]
    command += ["--workers", str(options.workers)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    wall_s = time.perf_counter() - began
    print(
        f"wavescope ranks, {count} ranks: {cpu_s:.1f} CPU s, {wall_s:.1f} s,"
        f" {len(done.stdout)} bytes of JSON",
        flush=True,
    )


if __name__ == "__main__":
    main()
