"""A generated trace in the shape of LLM inference on two GPUs, for `wavescope demo` and tests.

Two ranks share every layer. Prefill launches a few large kernels one by one; each decode step
replays a graph of many small ones. Collectives end on both GPUs together, so the GPU that arrives
first waits in them. Every few steps the host is late. Nothing here was measured: the trace says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wavescope.collect.demo.kernels import (
    DECODE_LAYER,
    PREFILL_LAYER,
    SAMPLING,
    DemoKernel,
)
from wavescope.collect.demo.rank import DemoRank
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import METADATA

FORMAT = "demo"
GENERATED_BY = "wavescope demo: this trace was computed, not measured"
_FIRST_NS = 1_000_000_000_000


@dataclass(frozen=True)
class DemoOptions:
    """How large the trace is; equal options give equal traces."""

    layers: int = 16
    requests: int = 2
    decode_steps: int = 40
    seed: int = 7


def demo_trace(options: DemoOptions | None = None) -> TraceBuilder:
    """The trace as a source, ready to be written or analysed."""
    options = options or DemoOptions()
    builder = TraceBuilder("demo", FORMAT)
    ranks = [DemoRank(builder, rank, _FIRST_NS + 40_000 * rank) for rank in range(2)]
    run = _Run(ranks, np.random.default_rng(options.seed))
    for _ in range(options.requests):
        run.prefill(options.layers)
        run.decode(options.layers, options.decode_steps)
    for rank in ranks:
        rank.finish()
    for tag, value in _METADATA:
        builder.add_row(METADATA, tag=tag, value=value)
    return builder


_METADATA = (
    ("generated_by", GENERATED_BY),
    ("command", "python3 serve.py --model demo-16-layers --tensor-parallel-size 2"),
    ("recording_mode", "full"),
)


class _Run:
    """Moves both ranks through the phases of inference together."""

    def __init__(self, ranks: Sequence[DemoRank], rng: np.random.Generator) -> None:
        self._ranks = ranks
        self._rng = rng

    def prefill(self, layers: int) -> None:
        """Prompt tokens go up, every kernel is launched by its own call."""
        for rank in self._ranks:
            rank.open_range("prefill")
            rank.copy("CopyHostToDevice", 131_072)
        for _ in range(layers):
            self._layer(PREFILL_LAYER, graph=None)
        self._sample(graph=None)
        for rank in self._ranks:
            rank.close_range()

    def decode(self, layers: int, steps: int) -> None:
        """One graph launch per token; the sampled token comes back to the host each time."""
        for rank in self._ranks:
            rank.open_range("decode")
        for step in range(steps):
            for rank in self._ranks:
                rank.open_range("decode step")
                rank.copy("CopyHostToDevice", 4_096)
            graphs = [rank.launch_graph() for rank in self._ranks]
            for _ in range(layers):
                self._layer(DECODE_LAYER, graphs)
            self._sample(graphs)
            for rank in self._ranks:
                # The scheduler of the server is late now and then: the GPU waits for the host.
                rank.host_work(2_800_000 if step % 8 == 7 else 340_000)
                rank.close_range()
        for rank in self._ranks:
            rank.close_range()

    def _sample(self, graph: list[int] | None) -> None:
        self._layer(SAMPLING, graph)
        for rank in self._ranks:
            rank.copy("CopyDeviceToHost", 256)
            rank.synchronize()

    def _layer(self, kernels: Sequence[DemoKernel], graph: list[int] | None) -> None:
        for kernel in kernels:
            durations = self._durations(kernel)
            starts = []
            for index, rank in enumerate(self._ranks):
                if graph is None:
                    rank.launch_kernel(kernel)
                starts.append(rank.next_start_ns(in_graph=graph is not None))
                if graph is not None:
                    rank.use_graph(graph[index])
            ends = [start + length for start, length in zip(starts, durations, strict=True)]
            if kernel.is_collective:
                ends = [max(starts) + min(durations)] * len(ends)
            for rank, start, end in zip(self._ranks, starts, ends, strict=True):
                rank.run_kernel(kernel, start, end)

    def _durations(self, kernel: DemoKernel) -> list[int]:
        spread = self._rng.normal(1.0, 0.04, len(self._ranks)).clip(0.8, 1.4)
        # The second GPU runs at a slightly lower clock, as one of many always does.
        return [
            int(kernel.mean_ns * factor * (1.03 if rank else 1.0))
            for rank, factor in enumerate(spread.tolist())
        ]
