"""A first line for each rank against the reference of its component, along a tree of pairs."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from wavescope.analyze.ranks.clocks.pairs import PairLine


@dataclass(frozen=True)
class Line:
    """common time = own time + offset_ns + drift * (own time - origin_ns).

    The origins of a component's ranks are one moment, as far as that is known yet: what bounds an
    offset at one rank's origin so bounds it at the others' too.
    """

    origin_ns: int
    offset_ns: int
    drift: float = 0.0


def first_lines(component: Sequence[int], pairs: Sequence[PairLine]) -> dict[int, Line]:
    """A line for each rank of a component that pairs tie to its first one."""
    reference = component[0]
    inside = set(component)
    neighbours: dict[int, list[PairLine]] = defaultdict(list)
    for pair in pairs:
        if pair.hub in inside and pair.member in inside:
            neighbours[pair.hub].append(pair)
            neighbours[pair.member].append(pair)
    lines = {reference: Line(_moment(reference, neighbours[reference]), 0)}
    waiting = deque([reference])
    while waiting:
        place = waiting.popleft()
        for pair in sorted(neighbours[place], key=lambda tied: -tied.exchange_count):
            other = pair.member if pair.hub == place else pair.hub
            if other not in lines:
                follow = _member_line if pair.hub == place else _hub_line
                lines[other] = follow(lines[place], pair)
                waiting.append(other)
    return lines


def _moment(reference: int, pairs: Sequence[PairLine]) -> int:
    """The middle of what ties the reference, in its own clock."""
    moments = sorted(
        pair.origin_ns + (pair.offset_ns if pair.hub == reference else 0) for pair in pairs
    )
    return moments[len(moments) // 2] if moments else 0


def _member_line(hub: Line, pair: PairLine) -> Line:
    since = (hub.origin_ns - pair.origin_ns - pair.offset_ns) / (1 + pair.drift)
    origin = pair.origin_ns + round(since)
    # What the hub's clock shows then is its origin but for the rounding.
    at_hub = origin + pair.offset_ns + round(pair.drift * (origin - pair.origin_ns))
    common = at_hub + hub.offset_ns + round(hub.drift * (at_hub - hub.origin_ns))
    return Line(origin, common - origin, (1 + pair.drift) * (1 + hub.drift) - 1)


def _hub_line(member: Line, pair: PairLine) -> Line:
    since = member.origin_ns - pair.origin_ns
    origin = member.origin_ns + pair.offset_ns + round(pair.drift * since)
    common = member.origin_ns + member.offset_ns
    return Line(origin, common - origin, (1 + member.drift) / (1 + pair.drift) - 1)
