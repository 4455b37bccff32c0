"""What a dispatch counted: rocprofv3's JSON has a value for each hardware instance of a counter.

rocprofv3's CSV and database have their sum, and so has a trace unless instances are asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from wavescope.formats.rocprofv3.json_records import integers, values
from wavescope.formats.rocprofv3.rows import finite_number


def summed(counted: Sequence[Any]) -> list[tuple[int, str, float]]:
    """The sum of each counter over the instances of its block."""
    sums: dict[int, float] = {}
    for handle, value in _values(counted):
        if value is not None:
            sums[handle] = sums.get(handle, 0.0) + value
    return [(handle, "", total) for handle, total in sums.items()]


def by_instance(counted: Sequence[Any]) -> list[tuple[int, str, float]]:
    """Each value on its own, numbered in the order of the file where a counter has several."""
    given = list(_values(counted))
    instances = Counter(handle for handle, _ in given)
    seen: Counter[int] = Counter()
    found = []
    for handle, value in given:
        if value is not None:
            place = f"[{seen[handle]}]" if instances[handle] > 1 else ""
            found.append((handle, place, value))
        seen[handle] += 1
    return found


def _values(counted: Sequence[Any]) -> Iterator[tuple[int, float | None]]:
    """Handles and values, None for a value that is no number."""
    handles = integers(counted, "counter_id", "handle").tolist()
    return zip(handles, map(finite_number, values(counted, "value")), strict=True)
