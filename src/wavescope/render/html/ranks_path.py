"""The critical path over ranks as a picture: a rail for each rank, pieces of the path on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers import PathKind, PathPart, StepAccount
from wavescope.render.html.markup import Html, bounded, element
from wavescope.units import duration_text

_MOST_RAILS = 14
_MOST_PIECES = 500
_LABELS_PERCENT = 14.0
_RAIL_PX = 24
_BAR_PX = 14
_AXIS_PX = 20
_LEGEND = (
    ("local", "own work of a rank"),
    ("transfer", "transfer of a collective"),
    ("excess", "beyond its typical time"),
)


class Piece(NamedTuple):
    """Successive parts of the path of one kind on one rank."""

    kind: PathKind
    place: int
    start_ns: int
    end_ns: int
    excess_ns: int


def worst_step_html(job: Job, accounts: Sequence[StepAccount]) -> Html | None:
    """The critical path of the step that lost most time."""
    worst = max(accounts, key=lambda each: each.actual_ns - each.ideal_ns, default=None)
    if worst is None or not worst.parts:
        return None
    title = (
        f"The critical path of step {worst.step}, which lost most: "
        f"{duration_text(worst.actual_ns)} instead of {duration_text(worst.ideal_ns)}"
    )
    pieces = pieces_of(worst.parts)
    swatches = [
        element("li", element("span", class_=f"swatch {kind}"), words) for kind, words in _LEGEND
    ]
    return element(
        "div",
        element("h3", title),
        path_html(job, pieces, title),
        element("ul", *swatches, class_="legend"),
    )


def pieces_of(parts: Sequence[PathPart]) -> list[Piece]:
    """The parts in order, neighbours of one kind and rank as one."""
    pieces: list[Piece] = []
    for part in parts:
        last = pieces[-1] if pieces else None
        if last and (last.kind, last.place) == (part.kind, part.place):
            excess_ns = last.excess_ns + part.excess_ns
            pieces[-1] = last._replace(end_ns=part.end_ns, excess_ns=excess_ns)
        else:
            pieces.append(Piece(part.kind, part.place, part.start_ns, part.end_ns, part.excess_ns))
    return pieces


def path_html(job: Job, pieces: Sequence[Piece], what: str) -> Html:
    """A rail for each rank that the path leads over; lines where it goes from one to another."""
    picture = _Picture(job, pieces)
    longest = sorted(pieces, key=lambda piece: piece.start_ns - piece.end_ns)[:_MOST_PIECES]
    shapes = [
        *picture.rails(),
        *(picture.hop(one, other) for one, other in pairwise(pieces[: 2 * _MOST_PIECES])),
        *(shape for piece in longest for shape in picture.bars(piece)),
        *picture.axis(),
    ]
    return element(
        "svg", *shapes, class_="path", height=picture.height, role="img", aria_label=what
    )


class _Picture:
    """Where times and ranks are on the picture."""

    def __init__(self, job: Job, pieces: Sequence[Piece]) -> None:
        self._job = job
        self._first_ns = min(piece.start_ns for piece in pieces)
        self._span_ns = max(1, max(piece.end_ns for piece in pieces) - self._first_ns)
        time: Counter[int] = Counter()
        for piece in pieces:
            time[piece.place] += piece.end_ns - piece.start_ns
        kept = sorted(place for place, _ in time.most_common(_MOST_RAILS))
        self._rails = {place: number for number, place in enumerate(kept)}
        self._names = [rank_name(job, place) for place in kept]
        if len(time) > len(kept):
            self._names.append(f"{len(time) - len(kept)} other ranks")

    @property
    def height(self) -> int:
        return _RAIL_PX * len(self._names) + _AXIS_PX

    def x(self, time_ns: float) -> float:
        share = (time_ns - self._first_ns) / self._span_ns
        return _LABELS_PERCENT + (100 - _LABELS_PERCENT) * share

    def y(self, place: int) -> int:
        """The middle of a rank's rail."""
        return _RAIL_PX * self._rails.get(place, len(self._rails)) + _RAIL_PX // 2

    def rails(self) -> list[Html]:
        shapes = []
        for number, name in enumerate(self._names):
            y = _RAIL_PX * number + _RAIL_PX // 2
            shapes.append(element("text", name, x="0", y=y))
            left = f"{_LABELS_PERCENT}%"
            shapes.append(element("line", class_="rail", x1=left, x2="100%", y1=y, y2=y))
        return shapes

    def hop(self, one: Piece, other: Piece) -> Html | None:
        """From the rank that a piece ends on to that of the next."""
        if self.y(one.place) == self.y(other.place):
            return None
        x = f"{self.x(one.end_ns):.3f}%"
        return element(
            "line", class_="hop", x1=x, x2=x, y1=self.y(one.place), y2=self.y(other.place)
        )

    def bars(self, piece: Piece) -> list[Html]:
        """The piece, and the end of it that is beyond the typical time."""
        length_ns = piece.end_ns - piece.start_ns
        excess_ns = min(max(0, piece.excess_ns), length_ns)
        words = (
            f"{rank_name(self._job, piece.place)}, {piece.kind.value}: {duration_text(length_ns)}"
        )
        sign = "more" if piece.excess_ns >= 0 else "less"
        words += f", {duration_text(abs(piece.excess_ns))} {sign} than is typical"
        bars = [self._bar(piece.kind.value, piece.place, piece.start_ns, length_ns, words)]
        if excess_ns:
            start_ns = piece.end_ns - excess_ns
            bars.append(self._bar("excess", piece.place, start_ns, excess_ns, words))
        return bars

    def _bar(self, kind: str, place: int, start_ns: int, length_ns: int, words: str) -> Html:
        width = (100 - _LABELS_PERCENT) * length_ns / self._span_ns
        return element(
            "rect",
            element("title", words),
            x=f"{self.x(start_ns):.3f}%",
            width=f"{max(0.05, width):.3f}%",
            y=self.y(place) - _BAR_PX // 2,
            height=_BAR_PX,
            class_=kind,
        )

    def axis(self) -> list[Html]:
        places = ((0, "start"), (0.5, "middle"), (1, "end"))
        return [
            element(
                "text",
                duration_text(share * self._span_ns),
                x=f"{self.x(self._first_ns + share * self._span_ns):.2f}%",
                y=self.height - _AXIS_PX // 2,
                text_anchor=anchor,
            )
            for share, anchor in places
        ]


def rank_name(job: Job, place: int) -> str:
    """A rank with its host."""
    if not 0 <= place < len(job):
        return "unknown rank"
    host = bounded(job.ranks[place].identity.host, 20)
    return f"rank {job.numbers[place]}{f' ({host})' if host else ''}"
