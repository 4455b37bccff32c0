"""What tiles of the viewer cost: CPU time of an answer and memory for each op.

python benchmarks/view/tiles.py --ops 1e6 --ops 1e7 --ops 1e8

Lanes are made up: queues that are 95 % busy with kernels of 2 to 60 us, four queues to a GPU. `first`
is the first answer, for which sums over all ops are made; then windows of parts of the whole span.
`bytes/op` is the memory of the process for lanes and sums; of the last line for two colourings.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wavescope.model.builder import TraceBuilder
from wavescope.model.trace import Trace
from wavescope.view.lanes import Lane
from wavescope.view.opening import Loaded, TraceView
from wavescope.view.rows import Row, RowKind
from wavescope.view.tiles.drawing import Drawing
from wavescope.view.tiles.encoding import encoded
from wavescope.view.tiles.pixels import Pixels
from wavescope.view.tiles.row_tile import row_tile

QUEUES_OF_A_GPU = 4
NAMES = 40


@dataclass(frozen=True)
class ByName:
    """A table of classes for names, as the colouring by category has it."""

    id: str = "name"
    title: str = "Name"
    class_count: int = 8

    def labels(self, _view: TraceView) -> tuple[str, ...]:
        return tuple(map(str, range(self.class_count)))

    def classes(self, _view: TraceView, _row: Row, lane: Lane) -> npt.NDArray[np.uint8]:
        table = (np.arange(NAMES) % self.class_count).astype(np.uint8)
        return table[lane.names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ops", action="append", type=float, help="how many in all lanes")
    parser.add_argument("--lanes", type=int, default=32)
    parser.add_argument("--pixels", type=int, default=1500)
    options = parser.parse_args()
    print(f"{options.lanes} lanes, {options.pixels} pixels; CPU ms of one answer, best of 5")
    print(
        f"{'ops':>12} {'rows':>18} {'first':>9} {'whole':>8} {'1/100':>8} {'1/10000':>8}"
        f" {'200 us':>8} {'KiB':>7} {'bytes/op':>9}"
    )
    for ops in options.ops or [1e6, 1e7]:
        measure(int(ops), options.lanes, options.pixels)


def measure(op_count: int, lane_count: int, pixel_count: int) -> None:
    """Print a line for the queues, one for their GPUs, and one for both in another colouring."""
    before = resident_bytes()
    view = made_view(op_count, lane_count)
    queues = [row for row in view.loaded.rows if row.kind is RowKind.QUEUE]
    gpus = [row for row in view.loaded.rows if row.kind is RowKind.GPU]
    for title, rows, colouring in (
        (f"{len(queues)} queues", queues, ByName()),
        (f"{len(gpus)} GPUs", gpus, ByName()),
        ("all, 24 classes", [*gpus, *queues], ByName("more", "More", 24)),
    ):
        answer = Answerer(view, rows, colouring, pixel_count)
        first = cpu_ms(answer.window(1))
        held = resident_bytes() - before
        shown = [min(cpu_ms(answer.window(part)) for _ in range(5)) for part in (1, 100, 10_000)]
        close = view.loaded.span_ns / 200_000
        shown.append(min(cpu_ms(answer.window(close)) for _ in range(5)))
        size = len(answer.window(1)()) / 1024
        print(
            f"{op_count:12,} {title:>18} {first:9.1f} "
            + " ".join(f"{value:8.2f}" for value in shown)
            + f" {size:7.0f} {held / op_count:9.2f}",
            flush=True,
        )


class Answerer:
    """Asks for some rows in windows of some parts of the whole span, around its middle."""

    def __init__(
        self, view: TraceView, rows: list[Row], colouring: ByName, pixel_count: int
    ) -> None:
        self._view, self._rows, self._pixel_count = view, rows, pixel_count
        self._colouring = colouring

    def window(self, part: float) -> Callable[[], bytes]:
        loaded = self._view.loaded
        scale = loaded.span_ns / part / self._pixel_count
        middle = 0 if part == 1 else int(loaded.span_ns / 2 / scale)

        def answer() -> bytes:
            pixels = Pixels.of(scale, middle, self._pixel_count, loaded.first_ns)
            drawing = Drawing(self._view, loaded, self._colouring, pixels, self._rows)
            tiles = (row_tile(drawing, row) for row in self._rows)
            return encoded(loaded.version, tiles)

        return answer


def made_view(op_count: int, lane_count: int) -> TraceView:
    """GPUs with queues, each queue one lane."""
    random = np.random.default_rng(1)
    queues: list[Row] = []
    each = op_count // lane_count
    for number in range(lane_count):
        lengths = random.integers(2_000, 60_000, each, np.uint32)
        gaps = random.integers(0, 3_200, each, np.uint32)
        starts = np.cumsum(lengths + gaps, dtype=np.int64) - lengths
        names = random.integers(0, NAMES, each, np.int32)
        rows = np.arange(number * each, (number + 1) * each, dtype=np.uint32)
        gpu = number // QUEUES_OF_A_GPU
        queues.append(
            Row(
                f"queue/{gpu}/{number}",
                RowKind.QUEUE,
                f"queue {number}",
                parent=f"gpu/{gpu}",
                table="ops",
                lanes=(Lane(starts, lengths, names, rows),),
            )
        )
    gpus = [
        Row(
            gpu,
            RowKind.GPU,
            gpu,
            members=tuple(queue.id for queue in queues if queue.parent == gpu),
        )
        for gpu in dict.fromkeys(queue.parent for queue in queues)
    ]
    end_ns = max(int(queue.lanes[0].starts[-1]) for queue in queues)
    trace = Trace(TraceBuilder("made up", "none"))
    return TraceView(0, "made up", trace, Loaded(1, (*gpus, *queues), 0, end_ns, 1.0, True))


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def cpu_ms(answer: Callable[[], bytes]) -> float:
    before = time.process_time_ns()
    answer()
    return (time.process_time_ns() - before) / 1e6


if __name__ == "__main__":
    main()
