"""Records programs with one known flaw each, for `score.py`: needs PyTorch and a GPU.

    python3 benchmarks/findings/record_scenarios.py OUT
    .venv/bin/python benchmarks/findings/score.py OUT/*.json.gz

Each scenario repeats a step that wastes time in one way, or does the same work without the waste.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, record_function

STEPS = 30
LARGE = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
SMALL = torch.randn(64, 64, device="cuda", dtype=torch.bfloat16)
HOST = torch.randn(16 * 1024 * 1024)
PINNED = HOST.pin_memory()
ON_GPU = torch.empty_like(HOST, device="cuda")
SIDE = torch.cuda.Stream()
OTHER = torch.cuda.Stream()


def well_fed() -> None:
    """Large products, launched far ahead: nothing to complain about."""
    for _ in range(20):
        torch.mm(LARGE, LARGE)


def waits_for_results() -> None:
    """Looks at a result after every few products: the host waits, then the GPU does."""
    for _ in range(10):
        total = torch.mm(LARGE[:2048, :2048], LARGE[:2048, :2048]).sum()
        if total.item() == 0.5:
            raise AssertionError


def busy_host() -> None:
    """Works on the host between products that nobody waits for."""
    for _ in range(10):
        torch.mm(LARGE, LARGE)
        until = time.perf_counter() + 0.001
        while time.perf_counter() < until:
            pass


def many_short_launches() -> None:
    """Hundreds of small operations, launched one by one."""
    value = SMALL
    for _ in range(200):
        value = torch.relu(value + SMALL)


def _captured() -> torch.cuda.CUDAGraph:
    with torch.cuda.stream(SIDE):
        many_short_launches()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(10):
            many_short_launches()
    return graph


GRAPH = _captured()


def the_same_as_a_graph() -> None:
    """The same small operations, launched as one graph."""
    GRAPH.replay()


def copies_from_pageable_memory() -> None:
    """Copies inputs from pageable memory before using them."""
    ON_GPU.copy_(HOST)
    torch.mm(LARGE, LARGE)


def prepares_inputs() -> None:
    """Makes the next input on the host only when the GPU is done, and copies it over."""
    for _ in range(10):
        until = time.perf_counter() + 0.0005
        while time.perf_counter() < until:
            pass
        ON_GPU[:1024].copy_(PINNED[:1024], non_blocking=True)
        torch.mm(LARGE[:1024], LARGE)


def copies_beside_the_work() -> None:
    """Copies inputs from pinned memory while products run."""
    with torch.cuda.stream(SIDE):
        ON_GPU.copy_(PINNED, non_blocking=True)
    for _ in range(20):
        torch.mm(LARGE, LARGE)
    torch.cuda.current_stream().wait_stream(SIDE)


def clears_many_buffers() -> None:
    """Clears small buffers between products."""
    for _ in range(20):
        torch.mm(LARGE[:512, :1024], LARGE[:1024, :512])
        for _ in range(5):
            SMALL.zero_()


def streams_that_take_turns() -> None:
    """Two streams, each waiting for the other's last product."""
    main = torch.cuda.current_stream()
    for _ in range(10):
        torch.mm(LARGE, LARGE)
        OTHER.wait_stream(main)
        with torch.cuda.stream(OTHER):
            torch.mm(LARGE, LARGE)
        main.wait_stream(OTHER)


def streams_side_by_side() -> None:
    """Two streams of products that fill only part of the GPU each."""
    part = LARGE[:1024]
    for _ in range(20):
        torch.mm(part, LARGE)
        with torch.cuda.stream(OTHER):
            torch.mm(part, LARGE)


SCENARIOS: tuple[Callable[[], None], ...] = (
    well_fed,
    waits_for_results,
    busy_host,
    many_short_launches,
    the_same_as_a_graph,
    copies_from_pageable_memory,
    prepares_inputs,
    copies_beside_the_work,
    clears_many_buffers,
    streams_that_take_turns,
    streams_side_by_side,
)


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for scenario in SCENARIOS:
        for _ in range(3):
            scenario()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
            for _ in range(STEPS):
                with record_function("step"):
                    scenario()
            torch.cuda.synchronize()
        recorded.export_chrome_trace(str(out / f"{scenario.__name__}.json.gz"))
        print(scenario.__name__, flush=True)


if __name__ == "__main__":
    main()
