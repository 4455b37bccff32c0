"""Traces whose phases and steps are known, real and put together from real steps, and how well a
claim about them holds. `benchmarks/phases/score.py` prints what `tests/real` checks."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import wavescope
from tests.composed_traces import RealStep, Spoiled, composed, marked_passes, whole_trace
from tests.engine_queues import COPY_ENGINE, QUEUES, Queues
from tests.phase_score import PHASE_WORDS, UNKNOWN, truth_from_markers, without_markers
from wavescope.analyze.phases import PhaseAssignment, phases_of
from wavescope.analyze.phases.found import FoundPhase
from wavescope.analyze.steps import steps_of
from wavescope.model.trace import Trace

P, D, NO_PHASE = FoundPhase.PREFILL, FoundPhase.DECODE, FoundPhase.UNCLASSIFIED
TOLERATED = 0.02
"""Of a case's GPU time: ops at the edges of steps that copies and lookups belong to."""
HELD_OUT_SEEDS = range(1_000, 1_040)
HELD_OUT_OTHER_SEEDS = range(2_000, 2_015)


@dataclass(frozen=True)
class PhaseCase:
    """A trace with its truth, which is made when it is asked for."""

    group: str
    name: str
    make: Callable[[], Known]
    is_nameless: bool = False
    """Whether names tell little: unknown is right as well."""


class Known(NamedTuple):
    """A trace, of each op the phase (-1 where it does not count), and the number of steps."""

    trace: Trace
    truth: np.ndarray
    step_count: int | None


class Verdict(NamedTuple):
    """Shares of a case's GPU time, and its steps."""

    claimed: float
    right: float
    true: float
    steps: int
    true_steps: int | None

    def is_right(self, *, is_nameless: bool) -> bool:
        """Whether what is claimed holds, and all there is is claimed unless names tell little."""
        if self.claimed - self.right > TOLERATED:
            return False
        has_steps = self.true_steps is None or self.steps == self.true_steps
        if is_nameless:
            return has_steps or self.steps == 0
        return has_steps and self.true - self.right <= TOLERATED


def verdict(known: Known) -> Verdict:
    """What `phases` and `steps` say of a trace, against what is known."""
    phases = phases_of(known.trace)
    said = said_phases(phases)
    durations = known.trace.op_length_ns * (known.truth != UNKNOWN)
    whole = max(float(durations.sum()), 1.0)
    is_claimed = np.isin(said, (P, D))
    return Verdict(
        float(durations[is_claimed].sum()) / whole,
        float(durations[is_claimed & (said == known.truth)].sum()) / whole,
        float(durations[np.isin(known.truth, (P, D))].sum()) / whole,
        len(steps_of(known.trace)),
        known.step_count,
    )


def said_phases(phases: PhaseAssignment) -> np.ndarray:
    """For each op the phase that the name of its own says."""
    of_label = [
        next((phase for word, phase in PHASE_WORDS.items() if word in label.lower()), NO_PHASE)
        for label in phases.labels
    ]
    said: np.ndarray = np.array([*of_label, NO_PHASE], np.int8)[phases.codes]
    return said


def labelled_cases(data: Path) -> Iterator[PhaseCase]:
    """The traces of labels.json as they were recorded."""
    labels = json.loads((data / "kineto" / "labels.json").read_text())
    for name, label in labels.items():
        if not name.startswith("_"):
            path = data / "kineto" / name
            yield PhaseCase("real", name, _of_label(path, label["phase"], label["steps"]))


def _of_label(path: Path, phase: str | None, steps: int | None) -> Callable[[], Known]:
    def known() -> Known:
        trace = wavescope.open(path)
        if phase is None or " and " not in phase:
            code = NO_PHASE if phase is None else PHASE_WORDS[phase]
            return Known(trace, np.full(len(trace.ops), code, np.int8), steps)
        return Known(trace, truth_from_markers(trace), steps)

    return known


