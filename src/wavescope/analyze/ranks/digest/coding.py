"""Digests as bytes: our own format, since what travels between machines must not be code.

    magic "WSRD", version, checksum of the rest, size of the packed part after unpacking   17 bytes
    packed (zlib): size of the header, header (JSON: numbers, and how columns are stored),
    then the columns one after the other

A column of integers is stored as differences where that makes it narrower, in the narrowest type
that holds it, byte by byte of all values, which packs better. Texts are one column of bytes and one
of lengths. Equal digests give equal bytes.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import orjson

from wavescope.analyze.ranks.digest.collective_codes import (
    AS_THEY_ARE,
    DERIVED,
    restored_rows,
    stored_columns,
)
from wavescope.analyze.ranks.digest.column_codes import ColumnReader, ColumnWriter
from wavescope.analyze.ranks.digest.digest_checks import checked
from wavescope.analyze.ranks.digest.rank_digest import (
    CollectiveRows,
    CollectiveUse,
    Group,
    KernelTotal,
    RankDigest,
    RankIdentity,
    StepRows,
    TimeBins,
)
from wavescope.errors import UnreadableInputError

_MAGIC = b"WSRD"
_VERSION = 3
_HEAD = struct.Struct("<4sBIQ")
_HEADER_SIZE = struct.Struct("<I")
_MOST_BYTES = 256 << 20
"""No digest unpacks to more."""
_PACKING = 1
"""zlib's quickest level: higher ones save a tenth and take several times as long."""
_COLLECTIVE_COLUMNS = (*AS_THEY_ARE, *DERIVED)
_STEP_COLUMNS = tuple(StepRows.__dataclass_fields__)
_BIN_COLUMNS = ("busy_ns", "compute_ns", "collective_ns", "exposed_ns")
_SHORT = frozenset({"use", "queue", "peer", "step", "phase"})
"""Columns of 32 bits; others have 64."""


