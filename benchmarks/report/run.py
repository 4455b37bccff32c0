"""The report: what writing it costs, how large it is, how fast it opens in Chromium.

    .venv/bin/python benchmarks/report/run.py               # 5 M ops
    .venv/bin/python benchmarks/report/run.py --ops 2000000

Three traces: `random` is the input of the throughput benchmark, in which nothing repeats and no name is
a language model's, the worst case for the page's size; `serving` repeats the demo's inference, with
phases, steps and nested markers; `kineto` is a PyTorch profiler's JSON with a fifth as many events. CPU is user plus system time of the whole command (open, analyse,
write), memory its peak. Of the browser, the best of `--rounds` page loads: `CPU` is that of the page's
thread until the timeline stands; `load` and `drawn` are wall time from the start of navigation to the
load event and to the drawn timeline, `zoom` is one zoom step with everything drawn anew.

Other tools' figures per million events come from runs on another machine of the same kind; they are
printed with the ratio to ours.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT))

from benchmarks.throughput.generate import write_rtl_trace
from benchmarks.throughput.kineto import write_kineto_trace
from benchmarks.throughput.run import Cost, best, compile_modules, measure

WAVESCOPE = [sys.executable, "-m", "wavescope"]
OTHERS = {
    "TraceLens report (Kineto JSON)": (73.3 / 1.91, 7340 / 1.91),
    "rocm-trace-lite summary + timeline": ((3.7 + 83.0) / 2, 2900 / 2),
}
"""CPU seconds and MB for a million events."""
EVENTS_SHARE = 5


def write_serving_trace(path: Path, ops: int) -> None:
    """Repeat the demo's inference until there are `ops` ops."""
    from wavescope.collect.demo import demo_trace
    from wavescope.formats.wavescope.writing import write_trace
    from wavescope.model.columns import MARKERS, OPS
    from wavescope.model.source import read_columns

    with closing(demo_trace()) as builder:
        rows = {spec: read_columns(builder, spec, spec.column_names) for spec in (OPS, MARKERS)}
        span = max(int(columns["end_ns"].max()) for columns in rows.values()) - min(
            int(columns["start_ns"].min()) for columns in rows.values()
        )
        rounds = -(-ops // len(rows[OPS]["start_ns"]))
        for number in range(1, rounds):
            for spec, columns in rows.items():
                moved = {name: column for name, column in columns.items() if name != "id"}
                # Graphs, markers and calls belong to the first round; ops of others find them by time.
                for name in ("marker", "correlation", "graph", "graph_node"):
                    if name in moved:
                        moved[name] = np.full_like(moved[name], -1)
                for name in ("start_ns", "end_ns"):
                    moved[name] = columns[name] + number * span
                builder.add(spec, moved)
        write_trace([builder], path)


def browser_times(pages: dict[str, Path], rounds: int) -> dict[str, list[tuple[float, ...]]]:
    """For each page milliseconds: CPU of its thread, load, timeline drawn, a zoom step."""
    from tests.browser import Browser

    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in pages}
    with Browser.started() as browser:
        for _ in range(rounds):
            for name, page in pages.items():
                view = browser.page()
                view.call("Performance.enable", timeDomain="threadTicks")
                view.open(page.as_uri())
                view.wait("document.querySelector('.timeline').dataset.ready === 'true'")
                times = view.value(
                    """(() => {
                      const navigation = performance.getEntriesByType("navigation")[0];
                      const drawn = performance.getEntriesByName("timeline-drawn")[0].startTime;
                      const before = performance.now();
                      document.querySelector("[data-act=in]").click();
                      return [navigation.loadEventEnd, drawn, performance.now() - before];
                    })()"""
                )
                metrics = view.call("Performance.getMetrics")["metrics"]
                cpu_s = next(each["value"] for each in metrics if each["name"] == "TaskDuration")
                found[name].append((1000 * cpu_s, *times))
                browser.close_pages()
    return found


def write_input(name: str, path: Path, ops: int) -> None:
    """Write one of the traces."""
    if name == "kineto":
        write_kineto_trace(path, ops // EVENTS_SHARE)
    elif name == "serving":
        write_serving_trace(path, ops)
    else:
        write_rtl_trace(path, ops)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--generate", nargs=2, metavar=("NAME", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate:
        write_input(options.generate[0], Path(options.generate[1]), options.ops)
        return
    compile_modules()
    with tempfile.TemporaryDirectory(prefix="wavescope-bench-") as folder:
        measured(Path(folder), options)


def measured(folder: Path, options: argparse.Namespace) -> None:
    """Measure all traces and print one table."""
    pages, costs = {}, {}
    for name in ("random", "serving", "kineto"):
        trace, pages[name] = folder / f"{name}.trace", folder / f"{name}.html"
        print(f"generating {options.ops:,} ops: {name} ...", file=sys.stderr)
        generate = [sys.executable, __file__, "--ops", str(options.ops)]
        subprocess.run([*generate, "--generate", name, str(trace)], check=True)
        command = [*WAVESCOPE, "report", str(trace), "-o", str(pages[name]), "--force", "-q"]
        costs[name] = best([measure(command) for _ in range(options.rounds)])
        trace.unlink()
    times = browser_times(pages, options.rounds)
    print(f"{options.ops:,} ops; best of {options.rounds}")
    print(
        f"{'trace':10} {'CPU s':>7} {'peak MB':>8} {'page MB':>8}   in the browser, ms:"
        f" {'CPU':>5} {'load':>8} {'drawn':>8} {'zoom':>8}"
    )
    for name, cost in costs.items():
        shown = " ".join(f"{min(column):8.0f}" for column in zip(*times[name], strict=True))
        size = pages[name].stat().st_size / 1e6
        print(f"{name:10} {cost.cpu_s:7.2f} {cost.peak_mb:8.0f} {size:8.2f} {shown}")
    print_ratio("TraceLens report (Kineto JSON)", costs["kineto"], options.ops / EVENTS_SHARE / 1e6)
    print_ratio("rocm-trace-lite summary + timeline", costs["random"], options.ops / 1e6)


def print_ratio(name: str, cost: Cost, millions: float) -> None:
    """Another tool's figures for a million events beside ours of the same kind of file."""
    cpu_s, peak_mb = OTHERS[name]
    cpu_ratio, memory_ratio = cpu_s * millions / cost.cpu_s, peak_mb * millions / cost.peak_mb
    print(
        f"{name}: {cpu_s:.1f} CPU s and {peak_mb:,.0f} MB for a million events, "
        f"{cpu_ratio:.0f}x and {memory_ratio:.1f}x ours"
    )


if __name__ == "__main__":
    main()
