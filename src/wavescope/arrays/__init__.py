"""Arithmetic on columns of any table: intervals, nesting, grouping, statistics, partitions on disk.

The modules are the doors; `Array` is a column of any type.
"""

from typing import Any, TypeAlias

import numpy.typing as npt

__all__ = ["Array"]

Array: TypeAlias = npt.NDArray[Any]
