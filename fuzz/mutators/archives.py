"""Damage to what is packed: members of zip and tar files, the text in gzip files."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from random import Random

from fuzz.mutators import raw_bytes

Change = Callable[[Random, str, bytes], bytes]
"""Makes another content of what is called so."""
_NAMES = ("../outside", "/etc/passwd", "a" * 300, "a/../../b", "C:\\x", "\x00", ".", "")


def mutate_gzip(random: Random, content: bytes, change: Change) -> bytes:
    """The text changed and packed again; sometimes twice, cut, or followed by something."""
    try:
        text = gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return raw_bytes.mutate(random, content)
    packed = gzip.compress(change(random, "", text), compresslevel=1, mtime=0)
    choice = random.random()
    if choice < 0.1:
        return raw_bytes.mutate(random, packed)
    if choice < 0.15:
        return gzip.compress(packed, mtime=0)
    return packed + random.choice((b"", b"", b"", b"\0" * 9, b"more", packed))


def mutate_zip(random: Random, content: bytes, change: Change) -> bytes:
    """The archive with one member changed, renamed, doubled or left out."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(each.filename, archive.read(each)) for each in archive.infolist()]
    except (zipfile.BadZipFile, OSError, ValueError, zlib.error, EOFError, NotImplementedError):
        return raw_bytes.mutate(random, content)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in _changed_members(random, members, change):
            archive.writestr(zipfile.ZipInfo(name), data)
    packed = stream.getvalue()
    choice = random.random()
    if choice < 0.03:
        return _overlapping(packed, random.choice((20, 2_000)))
    if choice < 0.06:
        return _nested(packed, random.choice((1, 12)))
    return _maybe_damaged(random, packed)


def _overlapping(packed: bytes, times: int) -> bytes:
    """An archive whose list names each member so often, all of them the same bytes."""
    end = packed.rindex(b"PK\5\6")
    count, size, start = struct.unpack_from("<HII", packed, end + 10)
    times = min(times, 0xFFFF // max(1, count))
    tail = struct.pack("<HHII", count * times, count * times, size * times, start)
    return packed[:start] + packed[start:end] * times + packed[end : end + 8] + tail + b"\0\0"


def _nested(packed: bytes, depth: int) -> bytes:
    """An archive in an archive."""
    for _ in range(depth):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo("inner.zip"), packed)
        packed = stream.getvalue()
    return packed


def mutate_tar(random: Random, content: bytes, change: Change) -> bytes:
    """The same of a tar file; members may become links, devices and FIFOs."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            members = [
                (each.name, file.read())
                for each in archive.getmembers()
                if each.isreg() and (file := archive.extractfile(each))
            ]
    except (tarfile.TarError, OSError, EOFError, ValueError, zlib.error):
        return raw_bytes.mutate(random, content)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in _changed_members(random, members, change):
            archive.addfile(_member(random, name, data), io.BytesIO(data))
    return _maybe_damaged(random, stream.getvalue())


def _member(random: Random, name: str, data: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    if random.random() < 0.03:
        member.size = 0
        member.type = random.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, b"9"))
        member.linkname = random.choice(_NAMES)
    return member


def _changed_members(
    random: Random, members: list[tuple[str, bytes]], change: Change
) -> list[tuple[str, bytes]]:
    if not members:
        return members
    at = random.randrange(len(members))
    name, data = members[at]
    choice = random.random()
    if choice < 0.08:
        new = []
    elif choice < 0.16:
        new = [(random.choice(_NAMES) or "x", data)]
    elif choice < 0.22:
        new = [(name, data), (f"{name}.2", data)]
    else:
        new = [(name, change(random, name, data))]
    return [*members[:at], *new, *members[at + 1 :]]


def _maybe_damaged(random: Random, content: bytes) -> bytes:
    return raw_bytes.mutate(random, content) if random.random() < 0.2 else content
