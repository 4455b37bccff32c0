"""Soak: minutes of recording at a high rate of kernels: memory, drops, coverage, sizes of files.

    python3 benchmarks/nvidia/soak.py --minutes 10 -o soak.json

The program (steps.cu) runs alone for a tenth of the time and then recorded, and after that the trace is
written (about a fifth of the time at 75,000 kernels a second). The program's resident memory is read twice
a second; the table has it at the start, after a tenth and at the end, and its slope over the second half.
What the trace has is compared with what the program counted.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from arms import built_cuda, keep, recorded, say, table
from kernel_times import kernel_ends
from kills import STEP, log_of


def resident_kib(pid: int) -> int | None:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    except OSError:
        return None
    return None


def folder_bytes(folder: Path) -> int:
    """Bytes that files below a folder take on disk; files may come and go meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_blocks * 512 if path.is_file() else 0
    return total


def watched(command: list[Any], folder: Path, seconds: float, patience_s: float) -> dict[str, Any]:
    """Run a command; the memory of the program in it and the files it leaves, over time."""
    samples = []
    began_s = time.monotonic()
    with subprocess.Popen(
        [str(part) for part in command],
        env={**os.environ, "TMPDIR": str(folder)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline().split()
        if said[:1] != ["running"]:
            os.killpg(process.pid, signal.SIGKILL)
            return {"failure": process.communicate()[1][-1000:]}
        pid, told_s = int(said[1]), 0.0
        while (kib := resident_kib(pid)) is not None and time.monotonic() - began_s < seconds + 120:
            at_s = time.monotonic() - began_s
            samples.append((round(at_s, 1), kib, folder_bytes(folder)))
            if at_s - told_s > 20:
                told_s = at_s
                say(
                    f"{at_s:.0f} s: {kib / 1024:.0f} MiB resident, {samples[-1][2] / 1e6:.0f} MB of files"
                )
            time.sleep(0.5)
        try:
            output, messages = process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, messages = process.communicate()
    return {
        "samples": samples,
        "said": output.strip(),
        "messages": messages[-1000:],
        "code": process.returncode,
        "ended_s": round(time.monotonic() - began_s, 1),
    }


def memory_row(name: str, run: dict[str, Any]) -> list[Any]:
    samples = run.get("samples", [])
    if len(samples) < 4:
        return [name, run.get("failure", "no samples")[-60:], "", "", "", ""]
    mib = [kib / 1024 for _, kib, _ in samples]
    half = samples[len(samples) // 2 :]
    slope = statistics.linear_regression(
        [s for s, _, _ in half], [k / 1024 for _, k, _ in half]
    ).slope
    return [name, f"{mib[0]:.1f}", f"{mib[len(mib) // 10]:.1f}", f"{mib[-2]:.1f}", f"{max(mib):.1f}",
            f"{slope * 60:+.2f}"]  # fmt: skip


def coverage_of(path: Path) -> list[dict[str, Any]]:
    from wavescope.formats import open_trace

    with open_trace(path) as trace:
        coverage = trace.coverage
        reasons = coverage.strings("reason")
        columns = {
            name: coverage[name].tolist() for name in ("gpu", "seen", "timed", "skipped", "lost")
        }
        rows = [
            {name: values[at] for name, values in columns.items()} for at in range(len(reasons))
        ]
        return [{**row, "reason": reason} for row, reason in zip(rows, reasons, strict=True)]


def notes_of(path: Path) -> list[str]:
    from wavescope.formats import open_trace

    with open_trace(path) as trace:
        return trace.notes.sentences()


def rate_of(log: list[tuple[int, int]]) -> float:
    """Kernels a second, by a program's log."""
    spent_s = (log[-1][1] - log[0][1]) / 1e9
    return log[-1][0] / spent_s if spent_s else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seconds", type=float, help="instead of minutes")
    parser.add_argument("--rate", type=float, default=100_000, help="kernels a second at most")
    parser.add_argument("--how", choices=("launches", "graph"), default="graph")
    parser.add_argument("--mode", default="standard")
    parser.add_argument(
        "--patience", type=float, default=300, help="seconds to wait for the trace to be written"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("soak.json"))
    options = parser.parse_args()
    seconds = options.seconds or options.minutes * 60
    program = built_cuda("steps")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        log, trace = folder / "log.txt", folder / "soak.db"
        arguments = [200, options.how, options.rate]
        alone_s = max(5.0, seconds / 10)
        alone = watched([program, log, alone_s, *arguments], folder, alone_s, options.patience)
        alone["kernels_per_second"] = rate_of(log_of(log))
        command = recorded([program, log, seconds, *arguments], trace, options.mode)
        run = watched(command, folder, seconds, options.patience)
        heads = ("MiB resident", "start", "after a tenth", "end", "most", "slope a minute")
        print(table(heads, [memory_row("alone", alone), memory_row(options.mode, run)]), "\n")
        result = {"alone": alone, "recorded": run}
        keep(options.output, result)
        if trace.exists():
            entries = log_of(log)
            kernels, run["kernels_per_second"] = entries[-1][0], rate_of(entries)
            traced = len(kernel_ends(trace, STEP))
            facts = [
                ["kernels a second", f"{run['kernels_per_second']:,.0f}",
                 f"alone {alone['kernels_per_second']:,.0f}"],
                ["kernels run", kernels, f"exit code {run['code']}"],
                ["kernels in the trace", traced, f"{traced - kernels:+d}"],
                ["records at the end, MB", f"{run['samples'][-1][2] / 1e6:.1f}", ""],
                ["trace file, MB", f"{trace.stat().st_size / 1e6:.1f}",
                 f"{trace.stat().st_size / max(1, traced):.1f} bytes a kernel"],
                ["written after the program's end, s", f"{run['ended_s'] - run['samples'][-1][0]:.1f}", ""],
                *(["coverage", row["seen"], str({k: v for k, v in row.items() if k != "seen"})]
                  for row in coverage_of(trace)),
                *(["note", "", text] for text in notes_of(trace)),
            ]  # fmt: skip
            print(table(("fact", "value", ""), facts))
            keep(options.output, {**result, "facts": facts})
        else:
            say(f"no trace: {run}")


if __name__ == "__main__":
    main()
