"""Groups, numbers and peers of collectives, as frameworks write them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.builders import a_trace
from wavescope.analyze.collectives import RecordedGroup, listed_ranks, recorded_collectives

KERNEL = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


@pytest.mark.parametrize(
    ("value", "size", "expected"),
    [
        ("[0, 1, 2]", -1, (0, 1, 2)),
        ([3, 7], -1, (3, 7)),
        ("[]", -1, ()),
        ("[0, 1, ..., 7]", 8, (0, 1, 2, 3, 4, 5, 6, 7)),
        ("[0, 8, ..., 56]", 8, (0, 8, 16, 24, 32, 40, 48, 56)),
        ("[0, 1, 2, 3, ...]", 6, (0, 1, 2, 3, 4, 5)),
        ("[0, 1, ..., 6]", 8, ()),
        ("[0, 1, ..., 7]", -1, ()),
        ("[0, 1, 5, ..., 7]", 8, ()),
        ("[7, 6, ..., 0]", 8, ()),
        ("[0, ..., 7]", 1 << 40, ()),
        ("[0, 1, ..., 999999999]", 1_000_000_000, ()),
        ("[0, 'a']", -1, ()),
        ("[0, -1]", -1, ()),
        ("[0, 1.5]", -1, ()),
        ("7", -1, ()),
        (7, -1, ()),
        (None, -1, ()),
    ],
)
def test_ranks_of_a_list(value: object, size: int, expected: tuple[int, ...]) -> None:
    assert listed_ranks(value, size) == expected


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"Process Group Name": "2"}, RecordedGroup("2")),
        ({"Process Group Description": "undefined"}, None),
        ({"Group size": 4}, RecordedGroup(size=4)),
        (
            {"Group size": 4, "Global rank start": 1, "Global rank stride": 2},
            RecordedGroup(size=4, ranks=(1, 3, 5, 7)),
        ),
        ({"Group size": 3, "Process Group Ranks": "[0, 1]"}, RecordedGroup(size=3)),
        ({"Process Group Ranks": "[0, 1]"}, RecordedGroup(size=2, ranks=(0, 1))),
        ({"Group size": -4, "Process Group Name": 7}, None),
        ({"Group size": [4]}, None),
    ],
)
def test_groups(record: dict[str, object], expected: RecordedGroup | None) -> None:
    maker = a_trace().with_call("record_param_comms", 0, 9, args=json.dumps(record))
    maker.with_call("launch", 1, 2).with_kernel(KERNEL, 10, 20).with_link(2, 1)
    (kind,) = recorded_collectives(maker.build(), np.array([0])).kinds

    assert kind.group == expected
    assert not kind.is_named


@pytest.mark.parametrize(
    ("record", "sequence", "peer"),
    [
        ({"Seq": 5}, 5, -1),
        ({"Seq": "6", "Src Rank": 3}, 6, 3),
        ({"Seq": -1, "Dst Rank": "4"}, -1, 4),
        ({"Seq": 1 << 60, "Dst Rank": None}, -1, -1),
        ({"Seq": True}, -1, -1),
    ],
)
def test_numbers_and_peers(record: dict[str, object], sequence: int, peer: int) -> None:
    maker = a_trace().with_call("record_param_comms", 0, 9, args=json.dumps(record))
    maker.with_call("launch", 1, 2).with_kernel(KERNEL, 10, 20).with_link(2, 1)
    found = recorded_collectives(maker.build(), np.array([0]))

    assert (found.sequence.tolist(), found.peer.tolist()) == ([sequence], [peer])


def test_without_records_names_of_kernels_tell() -> None:
    maker = a_trace().with_kernel("rcclOther", 0, 1).with_kernel(KERNEL, 5, 9)
    found = recorded_collectives(maker.with_kernel("rcclOther", 10, 12).build(), np.arange(3))

    assert found.kind.tolist() == [0, 1, 0]
    assert [kind.kernel for kind in found.kinds] == ["rcclOther", KERNEL]
    assert [kind.use.operation for kind in found.kinds] == ["(unknown)", "all-gather"]
