"""A run of an engine like llama.cpp's benchmark on the hardware queues that HIP may give its streams.

It loads a model, serves prompts on one stream and then tokens on another, and copies the inputs of
each step on a third. Which streams share a queue differs from run to run; the work does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tests.builders import TraceMaker, a_trace
from wavescope.analyze.phases.found import FoundPhase
from wavescope.model.op_kinds import KERNEL_TYPE
from wavescope.model.trace import Trace


class Queues(NamedTuple):
    """The hardware queue of each stream."""

    copies: int
    prompts: int
    tokens: int


QUEUES = {
    "each its own": Queues(0, 1, 2),
    "prompts and tokens on one": Queues(0, 1, 1),
    "all on one": Queues(1, 1, 1),
    "copies among prompts": Queues(1, 1, 2),
    "copies among tokens": Queues(2, 1, 2),
}
COPY_ENGINE = 4
PROMPTS, TOKENS, LAYERS = 6, 20, 4
LOADED = 40
"""Ops before the first step's inputs."""
INPUTS = 5
"""Copies before each step."""
PROMPT_LAYER = ("rms_norm_f32", "mul_mat_q", "rope_norm", "flash_attn_ext_f16", "mul_mat_q")
TOKEN_LAYER = ("rms_norm_f32", "mul_mat_vec_q", "rope_norm", "flash_attn_tile", "mul_mat_vec_q")
HEAD = ("get_rows", "rms_norm_f32", "mul_mat_vec_q")
PROMPT_OPS = LAYERS * len(PROMPT_LAYER) + len(HEAD) + 1
TOKEN_OPS = LAYERS * len(TOKEN_LAYER) + len(HEAD) + 1
"""With the copy of the result, which each step ends with."""


class EngineTrace(NamedTuple):
    """A trace with the phase of each op as the engine meant it."""

    trace: Trace
    phases: npt.NDArray[np.int8]


def engine_trace(queues: Queues) -> EngineTrace:
    """The run on these queues from its start."""
    engine = _Engine(queues)
    engine.load()
    for _ in range(PROMPTS):
        engine.prompt()
    engine.clear_cache()
    return engine.served(TOKENS)


def request_trace(queues: Queues) -> EngineTrace:
    """One request alone, as it is recorded of a server that runs: a prompt and its tokens."""
    engine = _Engine(queues)
    engine.prompt()
    return engine.served(TOKENS)


class _Engine:
    def __init__(self, queues: Queues) -> None:
        self.queues = queues
        self.maker: TraceMaker = a_trace()
        self.phases: list[FoundPhase] = []
        self.now_ns = 1_000

    def served(self, tokens: int) -> EngineTrace:
        for _ in range(tokens):
            self.token()
        return EngineTrace(self.maker.build(), np.array(self.phases, np.int8))

    def load(self) -> None:
        for number in range(LOADED):
            self.pause(100_000)
            if number % 4:
                self.copy_to_gpu(FoundPhase.UNCLASSIFIED)
            else:
                self.runtime("copyBuffer", self.queues.copies, FoundPhase.UNCLASSIFIED)

    def clear_cache(self) -> None:
        """Before the first token."""
        self.pause(1_000_000)
        self.runtime("fillBufferAligned", self.queues.copies, FoundPhase.DECODE)

    def prompt(self) -> None:
        self.pause(2_000_000)
        for number in range(INPUTS):
            # Large inputs take the copy engine, small ones a kernel.
            if number in (0, 2):
                self.copy_to_gpu(FoundPhase.PREFILL)
            else:
                self.runtime("copyBuffer", self.queues.copies, FoundPhase.PREFILL)
        self.pause(500_000)
        self.kernels(PROMPT_LAYER, 512, self.queues.prompts, FoundPhase.PREFILL)

    def token(self) -> None:
        self.pause(30_000)
        for _ in range(INPUTS):
            self.runtime("copyBuffer", self.queues.copies, FoundPhase.DECODE)
        self.pause(20_000)
        self.kernels(TOKEN_LAYER, 1, self.queues.tokens, FoundPhase.DECODE)

    def kernels(self, layer: tuple[str, ...], rows: int, queue: int, phase: FoundPhase) -> None:
        for name in layer * LAYERS:
            self.add(name, 2_000 * rows, queue, phase, grid_x=256 * rows, workgroup_x=256)
        for name in HEAD:
            self.add(name, 2_000, queue, phase, grid_x=256, workgroup_x=256)
        self.runtime("copyBuffer", queue, phase)

    def runtime(self, what: str, queue: int, phase: FoundPhase) -> None:
        self.add(f"__amd_rocclr_{what}", 1_500, queue, phase, grid_x=512, workgroup_x=512)

    def copy_to_gpu(self, phase: FoundPhase) -> None:
        self.add("", 20_000, COPY_ENGINE, phase, type="CopyHostToDevice")

    def add(
        self, name: str, length_ns: int, queue: int, phase: FoundPhase, **values: int | str
    ) -> None:
        row: dict[str, int | str] = {"type": KERNEL_TYPE, "queue": queue, **values}
        self.maker.with_op(name, self.now_ns, self.now_ns + length_ns, **row)
        self.now_ns += length_ns + 500
        self.phases.append(phase)

    def pause(self, length_ns: int) -> None:
        self.now_ns += length_ns
