"""Sizes and bus factors as nccl-tests defines them, worked out by hand."""

from __future__ import annotations

import pytest

from wavescope.analyze.collectives.bandwidth import (
    Message,
    Operation,
    element_bytes_of,
    gb_per_s,
    operation_of,
)


@pytest.mark.parametrize(
    ("operation", "in_elements", "out_elements", "size_bytes", "factor"),
    [
        # 8 ranks, 2 bytes each: in and out are what one rank gives and gets.
        (Operation.ALL_REDUCE, 1000, 1000, 2000, 2 * 7 / 8),
        (Operation.ALL_GATHER, 1000, 8000, 16000, 7 / 8),
        (Operation.REDUCE_SCATTER, 8000, 1000, 16000, 7 / 8),
        (Operation.ALL_TO_ALL, 8000, 8000, 16000, 7 / 8),
        (Operation.BROADCAST, 1000, 1000, 2000, 1.0),
        (Operation.REDUCE, 1000, 1000, 2000, 1.0),
        (Operation.GATHER, 1000, 8000, 16000, 7 / 8),
        (Operation.SCATTER, 8000, 1000, 16000, 7 / 8),
        (Operation.SEND_RECV, 1000, 1000, 2000, 1.0),
        (Operation.SEND_RECV, None, 1000, 2000, 1.0),
        (Operation.BARRIER, 1, 1, None, None),
        (None, 1000, 1000, None, None),
    ],
)
def test_sizes_and_factors(
    operation: Operation | None,
    in_elements: int | None,
    out_elements: int,
    size_bytes: int | None,
    factor: float | None,
) -> None:
    message = Message(operation, in_elements, out_elements, 2, 8)

    assert (message.size_bytes, message.bus_factor) == (size_bytes, factor)


@pytest.mark.parametrize(
    "message",
    [
        Message(Operation.ALL_REDUCE, 10, 10, 4, None),
        Message(Operation.ALL_REDUCE, 10, 10, 4, 1),
        Message(Operation.ALL_TO_ALL, 10, 10, 4, 8, is_uneven=True),
    ],
)
def test_no_factor_without_ranks_or_with_uneven_parts(message: Message) -> None:
    assert message.bus_factor is None
    assert message.size_bytes == 40


def test_an_unknown_type_has_no_size() -> None:
    assert (
        Message(Operation.ALL_REDUCE, 10, 10, element_bytes_of("Quaternion"), 8).size_bytes is None
    )


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("Float", 4),
        ("BFloat16", 2),
        ("Half", 2),
        ("Double", 8),
        ("Long", 8),
        ("Byte", 1),
        ("Float8_e4m3fn", 1),
        ("ComplexDouble", 16),
    ],
)
def test_element_sizes(dtype: str, size: int) -> None:
    assert element_bytes_of(dtype) == size


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("allreduce", Operation.ALL_REDUCE),
        ("allreduce_coalesced", Operation.ALL_REDUCE),
        ("_allgather_base", Operation.ALL_GATHER),
        ("all_gather_into_tensor_coalesced", Operation.ALL_GATHER),
        ("_reduce_scatter_base", Operation.REDUCE_SCATTER),
        ("ReduceScatter", Operation.REDUCE_SCATTER),
        ("all_to_allv", Operation.ALL_TO_ALL),
        ("_broadcast_oop", Operation.BROADCAST),
        ("reduce", Operation.REDUCE),
        ("gather", Operation.GATHER),
        ("scatter", Operation.SCATTER),
        ("send", Operation.SEND_RECV),
        ("recv", Operation.SEND_RECV),
        ("barrier", Operation.BARRIER),
        ("init", None),
    ],
)
def test_recorded_names(name: str, operation: Operation | None) -> None:
    assert operation_of(name) is operation


def test_bandwidth_is_bytes_per_time() -> None:
    assert gb_per_s(8_000_000, 1_000_000) == 8.0
    assert gb_per_s(8_000_000, 1_000_000, 1.75) == 14.0
    assert gb_per_s(None, 10) is None
    assert gb_per_s(10, 0) is None
    assert gb_per_s(10, 10, None) is None
