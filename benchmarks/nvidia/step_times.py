"""What a decode step and a launch cost in this process; one line of JSON.

    python3 benchmarks/nvidia/step_times.py
    python3 benchmarks/nvidia/step_times.py --torch-profiler

With `--wait` it says `ready` once all is imported, and goes on when it reads a line: before that it has
not touched the GPU, so that another process may be measured meanwhile.

`step_us`: time from step to step of the graph decode loop, by events around rounds of `--steps` steps;
the median round. A round is as long as recording in slices takes from slice to slice, so that each has
its share of it. `step_mean_us` is over all rounds. `launch_us`: CPU time of the launching thread per
launch of a small kernel; `other_us`: CPU time of all other threads meanwhile, per launch; waiting is not
in either. `eager_us`: CPU time of the launching thread per decode step without a graph.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any

import torch
from plain_decoder import PlainDecoder


def graph_steps(decoder: PlainDecoder, rounds: int, steps: int) -> dict[str, Any]:
    """Rounds of graph replays; the GPU is waited for after each."""
    spent_us = [timed_us(decoder, steps) / steps for _ in range(rounds)]
    return {
        "step_us": statistics.median(spent_us),
        "step_mean_us": statistics.fmean(spent_us),
        "rounds_us": [round(each, 3) for each in spent_us],
    }


def timed_us(decoder: PlainDecoder, steps: int) -> float:
    """How long some steps take on the GPU."""
    decoder.synchronize()
    if decoder.device != "cuda":
        start_s = time.perf_counter()
        for _ in range(steps):
            decoder.replay()
        return (time.perf_counter() - start_s) * 1e6
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(steps):
        decoder.replay()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) * 1000


def launches(decoder: PlainDecoder, seconds: float, batch: int = 400) -> dict[str, Any]:
    """Small kernels in batches; only the launching is timed, the GPU is waited for in between."""
    values = torch.zeros(256, device=decoder.device)
    own, count = [], 0
    others_ns = time.process_time_ns() - time.thread_time_ns()
    end_s = time.monotonic() + seconds
    while not own or time.monotonic() < end_s:
        start_ns = time.thread_time_ns()
        for _ in range(batch):
            values.add_(1)
        own.append((time.thread_time_ns() - start_ns) / 1000 / batch)
        count += batch
        decoder.synchronize()
    others_ns = time.process_time_ns() - time.thread_time_ns() - others_ns
    return {
        "launch_us": statistics.median(own),
        "launch_mean_us": statistics.fmean(own),
        "other_us": others_ns / 1000 / count,
        "launches": count,
    }


def eager_steps(decoder: PlainDecoder, seconds: float) -> dict[str, Any]:
    """Decode steps by launches: CPU time of the thread that launches them."""
    spent = []
    end_s = time.monotonic() + seconds
    while len(spent) < 5 or time.monotonic() < end_s:
        start_ns = time.thread_time_ns()
        decoder.step()
        spent.append((time.thread_time_ns() - start_ns) / 1000)
        decoder.synchronize()
    return {"eager_us": statistics.median(spent), "eager_steps": len(spent)}


class Profiled:
    """Under torch.profiler where that is wanted; counts what it recorded."""

    def __init__(self, wanted: bool) -> None:
        self.wanted, self.events = wanted, 0
        self.session: Any = None

    def __enter__(self) -> None:
        if self.wanted:
            from torch.profiler import ProfilerActivity, profile

            cuda = torch.cuda.is_available()
            activity = ProfilerActivity.CUDA if cuda else ProfilerActivity.CPU
            self.session = profile(activities=[activity])
            self.session.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.session is not None:
            self.session.__exit__(*error)
            self.events += len(self.session.profiler.kineto_results.events())
            self.session = None


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Set up, warm up and measure."""
    began_s = time.monotonic()
    small = {} if options.device == "cuda" else {"layers": 2, "hidden": 64, "heads": 4}
    decoder = PlainDecoder(options.device, **small)
    decoder.step()
    if options.device == "cuda":
        decoder.capture()
    # The GPU's clocks rise, and recording in slices has its first slice.
    timed_us(decoder, options.steps)
    launches(decoder, 0.05)
    eager_steps(decoder, 0.05)
    profiled = Profiled(options.torch_profiler)
    result: dict[str, Any] = {"setup_s": round(time.monotonic() - began_s, 2)}
    # A session of the profiler each: what it keeps in memory is let go in between.
    with profiled:
        result |= graph_steps(decoder, options.rounds, options.steps)
    with profiled:
        result |= launches(decoder, options.eager_seconds)
    with profiled:
        result |= eager_steps(decoder, options.eager_seconds)
    result["measured_s"] = round(time.monotonic() - began_s, 2)
    return result | ({"profiled": profiled.events} if options.torch_profiler else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="of graph steps")
    parser.add_argument("--steps", type=int, default=900, help="of a round")
    parser.add_argument("--eager-seconds", type=float, default=0.4, help="of each eager loop")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--torch-profiler", action="store_true")
    parser.add_argument("--wait", action="store_true")
    options = parser.parse_args()
    if options.wait:
        print("ready", flush=True)
        sys.stdin.readline()
    with torch.no_grad():
        result = measured(options)
    print("measured " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
