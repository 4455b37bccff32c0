"""The critical path over ranks: walked backwards from the end of the last step.

From a moment of a rank the path goes back over its own work to the exchange that it last waited
for, from the end of that exchange to the arrival of its last member, and on with that member. Own
work is cut where a step of the rank ends, so that each step has its pieces.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING, NO_TIME, Job
from wavescope.analyze.ranks.stragglers.arrivals import Arrivals
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.rank_times import PointKind, RankTimes
from wavescope.analyze.ranks.stragglers.report import PathKind

_CHAIN_LENGTH = 4
_ANCHOR_DISTANCE = 16


class Point(NamedTuple):
    """A point of a step that other ranks of the same role have, too."""

    kind: PointKind
    step: int
    offset: int


class Piece(NamedTuple):
    """A part of the path without its reference."""

    kind: PathKind
    place: int
    step: int
    group: int
    exchange: int
    start_ns: int
    end_ns: int
    begin: Point
    """Of a local piece: where its stretch begins on other ranks."""
    finish: Point
    before_ns: int = 0
    """Own time of the rank between that point and the piece."""


@dataclass(frozen=True)
class _Moment:
    """Where the walk stands: on a rank, at the arrival of a row or at the end of a step."""

    place: int
    time_ns: int
    row: int
    point: Point
    group: int = MISSING
    exchange: int = MISSING


class Walk:
    """Walks the path of one job once."""

    def __init__(
        self,
        job: Job,
        ranks: tuple[RankTimes, ...],
        arrivals: tuple[Arrivals, ...],
        places: npt.NDArray[np.int64],
    ) -> None:
        """`places` are the ranks whose times can be compared."""
        self._job = job
        self._ranks = ranks
        self._arrivals = arrivals
        self._places = places
        self._tied = frozenset(places.tolist())
        steps = [np.flatnonzero(rank.has_step) for rank in ranks]
        self._steps = [own.tolist() for own in steps]
        self._step_starts = [
            rank.step_start_ns[own].tolist() for rank, own in zip(ranks, steps, strict=True)
        ]
        self._step_ends = [
            rank.step_end_ns[own].tolist() for rank, own in zip(ranks, steps, strict=True)
        ]

    def pieces(self, last_step: int) -> list[Piece]:
        """The path from the end of that step back to the begin of the first, in order of time."""
        moment = self._last_end(last_step)
        pieces: list[Piece] = []
        most = 2 * sum(len(rank.start_ns) for rank in self._ranks) + 2
        while moment is not None and most:
            moment = self._back(moment, pieces)
            most -= 1
        pieces.reverse()
        return pieces

    def _last_end(self, step: int) -> _Moment | None:
        places = [place for place in self._places.tolist() if self._ranks[place].has_step[step]]
        if not places:
            return None
        ends = [int(self._ranks[place].step_end_ns[step]) for place in places]
        place = places[int(np.argmax(ends))]
        return _Moment(place, max(ends), MISSING, Point(PointKind.STEP_END, step, 0))

    def _back(self, moment: _Moment, pieces: list[Piece]) -> _Moment | None:
        """Adds what lies before a moment, and gives the next one; None at the begin of the run."""
        rank, place = self._ranks[moment.place], moment.place
        row = self._waited_for(rank, moment)
        begin_ns = self._step_starts[place][0]
        if moment.time_ns <= begin_ns:
            return None
        if row == MISSING or rank.end_ns[row] <= begin_ns:
            first = Point(PointKind.STEP_START, self._steps[place][0], 0)
            self._add_local(pieces, moment, begin_ns, first, 0)
            return None
        end_ns = int(rank.end_ns[row])
        self._add_local(pieces, moment, end_ns, *self._anchor(place, row))
        step, offset = int(rank.step[row]), int(rank.offset[row])
        group, exchange = int(rank.kinds.group[row]), int(rank.kinds.exchange[row])
        cause, arrived_ns = self._last_arrival(place, row, end_ns)
        if arrived_ns < end_ns:
            ends = Point(PointKind.ROW_END, step, offset)
            starts = Point(PointKind.ROW_START, step, offset)
            pieces.append(
                Piece(
                    PathKind.TRANSFER,
                    place,
                    self._step_at(place, end_ns),
                    group,
                    exchange,
                    arrived_ns,
                    end_ns,
                    starts,
                    ends,
                )
            )
        other = self._ranks[cause]
        row = row if cause == place else self._row_of(cause, group, exchange)
        point = Point(PointKind.ROW_START, int(other.step[row]), int(other.offset[row]))
        return _Moment(cause, arrived_ns, row, point, group, exchange)

    def _waited_for(self, rank: RankTimes, moment: _Moment) -> int:
        """The row whose end let the rank go on before this moment; `MISSING` if there is none."""
        number = int(rank.wait_end_ns.searchsorted(moment.time_ns, "right")) - 1
        # A row of no length ends where it begins, and did not wait for itself.
        while number >= 0 and rank.wait_row[number] >= moment.row != MISSING:
            number -= 1
        found = int(rank.wait_row[number]) if number >= 0 else MISSING
        if moment.row == MISSING:
            return found
        for row in range(moment.row - 1, max(moment.row - _CHAIN_LENGTH, 0) - 1, -1):
            if row == found:
                break
            between_ns = moment.time_ns - int(rank.end_ns[row])
            if rank.queue[row] == rank.queue[moment.row]:
                return row if 0 <= between_ns <= LIMITS.chained_ns else found
        return found

    def _last_arrival(self, place: int, row: int, end_ns: int) -> tuple[int, int]:
        """Who came last to the exchange of a row, before it ended on that rank, and when."""
        rank = self._ranks[place]
        group, exchange = int(rank.kinds.group[row]), int(rank.kinds.exchange[row])
        own = place, int(rank.start_ns[row])
        if group == MISSING:
            return own
        arrivals = self._arrivals[group]
        members = self._job.groups[group].members
        last_ns = int(arrivals.last_ns[exchange])
        if last_ns == NO_TIME:
            return own
        member = int(arrivals.last_member[exchange])
        if last_ns > end_ns:
            # It did not wait for who came later: a sender, or clocks that are off by a little.
            member, last_ns = self._last_before(group, exchange, end_ns)
        return (int(members[member]), last_ns) if last_ns > own[1] else own

    def _last_before(self, group: int, exchange: int, end_ns: int) -> tuple[int, int]:
        """Which member came last of those that came in time, and when."""
        found = 0, int(NO_TIME)
        for member, place in enumerate(self._job.groups[group].members.tolist()):
            row = int(self._job.groups[group].rows[member, exchange])
            if row != MISSING and place in self._tied:
                start_ns = int(self._ranks[place].start_ns[row])
                if found[1] < start_ns <= end_ns:
                    found = member, start_ns
        return found

    def _row_of(self, place: int, group: int, exchange: int) -> int:
        matched = self._job.groups[group]
        member = int(np.searchsorted(matched.members, place))
        return int(matched.rows[member, exchange])

    def _step_at(self, place: int, time_ns: int) -> int:
        """The step of a rank that ends at this time or is the next to end."""
        number = bisect_left(self._step_ends[place], time_ns)
        steps = self._steps[place]
        return steps[min(number, len(steps) - 1)]

    def _anchor(self, place: int, row: int) -> tuple[Point, int]:
        """A point before the end of a row up to which other ranks have done the same work.

        Others may not have waited for this row, so that its end says nothing of their work; but
        where this rank began to wait its work was done, and other exchanges begin when work is
        done. With it comes the rank's own time from there to the end of the row.
        """
        rank = self._ranks[place]
        end_ns = int(rank.end_ns[row])
        waits_from_ns = end_ns - int(rank.tail_ns[row])
        number = bisect_left(self._step_ends[place], waits_from_ns + 1) - 1
        step_end_ns = self._step_ends[place][number] if number >= 0 else None
        last = int(rank.start_ns.searchsorted(waits_from_ns + LIMITS.blocking_tail_ns, "right"))
        for other in range(last - 1, max(last - 1 - _ANCHOR_DISTANCE, -1), -1):
            start_ns = int(rank.start_ns[other])
            if step_end_ns is not None and start_ns < step_end_ns:
                break
            if not rank.kinds.is_receive[other]:
                point = Point(PointKind.ROW_START, int(rank.step[other]), int(rank.offset[other]))
                return point, _own_time_between(rank, start_ns, end_ns)
        if step_end_ns is None:
            return Point(PointKind.ROW_END, int(rank.step[row]), int(rank.offset[row])), 0
        point = Point(PointKind.STEP_END, self._steps[place][number], 0)
        return point, _own_time_between(rank, step_end_ns, end_ns)

    def _add_local(
        self, pieces: list[Piece], moment: _Moment, begin_ns: int, begin: Point, before_ns: int
    ) -> None:
        """Adds the rank's own time from `begin_ns` to the moment, cut where its steps end."""
        place, finish, end_ns = moment.place, moment.point, moment.time_ns
        group, exchange = moment.group, moment.exchange
        ends, steps = self._step_ends[place], self._steps[place]
        while end_ns > begin_ns:
            number = min(bisect_left(ends, end_ns), len(ends) - 1)
            cut_ns = ends[number - 1] if number else begin_ns
            start_ns = max(cut_ns, begin_ns)
            is_cut = start_ns > begin_ns
            start = Point(PointKind.STEP_END, steps[number - 1], 0) if is_cut else begin
            piece = Piece(
                PathKind.LOCAL,
                place,
                steps[number],
                group,
                exchange,
                start_ns,
                end_ns,
                start,
                finish,
                0 if is_cut else before_ns,
            )
            pieces.append(piece)
            end_ns, finish = start_ns, start
            group, exchange = MISSING, MISSING


def _own_time_between(rank: RankTimes, start_ns: int, end_ns: int) -> int:
    return max(rank.own_moment(end_ns) - rank.own_moment(start_ns), 0)
