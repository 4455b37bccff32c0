"""Phases without markers against the truth: precision and recall by GPU time.

    .venv/bin/python benchmarks/phases/score.py                  # real traces, recorded and generated ones
    .venv/bin/python benchmarks/phases/score.py --ops 5000000    # also CPU seconds for a large trace
    .venv/bin/python benchmarks/phases/score.py OUT/*.json.gz    # traces of yours that have ranges
    .venv/bin/python benchmarks/phases/score.py --signs structure    # what names say left out

The truth of real traces are their ranges (dropped before they are classified) or what the file is a
recording of; that of the demo its roctx ranges; that of generated traces what their maker did.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np

import wavescope
from tests.phase_score import (
    Score,
    classified,
    only_signs_of_names,
    only_signs_of_structure,
    scores,
    truth_codes,
    truth_from_markers,
)
from tests.serving_traces import LAYERS, WAYS_OF_SERVING, continuous_batching
from wavescope.analyze.phases.found import FoundPhase, found_phases
from wavescope.analyze.phases.name_signs import PhaseRules, built_in_rules
from wavescope.analyze.steps.trace_steps import repeated_steps
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import OPS
from wavescope.model.trace import Trace

DATA = ROOT.parent / "shared" / "data"
BY_RANGES = (
    "kineto/h200/h200_dense_eager.json.gz",
    "kineto/h200/h200_graph_decode.json.gz",
    "kineto/vllm/vllm_decode_graph_execution.json.gz",
    "kineto/sglang/sglang_Qwen3-8B_decode.json.gz",
)
BY_FILE = (
    ("rocprofv3/gfx1151/prefill_kernel_trace.csv", FoundPhase.PREFILL),
    ("rocprofv3/gfx1151/decode_kernel_trace.csv", FoundPhase.DECODE),
)
SIGNS = {
    "all": built_in_rules,
    "structure": only_signs_of_structure,
    "names": only_signs_of_names,
}


class Row(NamedTuple):
    name: str
    trace: Trace
    truth: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description="score phases without markers")
    parser.add_argument("traces", nargs="*", type=Path, help="score these, by their ranges")
    parser.add_argument("--ops", type=int, default=0, help="time a generated trace of so many ops")
    parser.add_argument("--signs", choices=SIGNS, default="all", help="which signs count")
    arguments = parser.parse_args()
    rules = SIGNS[arguments.signs]()
    print(f"{'trace':58} {'prefill':>15} {'decode':>15} {'unclassified':>13} {'steps':>6}")
    print(f"{'':58} {'prec.   recall':>15} {'prec.   recall':>15}")
    given = (_by_ranges(path, path.name) for path in arguments.traces)
    for row in given if arguments.traces else itertools.chain(_real(), _recorded(), _generated()):
        _print(row, rules)
    if arguments.ops:
        _time(arguments.ops)


def _by_ranges(path: Path, name: str) -> Row:
    trace = wavescope.open(path)
    return Row(name, trace, truth_from_markers(trace))


def _real() -> Iterator[Row]:
    if not DATA.is_dir():
        print(f"(no real traces: {DATA} is not there)")
        return
    yield from (_by_ranges(DATA / name, name) for name in BY_RANGES)
    for name, phase in BY_FILE:
        trace = wavescope.open(DATA / name)
        yield Row(name, trace, np.full(len(trace.ops), phase, np.int8))


def _recorded() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        demo = ["demo", "--program", "hip", "-q", "-o", folder]  # the one with ranges
        command = [sys.executable, "-m", "wavescope", *demo]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        yield _by_ranges(Path(folder) / "trace.db", "wavescope demo")


def _generated() -> Iterator[Row]:
    for (layer_name, layer), serve in itertools.product(LAYERS.items(), WAYS_OF_SERVING):
        for options in ({}, {"knows_sizes": False}):
            served = serve(layer, **options)
            more = ", no launch sizes" if options else ""
            yield Row(
                f"generated: {serve.__name__}, {layer_name}{more}",
                served.trace,
                truth_codes(served.truth),
            )


def _print(row: Row, rules: PhaseRules) -> None:
    phases = classified(row.trace, rules)
    found = scores(row.trace, phases, row.truth)
    durations = row.trace.ops.duration_ns
    unknown = durations[phases.codes == FoundPhase.UNCLASSIFIED].sum() / durations.sum()
    steps = sum(len(steps) for steps in phases.steps.of_lane)
    prefill, decode = (_text(found[phase]) for phase in (FoundPhase.PREFILL, FoundPhase.DECODE))
    print(f"{row.name:58} {prefill:>15} {decode:>15} {unknown:13.1%} {steps:6}")


def _text(score: Score) -> str:
    return "  ".join("  -  " if value is None else f"{value:.3f}" for value in score)


def _time(ops: int) -> None:
    trace = _large(ops)
    trace.op_class  # noqa: B018  shared by all analyses, not part of this one
    for function in (repeated_steps, found_phases):
        seconds = min(_cpu_seconds(function, trace) for _ in range(5))
        print(f"{function.__name__} of {len(trace.ops):,} ops: {seconds:.2f} s CPU, best of 5")


def _cpu_seconds(function: Callable[[Trace], object], trace: Trace) -> float:
    before = time.process_time()
    function(trace)
    return time.process_time() - before


def _large(ops: int) -> Trace:
    """Continuous batching again and again until there are `ops` ops."""
    once = continuous_batching(LAYERS["vllm_rocm"]).trace
    names = [name for name in OPS.column_names if name != "id"]
    times = ops // len(once.ops) + 1
    span_ns = int(once.ops["end_ns"].max()) + 100_000
    columns = {name: np.tile(once.ops[name], times).astype(np.int64) for name in names}
    shift = np.repeat(np.arange(times), len(once.ops))
    for name, step in (("start_ns", span_ns), ("end_ns", span_ns), ("correlation", 1 << 32)):
        columns[name] += shift * step
    builder = TraceBuilder("large", "generated")
    builder.strings.codes(list(once.strings))
    builder.add(OPS, columns)
    return Trace(builder)


if __name__ == "__main__":
    main()
