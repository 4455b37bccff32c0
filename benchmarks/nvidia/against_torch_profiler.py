"""The same program under wavescope and under torch.profiler, in processes of their own.

    python3 benchmarks/nvidia/against_torch_profiler.py --rounds 3 -o against.json

Compares how often each kernel ran, its total time, and the time that the GPU was busy. torch.profiler's
JSON is read twice: by wavescope and by a few lines of Python. Counts are those of a round and must agree
in every round. Totals of two processes differ by themselves: the yardstick is how far two rounds of one
and the same tool are from each other, for each kernel (`apart`, the larger one of both tools') and for
the share of the time that lies in kernels within 0.5 %.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from arms import HERE, keep, ran, recorded, say, table, tell_failure
from kernel_times import (
    Kernel,
    busy_ns,
    in_graphs,
    json_ops,
    parted,
    traced_copies,
    traced_kernels,
)

LIMIT_PERCENT = 0.5
TOOLS = ("wavescope", "torch.profiler")
PARTS = ("launches", "graphs")
Totals = dict[str, Any]
Round = dict[str, Totals]


def totals_of(kernels: list[Kernel], copies: list[Kernel]) -> Totals:
    counts: Counter[str] = Counter(kernel.name for kernel in kernels)
    times: Counter[str] = Counter()
    parts: dict[str, Counter[str]] = {part: Counter() for part in PARTS}
    graphs = in_graphs(kernels)
    for kernel in kernels:
        spent_ns = kernel.end_ns - kernel.start_ns
        times[kernel.name] += spent_ns
        parts[PARTS[kernel.launch in graphs]][kernel.name] += spent_ns
    return {
        "counts": dict(counts),
        "times": dict(times),
        **{part: dict(of_part) for part, of_part in parts.items()},
        "busy_ns": busy_ns(kernels),
        "copies": len(copies),
        "copies_ns": sum(copy.end_ns - copy.start_ns for copy in copies),
    }


def by_wavescope(command: list[Any], folder: Path) -> Totals | None:
    output = folder / "wavescope.db"
    labels = folder / "labels.json"
    done = ran(recorded([*command, "--labels", labels], output, "standard"))
    if done.returncode != 0 or not output.exists():
        tell_failure("wavescope trace", done)
        return None
    kernels, as_kernels = parted(traced_kernels(output, marker="measured"))
    found = totals_of(kernels, [*traced_copies(output, marker="measured"), *as_kernels])
    first_ns, last_ns = json.loads(labels.read_text())["measured_ns"]
    whole = parted(traced_kernels(output))[0]
    found["by_host_times"] = sum(first_ns <= each.start_ns < last_ns for each in whole)
    found["all_kernels"] = len(whole)
    return found


def by_torch_profiler(command: list[Any], folder: Path) -> Totals | None:
    output = folder / "kineto.json"
    done = ran([*command, "--torch-profiler", output])
    if done.returncode != 0 or not output.exists():
        tell_failure("torch.profiler", done)
        return None
    ops = json_ops(output)
    found = totals_of(ops.kernels, ops.copies)
    read = totals_of(parted(traced_kernels(output))[0], [])
    found["read_the_same"] = all(found[part] == read[part] for part in ("counts", "busy_ns"))
    found["copies_as_kernels"] = ops.copies_as_kernels
    return found


def percent(value: float, reference: float) -> float:
    return 100 * (value - reference) / reference if reference else 0.0


def apart(values: list[float]) -> float:
    """How far values of equal runs are from each other, in percent of the least."""
    return percent(max(values), min(values)) if values and min(values) > 0 else 0.0


def compared(rounds: list[Round], name: str) -> dict[str, Any]:
    """Counts and totals of one kernel in both tools."""
    ours, theirs = ([each[tool]["times"].get(name, 0) for each in rounds] for tool in TOOLS)
    counts = [sorted({each[tool]["counts"].get(name, 0) for each in rounds}) for tool in TOOLS]
    return {
        "counts": counts[0],
        "torch_counts": counts[1],
        "ms": statistics.median(ours) / 1e6,
        "torch_ms": statistics.median(theirs) / 1e6,
        "percent": percent(statistics.median(ours), statistics.median(theirs)),
        "apart": max(apart(ours), apart(theirs)),
    }


def near_share(times: dict[str, int], others: dict[str, int]) -> float:
    """How much of the kernel time, in percent, lies in kernels whose totals agree within 0.5 %."""
    near_ns = sum(
        spent_ns
        for name, spent_ns in others.items()
        if abs(percent(times.get(name, 0), spent_ns)) <= LIMIT_PERCENT
    )
    total_ns = sum(others.values())
    return 100 * near_ns / total_ns if total_ns else 0.0


def yardsticks(rounds: list[Round]) -> list[list[Any]]:
    """Pairs of rounds of one tool, and of both: how alike they are, single launches and graphs."""
    of_tool = {tool: [each[tool] for each in rounds] for tool in TOOLS}
    groups: dict[str, Iterable[tuple[Totals, Totals]]] = {
        **{f"{tool} and itself": itertools.combinations(of_tool[tool], 2) for tool in TOOLS},
        "wavescope and torch.profiler": itertools.product(*of_tool.values()),
    }
    rows = []
    for name, group in groups.items():
        pairs = list(group)
        if not pairs:
            continue
        near = [
            f"{statistics.median(near_share(one[part], other[part]) for one, other in pairs):.1f} %"
            for part in ("times", *PARTS)
        ]
        busy = [abs(percent(one["busy_ns"], other["busy_ns"])) for one, other in pairs]
        rows.append(
            [name, len(pairs), *near, f"{statistics.median(busy):.3f} %", f"{max(busy):.3f} %"]
        )
    return rows


def facts_of(rounds: list[Round], kernels: dict[str, dict[str, Any]]) -> list[list[Any]]:
    """What a table of single values says."""
    ours, theirs = ([each[tool] for each in rounds] for tool in TOOLS)
    total_ms = sum(each["ms"] for each in kernels.values())
    same = [each for each in kernels.values() if each["counts"] == each["torch_counts"]]
    near = [each for each in kernels.values() if abs(each["percent"]) <= LIMIT_PERCENT]
    noisy = [
        each for each in kernels.values() if LIMIT_PERCENT < abs(each["percent"]) <= each["apart"]
    ]
    shares = [
        f"{100 * sum(each['ms'] for each in part) / total_ms if total_ms else 0:.1f} % of the time"
        for part in (near, noisy)
    ]
    busy, sums = (
        [statistics.median(map(value, part)) / 1e6 for part in (ours, theirs)]
        for value in (lambda part: part["busy_ns"], lambda part: sum(part["times"].values()))
    )
    by_times = all(each["by_host_times"] == sum(each["counts"].values()) for each in ours)
    as_kernels = theirs[0]["copies_as_kernels"]
    return [
        ["rounds", len(rounds), ""],
        ["kernel names", len(kernels), f"{len(same)} with equal counts in every round"],
        ["kernels of a round", sum(ours[0]["counts"].values()),
         f"torch.profiler {sum(theirs[0]['counts'].values())}"],
        ["copies within the GPU", ours[0]["copies"],
         f"torch.profiler {theirs[0]['copies']}, {as_kernels} of them told as kernels memcpy32_post"],
        ["names within 0.5 %", len(near), shares[0]],
        ["names no farther than rounds of one tool", len(noisy), shares[1]],
        ["kernel time ms", f"{sums[0]:.3f}", f"torch.profiler {sums[1]:.3f}: {percent(*sums):+.3f} %"],
        ["busy time ms", f"{busy[0]:.3f}", f"torch.profiler {busy[1]:.3f}: {percent(*busy):+.3f} %"],
        ["JSON read the same by wavescope", all(each["read_the_same"] for each in theirs), ""],
        ["kernels in `measured` by marker and by host times", by_times, ""],
    ]  # fmt: skip


def show(rounds: list[Round], rows_shown: int) -> dict[str, Any]:
    names = {name for each in rounds for tool in TOOLS for name in each[tool]["counts"]}
    kernels = {name: compared(rounds, name) for name in names}
    order = sorted(kernels, key=lambda name: -kernels[name]["ms"])
    rows = [
        [name[:60], *(",".join(map(str, kernels[name][key])) for key in ("counts", "torch_counts")),
         f"{kernels[name]['ms']:.3f}", f"{kernels[name]['torch_ms']:.3f}",
         f"{kernels[name]['percent']:+.2f} %", f"{kernels[name]['apart']:.2f} %"]
        for name in order[:rows_shown]
    ]  # fmt: skip
    heads = ("kernel", "count", "torch's", "total ms", "torch's", "difference", "apart")
    print(table(heads, rows), "\n")
    facts, alike = facts_of(rounds, kernels), yardsticks(rounds)
    print(table(("fact", "wavescope", "beside it"), facts), "\n")
    heads = ("two rounds of", "pairs", "time in kernels within 0.5 %", "of launches", "of graphs",
             "busy time apart", "most")  # fmt: skip
    print(table(heads, alike))
    for name in order:
        each = kernels[name]
        if each["counts"] != each["torch_counts"]:
            print(f"counts differ: {name[:200]}: {each['counts']} and {each['torch_counts']}")
    return {"kernels": kernels, "facts": facts, "yardsticks": alike}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=150, help="no round is begun later")
    parser.add_argument("--rows", type=int, default=15)
    parser.add_argument("-o", "--output", type=Path, default=Path("against_torch_profiler.json"))
    parser.add_argument("program", nargs="*", help="options of decoder.py, after --")
    options = parser.parse_args()
    program = ["--requests", "1", "--steps", "24", *options.program]
    command = [sys.executable, HERE / "decoder.py", *program]
    began_s, longest_s = time.monotonic(), 0.0
    rounds: list[Round] = []
    for number in range(options.rounds):
        round_s = time.monotonic()
        if number and round_s - began_s + longest_s > options.seconds:
            break
        with tempfile.TemporaryDirectory() as folder:
            ours = by_wavescope(command, Path(folder))
            say(f"round {number + 1}: wavescope {'recorded' if ours else 'failed'}")
            theirs = by_torch_profiler(command, Path(folder))
            say(f"round {number + 1}: torch.profiler {'recorded' if theirs else 'failed'}")
        if ours and theirs:
            rounds.append({"wavescope": ours, "torch.profiler": theirs})
            keep(options.output, {"rounds": rounds})
        longest_s = max(longest_s, time.monotonic() - round_s)
    if not rounds:
        raise SystemExit("no round has both traces")
    keep(options.output, {"rounds": rounds, **show(rounds, options.rows)})


if __name__ == "__main__":
    main()