STRIPPED = (
    ("kineto/truth/vllm_piecewise_mi300x.json.gz", P, 1),
    ("kineto/truth/sglang_extend_mi300x.json.gz", P, 1),
    ("kineto/truth/llama_only_prefill_h200.json.gz", P, 6),
    ("kineto/truth/llama_assisted_h200.json.gz", None, 12),
    ("kineto/vllm/vllm_decode_graph_execution.json.gz", D, 1),
    ("kineto/sglang/sglang_Qwen3-8B_decode.json.gz", D, 1),
    ("kineto/h200/h200_dense_eager.json.gz", None, 34),
    ("kineto/h200/h200_graph_decode.json.gz", None, 195),
    ("kineto/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", P, None),
    ("kineto/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", P, None),
    ("rocprofv3/gfx1151/prefill_kernel_trace.csv", P, None),
    ("rocprofv3/gfx1151/decode_kernel_trace.csv", D, None),
    ("kineto/truth/owlv2_mi300x.json.gz", NO_PHASE, 5),
    ("kineto/truth/timesformer_h100.json.gz", NO_PHASE, None),
    ("kineto/truth/vit_mi300x.json.gz", NO_PHASE, None),
    ("kineto/truth/flux_capture_mi300x.json.gz", NO_PHASE, None),
    ("kineto/truth/normalization_mi300x.json.gz", NO_PHASE, None),
    ("kineto/truth/training_control.json.gz", NO_PHASE, 6),
    ("kineto/truth/training_nccl.json.gz", NO_PHASE, None),
    ("kineto/truth/training_test.json.gz", NO_PHASE, None),
    ("kineto/mi300/gaunernst_bert-small-uncased__1016001.json.gz", NO_PHASE, 1),
    ("kineto/h100/gaunernst_bert-small-uncased__1016001.json.gz", NO_PHASE, 1),
    ("kineto/mi210/gpu_only_trace.json.gz", NO_PHASE, None),
    ("rocprofv3/908_results.json.gz", NO_PHASE, None),
)
"""Traces to be looked at without markers: phase (None for what ranges say) and steps."""
RECORDED = ("rtl/hip_4gpu.db", "rtl/ctypes_markers.db", "rocprofv3/rocpd_v3_sample.db")
"""Recorded on the software GPU, or made from counters: no language model."""
LLAMA_BENCH = "llamacpp/llama_bench_q4_gfx90a.db"
"""Four prompts on one queue, then 193 tokens on another: `-p 128 -n 64 -r 3` with a warm-up each.

What HIP's calls in it say of copies and fills: 47 load the model; nine bring the inputs of each step,
and one its result; between prompts and tokens a fill clears the cache for the tokens."""
LLAMA_LOADS = 47


def stripped_cases(data: Path) -> Iterator[PhaseCase]:
    for name, phase, steps in STRIPPED:
        yield PhaseCase("without markers", name, _stripped(data / name, phase, steps))
    for name in RECORDED:
        yield PhaseCase("software GPU", name, _stripped(data / name, NO_PHASE, None))
    for name, queues in QUEUES.items():
        yield PhaseCase(
            "software GPU", f"{LLAMA_BENCH}, {name}", _llama_bench(data / LLAMA_BENCH, queues)
        )


def _stripped(path: Path, phase: FoundPhase | None, steps: int | None) -> Callable[[], Known]:
    def known() -> Known:
        trace = wavescope.open(path)
        truth = (
            truth_from_markers(trace) if phase is None else np.full(len(trace.ops), phase, np.int8)
        )
        return Known(without_markers(trace), truth, steps)

    return known


def _llama_bench(path: Path, queues: Queues) -> Callable[[], Known]:
    """The recording as it would be if HIP had given its streams these hardware queues."""

    def known() -> Known:
        trace = wavescope.open(path)
        starts, queue = trace.ops["start_ns"], trace.ops["queue"]
        last_of_prompts = starts[queue == 1].max()
        truth = np.where(starts <= last_of_prompts, P, D).astype(np.int8)
        truth[np.argsort(starts, kind="stable")[:LLAMA_LOADS]] = NO_PHASE
        queue[:] = np.array([*queues, 3, COPY_ENGINE])[queue]
        return Known(trace, truth, 4 + 193)

    return known


class Passes(NamedTuple):
    """Real steps of one engine."""

    prefills: list[RealStep]
    decodes: list[RealStep]


@lru_cache(maxsize=1)
def engines(data: Path) -> dict[str, Passes]:
    """Steps of both phases by engine."""
    kineto = data / "kineto"
    dense = marked_passes(wavescope.open(kineto / "h200" / "h200_dense_eager.json.gz"))

    def whole(name: str, phase: FoundPhase) -> list[RealStep]:
        return [whole_trace(wavescope.open(kineto / name), phase)]

    return {
        "sglang": Passes(
            whole("truth/sglang_extend_mi300x.json.gz", P),
            whole("sglang/sglang_Qwen3-8B_decode.json.gz", D),
        ),
        "vllm": Passes(
            whole("truth/vllm_piecewise_mi300x.json.gz", P),
            whole("vllm/vllm_decode_graph_execution.json.gz", D),
        ),
        "eager": Passes(
            [step for step in dense if step.phase == P], [step for step in dense if step.phase == D]
        ),
    }