class UnreadableDigestError(UnreadableInputError, ValueError):
    """Bytes that are no digest, or a damaged one."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "the digest of a rank", reason, hint="do all workers have the same wavescope?"
        )


def encoded(digest: RankDigest) -> bytes:
    """The digest as bytes."""
    writer = ColumnWriter()
    numbers = _write(writer, digest)
    try:
        header = orjson.dumps({"columns": writer.described, "numbers": numbers})
    except TypeError as error:  # what orjson says of integers beyond 64 bits
        raise UnreadableInputError(
            "the digest of a rank", "times of its trace add up to more than 64 bits hold"
        ) from error
    body = b"".join((_HEADER_SIZE.pack(len(header)), header, *writer.parts))
    packed = zlib.compress(body, _PACKING)
    return _HEAD.pack(_MAGIC, _VERSION, zlib.crc32(packed), len(body)) + packed


def decoded(data: bytes) -> RankDigest:
    """The digest that `encoded` made of; UnreadableDigestError for anything else."""
    body = _unpacked(data)
    try:
        (size,) = _HEADER_SIZE.unpack_from(body)
        end = _HEADER_SIZE.size + size
        header = orjson.loads(body[_HEADER_SIZE.size : end])
        reader = ColumnReader(header["columns"], memoryview(body)[end:])
        digest = _read(reader, header["numbers"])
        reader.require_end()
        return checked(digest)
    except (struct.error, KeyError, TypeError, ValueError, OverflowError, IndexError) as error:
        raise UnreadableDigestError(f"it is damaged ({error})") from error


def _unpacked(data: bytes) -> bytes:
    if len(data) < _HEAD.size or not data.startswith(_MAGIC):
        raise UnreadableDigestError("it does not begin as one")
    _, version, checksum, size = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise UnreadableDigestError(f"it has version {version}, not {_VERSION}")
    packed = memoryview(data)[_HEAD.size :]
    if zlib.crc32(packed) != checksum:
        raise UnreadableDigestError("its checksum is wrong: was it cut off?")
    if size > _MOST_BYTES:
        raise UnreadableDigestError(f"it claims to be of {size:,} bytes")
    unpacker = zlib.decompressobj()
    try:
        # One byte more shows data that is longer than it says.
        body = unpacker.decompress(packed, size + 1)
    except zlib.error as error:
        raise UnreadableDigestError(f"it is damaged ({error})") from error
    if len(body) != size or not unpacker.eof or unpacker.unused_data:
        raise UnreadableDigestError("it is longer or shorter than it says")
    return body


def _write(writer: ColumnWriter, digest: RankDigest) -> dict[str, Any]:
    """Put all columns and texts into `writer`; the numbers that are left."""
    who, kernels, uses, groups = digest.identity, digest.kernels, digest.uses, digest.groups
    writer.texts((who.host, who.gpu_uuid, who.gpu_model, who.chip))
    writer.texts((digest.path, digest.format, digest.steps_told_by, digest.clock))
    writer.texts(digest.phases)
    writer.texts(digest.notes)
    writer.texts([group.name for group in groups])
    writer.texts([group.description for group in groups])
    writer.integers([group.size for group in groups])
    writer.integers([len(group.ranks) for group in groups])
    writer.integers([rank for group in groups for rank in group.ranks])
    writer.texts([use.operation for use in uses])
    writer.texts([use.dtype for use in uses])
    writer.texts([use.name for use in uses])
    writer.integers([use.group for use in uses])
    writer.integers([use.size_bytes for use in uses])
    writer.reals([use.bus_factor for use in uses])
    writer.texts([kernel.name for kernel in kernels])
    writer.texts([kernel.category for kernel in kernels])
    for member in KernelTotal._fields[2:]:
        writer.integers([getattr(kernel, member) for kernel in kernels])
    writer.texts([name for name, _ in digest.monitors])
    writer.reals([value for _, value in digest.monitors])
    stored = stored_columns(digest.collectives, digest.first_ns)
    for name in _COLLECTIVE_COLUMNS:
        writer.integers(stored[name])
    for table, columns in ((digest.steps, _STEP_COLUMNS), (digest.bins, _BIN_COLUMNS)):
        for name in columns:
            writer.integers(getattr(table, name))
    return {
        "who": [who.rank, who.world_size, who.pid, who.gpu, who.clock_mhz, who.compute_units],
        "bins": [digest.bins.first_ns, digest.bins.width_ns],
        "ops": [digest.op_count, digest.first_ns, digest.last_ns],
        "missing": [digest.lost_ops, digest.older_ops],
        "is_sampled": digest.is_sampled,
    }


def _read(reader: ColumnReader, numbers: dict[str, Any]) -> RankDigest:
    """The digest, read in the order in which it was written."""
    host, uuid, model, chip = reader.texts()
    path, format_name, told_by, clock = reader.texts()
    phases, notes = reader.texts(), reader.texts()
    groups = _groups(reader)
    uses = _uses(reader)
    names, categories = reader.texts(), reader.texts()
    measures = [reader.integers().tolist() for _ in KernelTotal._fields[2:]]
    kernels = tuple(KernelTotal(*row) for row in zip(names, categories, *measures, strict=True))
    monitors = tuple(zip(reader.texts(), reader.reals(), strict=True))
    tables = [
        {name: reader.integers(is_short=name in _SHORT) for name in columns}
        for columns in (_COLLECTIVE_COLUMNS, _STEP_COLUMNS, _BIN_COLUMNS)
    ]
    rank, world_size, pid, gpu, clock_mhz, units = numbers["who"]
    first_bin_ns, width_ns = _whole(numbers["bins"])
    op_count, first_ns, last_ns = _whole(numbers["ops"])
    lost_ops, older_ops = _whole(numbers["missing"])
    _whole([pid, gpu, clock_mhz, units])
    _whole([number for number in (rank, world_size) if number is not None])
    return RankDigest(
        identity=RankIdentity(
            rank, world_size, host, pid, gpu, uuid, model, chip, clock_mhz, units
        ),
        path=path,
        format=format_name,
        op_count=op_count,
        first_ns=first_ns,
        last_ns=last_ns,
        groups=groups,
        uses=uses,
        collectives=_collectives(tables[0], first_ns),
        steps=StepRows(**tables[1]),
        steps_told_by=told_by,
        phases=tuple(phases),
        kernels=kernels,
        bins=TimeBins(first_bin_ns, width_ns, **tables[2]),
        monitors=monitors,
        clock=clock,
        lost_ops=lost_ops,
        older_ops=older_ops,
        is_sampled=numbers["is_sampled"] is True,
        notes=tuple(notes),
    )


def _collectives(stored: dict[str, Any], first_ns: int) -> CollectiveRows:
    if len({len(column) for column in stored.values()}) > 1:
        raise ValueError("columns of collectives differ in length")
    return restored_rows(stored, first_ns)


def _groups(reader: ColumnReader) -> tuple[Group, ...]:
    names, descriptions = reader.texts(), reader.texts()
    sizes, counts = reader.integers().tolist(), reader.integers().tolist()
    ranks = reader.integers().tolist()
    groups, first = [], 0
    for name, description, size, count in zip(names, descriptions, sizes, counts, strict=True):
        if count < 0 or first + count > len(ranks):
            raise ValueError("the ranks of a group are missing")
        groups.append(Group(name, description, size, tuple(ranks[first : first + count])))
        first += count
    if first != len(ranks):
        raise ValueError("there are more ranks than groups have")
    return tuple(groups)


def _uses(reader: ColumnReader) -> tuple[CollectiveUse, ...]:
    operations, types, names = (reader.texts() for _ in range(3))
    groups, sizes = (reader.integers().tolist() for _ in range(2))
    factors = reader.reals()
    rows = zip(operations, groups, types, sizes, factors, names, strict=True)
    return tuple(CollectiveUse(*row) for row in rows)


def _whole(values: list[Any]) -> list[int]:
    if not all(type(value) is int for value in values):
        raise TypeError("a value is not a whole number")
    return values
