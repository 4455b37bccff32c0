"""Digests as bytes: back to the last bit, and nothing else is taken for one."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import a_trace
from tests.unit.analyze.ranks.digest.strategies import any_digest
from wavescope.analyze.ranks.digest import (
    CollectiveRows,
    RankDigest,
    UnreadableDigestError,
    decoded,
    digests_of,
    encoded,
)
from wavescope.errors import UnreadableInputError

HEAD = struct.Struct("<4sBIQ")


def a_digest() -> RankDigest:
    maker = a_trace().with_process(41, rank=3, world_size=8, host="node7")
    maker.with_marker("step 1", 0, 50).with_marker("step 2", 60, 90)
    maker.with_kernel("gemm", 0, 10).with_kernel("ncclDevKernel_AllReduce_Sum", 5, 30, queue=1)
    (digest,) = digests_of(maker.with_kernel("gemm", 60, 70).build())
    return digest


def packed(body: bytes, *, size: int | None = None, version: int = 3) -> bytes:
    """Bytes with a right checksum around any body."""
    data = zlib.compress(body)
    return HEAD.pack(b"WSRD", version, zlib.crc32(data), len(body) if size is None else size) + data


def unpacked(data: bytes) -> tuple[dict[str, object], bytes]:
    body = zlib.decompress(data[HEAD.size :])
    (size,) = struct.unpack_from("<I", body)
    return orjson.loads(body[4 : 4 + size]), body[4 + size :]


def with_header(header: object, columns: bytes) -> bytes:
    text = orjson.dumps(header)
    return packed(struct.pack("<I", len(text)) + text + columns)


def same(one: RankDigest, other: RankDigest) -> bool:
    """Equal to the last bit: NaN is not equal to itself, its bytes are."""
    return repr(one) == repr(other) and encoded(one) == encoded(other)


@given(any_digest())
@settings(max_examples=150)
def test_a_digest_comes_back_as_it_was(digest: RankDigest) -> None:
    data = encoded(digest)
    back = decoded(data)

    assert same(back, digest)
    assert encoded(back) == data
    for table in ("collectives", "steps", "bins"):
        assert getattr(back, table) == getattr(digest, table)


def test_a_made_digest_comes_back_equal() -> None:
    digest = a_digest()

    assert decoded(encoded(digest)) == digest
    assert decoded(encoded(digest)) != replace(digest, lost_ops=1)
    changed = replace(digest.collectives, end_ns=digest.collectives.end_ns + 1)
    assert decoded(encoded(digest)) != replace(digest, collectives=changed)
    assert decoded(encoded(digest)).collectives.use.dtype == np.int32


@given(st.binary(max_size=200))
def test_other_bytes_are_no_digest(data: bytes) -> None:
    with pytest.raises(UnreadableDigestError):
        decoded(data)


@given(st.data())
@settings(max_examples=100)
def test_damaged_bytes_are_refused(data: st.DataObject) -> None:
    whole = encoded(a_digest())
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(UnreadableDigestError):
        decoded(whole[:cut])
    changed = bytearray(whole)
    changed[cut] ^= data.draw(st.integers(1, 255))
    with pytest.raises(UnreadableDigestError):
        decoded(bytes(changed))


@given(st.binary(max_size=300))
def test_any_body_with_a_right_checksum_is_refused(body: bytes) -> None:
    with pytest.raises(UnreadableDigestError):
        decoded(packed(body))


@given(st.data())
@settings(max_examples=200)
def test_columns_that_are_described_otherwise_are_refused_or_fit(data: st.DataObject) -> None:
    """Whatever a hostile sender claims: an error of ours, or a digest whose parts fit."""
    header, columns = unpacked(encoded(a_digest()))
    described = header["columns"]
    assert isinstance(described, list)
    place = data.draw(st.integers(0, len(described) - 1))
    member = data.draw(st.integers(0, 2))
    described[place][member] = data.draw(
        st.integers(-2, 10) | st.sampled_from([1 << 40, None, "x", 1.5, [1]])
    )
    try:
        digest = decoded(with_header(header, columns))
    except UnreadableDigestError:
        return
    assert len(digest.collectives.use) == len(digest.collectives.start_ns)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("who", [1, 2]),
        ("who", [1.5, 2, 3, 4, 5, 6]),
        ("who", ["1", 2, 3, 4, 5, 6]),
        ("ops", [1, 2, 3, None]),
        ("bins", [0, 0]),
        ("bins", [0, -1]),
        ("bins", "x"),
    ],
)
def test_numbers_that_are_none_are_refused(name: str, value: object) -> None:
    header, columns = unpacked(encoded(a_digest()))
    numbers = header["numbers"]
    assert isinstance(numbers, dict)
    numbers[name] = value

    with pytest.raises(UnreadableDigestError):
        decoded(with_header(header, columns))


@pytest.mark.parametrize("header", [[], {}, 7, None, {"columns": 1, "numbers": {}}])
def test_headers_that_are_none_are_refused(header: object) -> None:
    with pytest.raises(UnreadableDigestError):
        decoded(with_header(header, b""))


def test_a_size_that_is_not_true_is_refused_without_being_unpacked() -> None:
    for size in (0, 10, 101, 1 << 62):
        with pytest.raises(UnreadableDigestError):
            decoded(packed(bytes(100), size=size))
    # A megabyte of zeros in a kilobyte: no more than the stated size is unpacked.
    with pytest.raises(UnreadableDigestError, match="longer or shorter"):
        decoded(packed(bytes(1 << 20), size=64))


def test_another_version_is_told() -> None:
    with pytest.raises(UnreadableDigestError, match="version 9") as told:
        decoded(packed(b"", version=9))

    assert isinstance(told.value, ValueError)
    assert isinstance(told.value, UnreadableInputError)
    assert told.value.hint == "do all workers have the same wavescope?"


@pytest.mark.parametrize("changes", [{"use": 5}, {"use": -1}, {"step": 2}, {"step": -2}], ids=str)
def test_rows_that_are_not_there_are_refused(changes: dict[str, int]) -> None:
    digest = a_digest()
    columns = {name: np.full(1, value, np.int32) for name, value in changes.items()}
    wrong = replace(digest, collectives=replace(digest.collectives, **columns))

    with pytest.raises(UnreadableDigestError, match="not there"):
        decoded(encoded(wrong))


def test_columns_of_different_lengths_are_refused() -> None:
    digest = a_digest()
    longer = replace(digest.collectives, peer=np.zeros(2, np.int32))

    with pytest.raises(UnreadableDigestError, match="differ in length"):
        decoded(encoded(replace(digest, collectives=longer)))


def test_collectives_one_after_another_take_few_bytes() -> None:
    """Of each the compute before it, its length and the gaps are news; all else follows."""
    count = 5_000
    rng = np.random.default_rng(3)
    compute, lengths = rng.integers(3_000_000, 3_060_000, (2, count))
    gaps = np.full(count, 40_000)
    end = 10**18 + np.cumsum(gaps + compute + lengths)
    rows = CollectiveRows(
        start_ns=end - lengths,
        end_ns=end,
        use=np.zeros(count, np.int32),
        queue=np.zeros(count, np.int32),
        sequence=np.arange(count, dtype=np.int64),
        peer=np.full(count, -1, np.int32),
        step=np.full(count, -1, np.int32),
        compute_before_ns=np.concatenate(([0], compute[1:])),
        idle_before_ns=np.concatenate(([0], gaps[1:])),
        host_late_ns=np.full(count, -1),
        exposed_ns=lengths,
        exposed_tail_ns=lengths,
    )
    digest = replace(a_digest(), collectives=rows)

    assert decoded(encoded(digest)) == digest
    assert len(encoded(digest)) < 5 * count


def test_a_usual_digest_is_small() -> None:
    count = 2_000
    rng = np.random.default_rng(3)
    start = np.cumsum(rng.integers(10_000, 90_000, count)) + 10**18
    times = {
        name: rng.integers(0, 60_000, count)
        for name in CollectiveRows.__dataclass_fields__
        if name.endswith("_ns")
    }
    digest = a_digest()
    rows = replace(
        digest.collectives,
        **{**times, "start_ns": start, "end_ns": start + times["end_ns"]},
        use=np.zeros(count, np.int32),
        queue=np.zeros(count, np.int32),
        peer=np.full(count, -1, np.int32),
        step=np.arange(count, dtype=np.int32) // 1000,
        sequence=np.arange(count, dtype=np.int64),
    )

    assert len(encoded(replace(digest, collectives=rows))) < 50_000