PATTERNS = {
    "one prefill": "P",
    "one decode": "D",
    "two prefills": "PP",
    "only prefills": "PPPPPP",
    "only decodes": "DDDDDDDD",
    "one request": "PDDDDDDDD",
    "two requests": "PDDDDDDPDDDD",
    "in turn": "PDPDPDPDPD",
    "no repetition": "PD",
}
SPOILED = {
    "in turn, 0.5 % lost": ("PDPDPDPDPDPD", Spoiled(lost_share=0.005, seed=2)),
    "one request, no sizes": ("PDDDDDDDD", Spoiled(knows_sizes=False, seed=3)),
    "one request, hashed": ("PDDDDDDDD", Spoiled(hashed_share=1.0, seed=4)),
    "only prefills, hashed": ("PPPPP", Spoiled(hashed_share=1.0, seed=5)),
    "one request, half hashed": ("PDDDDDDDD", Spoiled(hashed_share=0.5, seed=6)),
}


def composed_cases(data: Path) -> Iterator[PhaseCase]:
    for engine in ("sglang", "vllm", "eager"):
        for name, pattern in PATTERNS.items():
            yield PhaseCase("composed", f"{engine}, {name}", _composed(data, engine, pattern))
        for name, (pattern, spoiled) in SPOILED.items():
            yield PhaseCase(
                "composed",
                f"{engine}, {name}",
                _composed(data, engine, pattern, spoiled),
                spoiled.hashed_share > 0,
            )


def held_out_cases(data: Path, seeds: Sequence[int]) -> Iterator[PhaseCase]:
    """Requests drawn at random, which nobody looks at while rules are made."""
    for seed in seeds:
        draw = random.Random(seed)
        engine = draw.choice(("sglang", "vllm", "eager"))
        pattern = "".join(
            "P" * draw.randint(0, 3) + "D" * draw.choice((0, 1, 2, 5, 12))
            for _ in range(draw.randint(1, 6))
        )
        spoiled = Spoiled(
            lost_share=draw.choice((0.0, 0.0, 0.002, 0.005)),
            hashed_share=draw.choice((0.0, 0.0, 0.0, 0.3, 1.0)),
            gap_ns=draw.choice((2_000, 20_000, 200_000)),
            knows_sizes=draw.random() < 0.8,
            seed=seed,
        )
        yield PhaseCase(
            "held out",
            f"{seed}: {engine} {pattern or 'P'} {spoiled}",
            _composed(data, engine, pattern or "P", spoiled),
            spoiled.hashed_share > 0,
        )


def _composed(
    data: Path, engine: str, pattern: str, spoiled: Spoiled | None = None
) -> Callable[[], Known]:
    def known() -> Known:
        passes = engines(data)[engine]
        counts = {"P": 0, "D": 0}
        steps = []
        for letter in pattern:
            of_phase = passes.prefills if letter == "P" else passes.decodes
            steps.append(of_phase[counts[letter] % len(of_phase)])
            counts[letter] += 1
        return Known(*composed(steps, spoiled))

    return known


NOT_SERVING = (
    "truth/vit_mi300x.json.gz",
    "truth/timesformer_h100.json.gz",
    "truth/owlv2_mi300x.json.gz",
    "truth/flux_capture_mi300x.json.gz",
    "truth/training_nccl.json.gz",
    "mi300/gaunernst_bert-small-uncased__1016001.json.gz",
)


def held_out_other_cases(data: Path, seeds: Sequence[int]) -> Iterator[PhaseCase]:
    """Programs that serve no language model, a few times over and mixed."""
    for seed in seeds:
        draw = random.Random(seed)
        names = draw.sample(NOT_SERVING, draw.randint(1, 2))
        order = [draw.choice(names) for _ in range(draw.randint(1, 6))]
        spoiled = Spoiled(draw.choice((0.0, 0.01)), knows_sizes=draw.random() < 0.8, seed=seed)
        yield PhaseCase("held out", f"{seed}: {order}", _repeated(data, order, spoiled))


def _repeated(data: Path, names: Sequence[str], spoiled: Spoiled) -> Callable[[], Known]:
    def known() -> Known:
        steps = [whole_trace(wavescope.open(data / "kineto" / name), NO_PHASE) for name in names]
        trace, truth, _ = composed(steps, spoiled)
        return Known(trace, truth, None)

    return known
