"""Categories of ops and GPU time by category."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.builders import a_trace
from wavescope.analyze.ops.op_labels import categories, op_categories
from wavescope.arrays.groups import group_sums
from wavescope.names.kernel_names import CATEGORIES, CategoryRules, NameRule, NameRules


def test_kernels_by_name_copies_by_kind_collectives_by_class() -> None:
    trace = (
        a_trace()
        .with_kernel("my_gemm", 0, 10)
        .with_copy(10, 12)
        .with_op("gemm", 12, 13, type="FillMemory")
        .with_kernel("ncclDevKernel_AllReduce", 20, 25)
        .with_kernel("strange", 30, 31)
        .with_op("", 40, 90, type="Barrier")
        .build()
    )
    codes, labels = op_categories(trace)

    assert [labels[code] for code in codes.tolist()] == [
        "GEMM", "copy/fill", "copy/fill", "communication", "other", "other",
    ]  # fmt: skip
    result = categories(trace)
    assert [row[:3] for row in result.tables[0].rows] == [
        ("GEMM", 1, 10),
        ("communication", 1, 5),
        ("copy/fill", 2, 3),
        ("other", 1, 1),
    ]
    assert result.tables[0].column("percent") == [100 * n / 19 for n in (10, 5, 3, 1)]
    assert result.facts["other_percent"] == 100 / 19


def test_users_categories_are_added_at_the_end() -> None:
    rules = CategoryRules(NameRules((NameRule(re.compile("strange"), "", "ours"),)))
    trace = a_trace().with_kernel("strange", 0, 1).with_kernel("gemm", 1, 3).build()

    codes, labels = op_categories(trace, rules)

    assert labels == [*CATEGORIES, "ours"]
    assert [labels[code] for code in codes.tolist()] == ["ours", "GEMM"]


def test_no_ops() -> None:
    result = categories(a_trace().build())

    assert result.tables[0].rows == []
    assert result.facts["other_percent"] is None


@pytest.mark.parametrize("high", [1 << 20, 1 << 31, (1 << 62) - 1])
def test_group_sums_are_exact(high: int) -> None:
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 7, 5_000).astype(np.int16)
    values = rng.integers(0, high, 5_000)

    expected = [0] * 8
    for group, value in zip(groups.tolist(), values.tolist(), strict=True):
        expected[group] += value

    assert group_sums(groups, values, 8) == expected
