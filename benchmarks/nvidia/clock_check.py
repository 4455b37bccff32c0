"""The clock: kernels between two readings of the host's clock, and where the trace puts them.

    python3 benchmarks/nvidia/clock_check.py --seconds 60 -o clock.json

`before` and `after` say by how much a recorded kernel begins before its bracket opens or ends after it
closes (0: it lies within, as it must). `room` is the least distance from the bracket's opening to the
kernel's start, and from its end to the closing: the clocks are off by no more than that plus what a
launch and a wait take at least. `against globaltimer`: how much the distance between the recorded
start and the GPU's own timer varies over the run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

from arms import built_cuda, keep, ran, recorded, say, table, tell_failure
from kernel_times import traced_kernels


def measured(load: str, seconds: float, mode: str, folder: Path) -> dict[str, Any] | None:
    log, trace = folder / "log.txt", folder / "clock.db"
    done = ran(
        recorded([built_cuda("brackets"), log, seconds, load], trace, mode),
        patience_s=seconds + 90,
    )
    if done.returncode != 0 or not trace.exists():
        tell_failure(f"clock, {load}", done)
        return None
    brackets = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    kernels = sorted(
        (each.start_ns, each.end_ns)
        for each in traced_kernels(trace)
        if "bracketed_kernel" in each.name
    )
    found: dict[str, Any] = {"brackets": len(brackets), "kernels": len(kernels)}
    if len(brackets) != len(kernels):
        return found
    pairs = list(zip(brackets, kernels, strict=True))
    starts = sorted(start - bracket[0] for bracket, (start, _) in pairs)
    ends = sorted(bracket[1] - end for bracket, (_, end) in pairs)
    timer = [start - bracket[2] for bracket, (start, _) in pairs]
    lengths = [(end - start) - (b[3] - b[2]) for b, (start, end) in pairs]
    return found | {
        "outside": sum(value < 0 for value in starts) + sum(value < 0 for value in ends),
        "before_us": max(0.0, -starts[0] / 1000),
        "after_us": max(0.0, -ends[0] / 1000),
        "start_room_us": starts[0] / 1000,
        "start_median_us": statistics.median(starts) / 1000,
        "end_room_us": ends[0] / 1000,
        "end_median_us": statistics.median(ends) / 1000,
        "timer_us": (max(timer) - min(timer)) / 1000,
        "timer_halves_us": (statistics.median(timer[len(timer) // 2 :])
                            - statistics.median(timer[: len(timer) // 2 + 1])) / 1000,
        "longer_us": statistics.median(lengths) / 1000,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60, help="of each load")
    parser.add_argument("--mode", default="standard")
    parser.add_argument("-o", "--output", type=Path, default=Path("clock.json"))
    options = parser.parse_args()
    rows, results = [], {}
    for load in ("idle", "busy"):
        with tempfile.TemporaryDirectory() as folder:
            found = measured(load, options.seconds, options.mode, Path(folder))
        say(f"{load}: {found}")
        results[load] = found
        keep(options.output, results)
        if found is None or "outside" not in found:
            rows.append([load, str(found)[:60], *[""] * 7])
            continue
        rows.append([load, found["brackets"], found["outside"], f"{found['before_us']:.2f}",
                     f"{found['after_us']:.2f}",
                     f"{found['start_room_us']:.2f} ({found['start_median_us']:.2f})",
                     f"{found['end_room_us']:.2f} ({found['end_median_us']:.2f})",
                     f"{found['timer_us']:.2f}", f"{found['timer_halves_us']:+.2f}"])  # fmt: skip
    heads = ("GPU", "kernels", "outside", "before us", "after us", "room at start us (median)",
             "room at end us (median)", "against globaltimer us", "second half - first")  # fmt: skip
    print(table(heads, rows))


if __name__ == "__main__":
    main()
