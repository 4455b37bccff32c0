"""What recording adds to a graph's step where nothing else differs: children of one process take turns.

    python3 -m wavescope trace -q --force -m lite -o one.db -- python3 benchmarks/nvidia/one_layout.py --seconds 50

A process keeps one of a few speeds, which comes with where its memory lies: two processes differ by up to 8 % whatever
is recorded. Children that are forked before CUDA is used have the same layout and keep the same speed. Of each pair one
is recorded; the other leaves the variable out by which CUDA's driver loads the collector.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time

import torch
from plain_decoder import PlainDecoder
from step_times import graph_steps, timed_us


def step_us(recorded: bool, options: argparse.Namespace) -> float:
    """The median step of a new process, which ends with it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if not recorded:
            del os.environ["CUDA_INJECTION64_PATH"]
        with torch.no_grad():
            decoder = PlainDecoder("cuda")
            decoder.step()
            decoder.capture()
            timed_us(decoder, options.steps)
            result = graph_steps(decoder, options.rounds, options.steps)
        os.write(writing, json.dumps(result["step_mean_us"]).encode())
        os.close(writing)
        # The collector ends with the process, as it does in any that ends by itself.
        raise SystemExit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        text = said.read()
    os.waitpid(child, 0)
    return float(json.loads(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=900, help="of a round")
    options = parser.parse_args()
    if "CUDA_INJECTION64_PATH" not in os.environ:
        raise SystemExit("run this under `wavescope trace`")
    pairs: list[tuple[float, float]] = []
    end_s = time.monotonic() + options.seconds
    while time.monotonic() < end_s:
        first = len(pairs) % 2 == 0
        one, other = step_us(first, options), step_us(not first, options)
        pairs.append((one, other) if first else (other, one))
    added = sorted(100 * (recorded / alone - 1) for recorded, alone in pairs)
    print(f"{len(pairs)} pairs: {statistics.median(recorded for recorded, _ in pairs):.2f} us recorded, "
          f"{statistics.median(alone for _, alone in pairs):.2f} us alone; "
          f"{statistics.median(added):+.2f} % (least {added[0]:+.2f}, most {added[-1]:+.2f})")  # fmt: skip


if __name__ == "__main__":
    main()
