"""Phases and steps against the truth: precision and recall by GPU time, steps counted exactly.

    .venv/bin/python benchmarks/phases/score.py                  # labelled cases: real, composed, held out
    .venv/bin/python benchmarks/phases/score.py --failed         # only those that are not right
    .venv/bin/python benchmarks/phases/score.py --generated      # recorded and generated traces
    .venv/bin/python benchmarks/phases/score.py --ops 5000000    # also CPU seconds for a large trace
    .venv/bin/python benchmarks/phases/score.py OUT/*.json.gz    # traces of yours that have ranges
    .venv/bin/python benchmarks/phases/score.py --signs structure    # what names say left out

Labelled cases (tests/phase_cases.py) are looked at as every command does. Composed ones are steps of
real traces one after another; held-out ones are drawn by seeds that nobody looks at. Where names are
hashes, unknown is right as well: these are summed up by themselves. The truth of other traces are
their ranges (dropped before they are classified) or what the file is a recording of; that of the
demo its roctx ranges; that of generated traces what their maker did.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np

import wavescope
from tests.phase_cases import (
    HELD_OUT_OTHER_SEEDS,
    HELD_OUT_SEEDS,
    Verdict,
    composed_cases,
    held_out_cases,
    held_out_other_cases,
    labelled_cases,
    stripped_cases,
    verdict,
)
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
    parser.add_argument("--failed", action="store_true", help="list only cases that are not right")
    parser.add_argument("--generated", action="store_true", help="score generated traces")
    parser.add_argument("--signs", choices=SIGNS, default="all", help="which signs count")
    arguments = parser.parse_args()
    if arguments.traces or arguments.generated or arguments.signs != "all":
        _score_structure(arguments)
    elif DATA.is_dir():
        _score_cases(only_failed=arguments.failed)
    else:
        print(f"(no real traces: {DATA} is not there)")
    if arguments.ops:
        _time(arguments.ops)


def _score_cases(*, only_failed: bool) -> None:
    cases = itertools.chain(
        labelled_cases(DATA),
        stripped_cases(DATA),
        composed_cases(DATA),
        held_out_cases(DATA, HELD_OUT_SEEDS),
        held_out_other_cases(DATA, HELD_OUT_OTHER_SEEDS),
    )
    sums: dict[tuple[str, bool], list[Verdict]] = {}
    for case in cases:
        found = verdict(case.make())
        sums.setdefault((case.group, case.is_nameless), []).append(found)
        if not (only_failed and found.is_right(is_nameless=case.is_nameless)):
            print(
                f"{case.group:16} {case.name[:84]:84} {found.claimed:6.1%} claimed, "
                f"{found.right:6.1%} right of {found.true:6.1%}, steps {found.steps} "
                f"of {'?' if found.true_steps is None else found.true_steps}"
            )
    print(f"\n{'cases':34} {'number':>6} {'precision':>9} {'recall':>7} {'steps exact':>12}")
    for (group, is_nameless), found_of_group in sums.items():
        print(_sum_text(group + (", hashed names" if is_nameless else ""), found_of_group))
    named = [each for (_, nameless), found in sums.items() if not nameless for each in found]
    print(_sum_text("all with names", named))


def _sum_text(title: str, found: Sequence[Verdict]) -> str:
    claimed, right, true = (
        sum(values) for values in zip(*((v.claimed, v.right, v.true) for v in found), strict=True)
    )
    counted = [each for each in found if each.true_steps is not None]
    exact = sum(each.steps == each.true_steps for each in counted)
    precision = f"{right / claimed:9.4f}" if claimed else f"{'-':>9}"
    recall = f"{right / true:7.4f}" if true else f"{'-':>7}"
    return f"{title:34} {len(found):6} {precision} {recall} {exact:5} of {len(counted)}"


def _score_structure(arguments: argparse.Namespace) -> None:
    rules = SIGNS[arguments.signs]()
    print(f"{'trace':58} {'prefill':>15} {'decode':>15} {'unclassified':>13} {'steps':>6}")
    print(f"{'':58} {'prec.   recall':>15} {'prec.   recall':>15}")
    given = (_by_ranges(path, path.name) for path in arguments.traces)
    for row in given if arguments.traces else itertools.chain(_real(), _recorded(), _generated()):
        _print(row, rules)


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
