"""What runs of whole graphs are called."""

from __future__ import annotations

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.record_file import Records
from wavescope.model.strings import StringTable

_MOST_GRAPHS = 10_000
_SOME_GRAPH = "graph"


def names_graphs(records: Records) -> bool:
    """Whether op records are of the longer form, which says of which graph an op is."""
    return "graph" in (records.dtype.names or ())


class GraphNames:
    """Names by graph, as long as there are not too many of them."""

    def __init__(self, strings: StringTable) -> None:
        self._strings = strings
        self._codes: dict[int, int] = {}

    def codes(self, runs: Records) -> Array:
        """Codes of the names of `runs`."""
        if not names_graphs(runs):
            return np.full(len(runs), self._strings.code(_SOME_GRAPH))
        distinct, places = np.unique(runs["graph"], return_inverse=True)
        return np.array([self._code(graph) for graph in distinct.tolist()])[places]

    def _code(self, graph: int) -> int:
        if graph not in self._codes:
            if graph == 0 or len(self._codes) >= _MOST_GRAPHS:
                return self._strings.code(_SOME_GRAPH)
            self._codes[graph] = self._strings.code(f"graph {graph}")
        return self._codes[graph]
