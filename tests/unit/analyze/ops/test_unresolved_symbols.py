"""The symbol audit: kernels whose names say nothing are counted and listed."""

from __future__ import annotations

from pathlib import Path

import wavescope
from tests.builders import TraceMaker, a_trace
from wavescope.analyze.ops.op_labels import unresolved_symbols
from wavescope.formats.wavescope.writing import write_trace


def partly_named() -> TraceMaker:
    return (
        a_trace()
        .with_kernel("gemm", 0, 10)
        .with_kernel("0x7f3a00001000", 10, 20)
        .with_kernel("0x7f3a00001000", 20, 25)
        .with_kernel("", 30, 50)
        .with_kernel("_ZN5aiter37dynamic_per_group", 60, 61)
        .with_copy(70, 99)
        .with_op("", 100, 900, type="Barrier")
    )


def test_kernels_that_cannot_be_told_are_listed_with_the_reason() -> None:
    result = unresolved_symbols(partly_named().build())

    assert result.facts == {"unresolved_symbol_count": 3}
    assert result.table("unresolved_symbols").rows == [
        ("(no name)", "no name", 1, 20),
        ("0x7f3a00001000", "address", 2, 15),
        ("_ZN5aiter37dynamic_per_group", "mangled", 1, 1),
    ]


def test_names_that_are_all_known_are_a_zero_without_a_table() -> None:
    named = a_trace().with_kernel("_Z3addv.kd", 0, 10).with_copy(10, 20).build()

    assert unresolved_symbols(named).facts == {"unresolved_symbol_count": 0}
    assert not unresolved_symbols(named).tables
    assert unresolved_symbols(a_trace().build()).facts == {"unresolved_symbol_count": 0}


def test_info_and_summary_tell(tmp_path: Path) -> None:
    path = tmp_path / "trace.db"
    write_trace([partly_named().builder], path)

    for result in (wavescope.info(path), wavescope.summary(path)):
        assert result.facts["unresolved_symbol_count"] == 3
        assert len(result.table("unresolved_symbols").rows) == 3
