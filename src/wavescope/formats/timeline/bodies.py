"""What events have in common, encoded once: name, category and arguments that repeat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import DistinctRows
from wavescope.formats.timeline.slice_columns import Pieces

MOST_BODIES = 1 << 16
MOST_BODY_BYTES = 16 << 20


@dataclass(frozen=True)
class EventBody:
    """The repeating part of an event; `group` is 'op', 'call' or 'marker'."""

    group: str
    category: str
    name: str
    arguments: tuple[tuple[str, int | str], ...] = ()
    instant: bool = False


@dataclass
class _KnownBodies:
    distinct: DistinctRows
    encoded: list[bytes]
    pieces: Pieces


class BodyTable:
    """Finds the body of every row of a batch.

    `describe` makes the body of a row of values given by column, `encode` its bytes. When too many
    different bodies were seen, all are forgotten and `forget` is called: memory stays bounded.
    """

    def __init__(
        self,
        describe: Callable[[dict[str, int]], EventBody],
        encode: Callable[[EventBody], bytes],
        forget: Callable[[], None],
    ) -> None:
        self._describe = describe
        self._encode = encode
        self._forget = forget
        self._known: dict[tuple[str, ...], _KnownBodies] = {}
        self._count = 0
        self._bytes = 0

    def bodies_of(
        self, columns: dict[str, npt.NDArray[Any]], always: Sequence[str]
    ) -> tuple[npt.NDArray[np.int32], Pieces]:
        """The index of each row's body, and the bodies.

        Columns besides `always` take part only where the batch has a known value in them.
        """
        names = tuple(n for n, values in columns.items() if n in always or np.any(values != -1))
        if self._count > MOST_BODIES or self._bytes > MOST_BODY_BYTES:
            self._known.clear()
            self._count = self._bytes = 0
            self._forget()
        if names not in self._known:
            self._known[names] = _KnownBodies(DistinctRows(len(names)), [], Pieces.of([]))
        known = self._known[names]
        numbers, firsts = known.distinct.number([columns[name] for name in names])
        if len(firsts):
            new_values = zip(*(columns[name][firsts].tolist() for name in names), strict=True)
            added = [
                self._encode(self._describe(dict(zip(names, values, strict=True))))
                for values in new_values
            ]
            known.encoded.extend(added)
            known.pieces = Pieces.of(known.encoded)
            self._count += len(added)
            self._bytes += sum(map(len, added))
        return numbers, known.pieces
