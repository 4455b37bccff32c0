"""What changed, in one sentence: how much longer or shorter, and which parts made most of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wavescope.analyze.compare.differences import Comparison
from wavescope.analyze.compare.figures import total_of
from wavescope.units import count_text, duration_text

_ABOUT_EQUAL = 0.005
"""Spans that differ by less are called equal."""
_MOST_PARTS = 3
_EXPLAINED = 0.8
"""The parts named make so much of what goes one way, if that many are enough."""
_LEAST_SHARE = 0.1
"""Smaller parts of what goes one way, or of the difference, are not named."""
_MOSTLY = 0.5
_OTHER_AMOUNT = 0.1
"""The amount of work is told where this share of the base's GPU time comes or goes with it, and
most of the change of GPU time does."""
_MANY_TIMES = 3.0
"""From here on a factor is easier to read than percent."""
_IDLE = "idle time"
_LONGEST_NAME = 60


class _Change(NamedTuple):
    name: str
    delta_ns: int

    @property
    def words(self) -> str:
        return f"{_short(self.name)} {_signed(self.delta_ns)}"


def headline(comparison: Comparison) -> str:
    """One sentence on what changed from the base to the other trace."""
    base, new = comparison.base, comparison.new
    delta_ns = new.span_ns - base.span_ns
    changes = [_Change(part.name, part.delta_ns) for part in comparison.parts]
    changes.append(_Change(_IDLE, new.idle_ns - base.idle_ns))
    changes.append(_Change("what runs at once", new.overlap_ns - base.overlap_ns))
    changes.sort(key=lambda change: -abs(change.delta_ns))
    start = f"trace {comparison.number} takes {duration_text(new.span_ns)}, "
    if abs(delta_ns) < _ABOUT_EQUAL * base.span_ns or not base.span_ns:
        least_ns = _ABOUT_EQUAL * base.span_ns
        kept = [each for each in changes if abs(each.delta_ns) >= max(least_ns, 1)]
        equal = f"about as long as the base ({duration_text(base.span_ns)})"
        return start + equal + (f": {_listed(kept[:_MOST_PARTS])}" if kept else "")
    causes = _causes([each for each in changes if each.delta_ns * delta_ns > 0], delta_ns)
    against = _causes([each for each in changes if each.delta_ns * delta_ns < 0], delta_ns)
    words = f"{start}{_how_much(base.span_ns, delta_ns)} the base: {_listed(causes)}"
    if against:
        words += f", against {_listed(against[: _MOST_PARTS - 1])}"
    if any(change.name == _IDLE for change in causes):
        busy = duration_text(new.busy_ns), duration_text(base.busy_ns)
        words += f"; the GPU is busy for {busy[0]}, {busy[1]} in the base"
    return words + _amount_of_work(comparison)


def _amount_of_work(comparison: Comparison) -> str:
    """How much of the change on the GPU comes of running the same more or less often, where most
    does: traces of 30 and of 60 steps differ in length, and nothing is slower."""
    parts = comparison.parts
    more_ns = sum(part.calls_effect_ns for part in parts if part.base.calls and part.new.calls)
    base, new = total_of(part.base for part in parts), total_of(part.new for part in parts)
    delta_ns = new.total_ns - base.total_ns
    is_most = more_ns * delta_ns > 0 and abs(delta_ns - more_ns) <= _MOSTLY * abs(delta_ns)
    if not is_most or abs(more_ns) < _OTHER_AMOUNT * base.total_ns:
        return ""
    often = "more" if more_ns > 0 else "less"
    return (
        f"; it ran {count_text(new.calls)} ops, {count_text(base.calls)} in the base: running the "
        f"same {often} often makes {_signed(more_ns)} on the GPU"
    )


def _signed(time_ns: int) -> str:
    return f"{'+' if time_ns > 0 else '-'}{duration_text(abs(time_ns))}"


def _how_much(base_ns: int, delta_ns: int) -> str:
    factor = (base_ns + delta_ns) / base_ns
    if factor >= _MANY_TIMES:
        return f"{factor:.1f} times as long as"
    percent = 100 * abs(delta_ns) / base_ns
    longer = "longer" if delta_ns > 0 else "less"
    return f"{duration_text(abs(delta_ns))} ({percent:.1f} %) {longer} than"


def _causes(changes: Sequence[_Change], delta_ns: int) -> list[_Change]:
    """The largest of changes that all go one way, until they make most of these."""
    whole_ns = sum(abs(change.delta_ns) for change in changes)
    found: list[_Change] = []
    named_ns = 0
    for change in changes:
        size_ns = abs(change.delta_ns)
        is_small = size_ns < _LEAST_SHARE * max(whole_ns, abs(delta_ns))
        if len(found) == _MOST_PARTS or named_ns >= _EXPLAINED * whole_ns or is_small:
            break
        found.append(change)
        named_ns += size_ns
    # Of many small parts the largest is named all the same, where it goes the way of the whole.
    if not found and changes and changes[0].delta_ns * delta_ns > 0:
        found.append(changes[0])
    return found


def _listed(changes: Sequence[_Change]) -> str:
    words = [change.words for change in changes]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
