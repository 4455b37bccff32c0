"""Damage to what is packed: members of zip and tar files, the text in gzip files."""

from __future__ import annotations

import gzip
import io
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
    return _maybe_damaged(random, stream.getvalue())


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
