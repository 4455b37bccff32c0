"""What the codes of texts in Chrome trace events mean: strings of the trace, roles and domains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.chrome.categories import ROLES, Role, api_of_call, launch_preference
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import UNKNOWN


class TextCodes:
    """What the codes of texts mean, as arrays by code; index -1 stands for no text."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._strings = builder.strings
        self.strings: npt.NDArray[np.int32] = np.array([UNKNOWN], np.int32)
        """Codes of the trace's own string table."""
        self.roles: npt.NDArray[np.int8] = np.array([Role.BY_PROCESS], np.int8)
        self.preferences: npt.NDArray[np.int8] = np.array([launch_preference("")], np.int8)
        self.domains: npt.NDArray[np.int32] = np.array([UNKNOWN], np.int32)

    def extend(self, texts: Sequence[str]) -> None:
        """Bring the arrays up to `texts`."""
        new = texts[len(self.strings) - 1 :]
        if new:
            self.strings = inserted(self.strings, self._strings.codes(new))
            self.roles = inserted(self.roles, [ROLES.get(text, Role.BY_PROCESS) for text in new])
            self.preferences = inserted(self.preferences, list(map(launch_preference, new)))
            self.domains = inserted(self.domains, list(map(self._domain_code, new)))

    def _domain_code(self, call: str) -> int:
        domain = api_of_call(call)
        return self._strings.code(domain) if domain else UNKNOWN


def inserted(table: npt.NDArray[np.integer], added: Sequence[int] | Array) -> Array:
    """`table` with `added` before its last element."""
    return np.concatenate((table[:-1], np.asarray(added, table.dtype), table[-1:]))
