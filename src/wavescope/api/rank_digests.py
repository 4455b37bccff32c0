"""What a worker does with one file of a job: open it, digest it, send the digest back.

Only this travels: the path and the options there, some 100 kB for each rank back.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict

from wavescope.analyze.ranks.digest import (
    DigestOptions,
    RankDigest,
    decoded,
    digests_of,
    encoded,
)
from wavescope.formats import open_trace
from wavescope.workers import Task

_LENGTH = struct.Struct("<Q")


def digest_task(options: DigestOptions) -> Task:
    """The task that makes digests of each file."""
    # Not by orjson, which refuses what a command line may hold: bytes that are no text.
    return Task(f"{__name__}:digests_of_file", json.dumps(asdict(options)).encode())


def digests_of_file(path: str, options: bytes) -> bytes:
    """The digests of all ranks in the trace at `path`, as `read_digests` takes them."""
    with open_trace(path) as trace:
        made = digests_of(trace, DigestOptions(**json.loads(options)))
        trace.forget()
    return b"".join(_framed(encoded(digest)) for digest in made)


def read_digests(answer: bytes) -> list[RankDigest]:
    """What `digests_of_file` gave."""
    return [decoded(part) for part in _parts(answer)]


def _framed(part: bytes) -> bytes:
    return _LENGTH.pack(len(part)) + part


def _parts(answer: bytes) -> Iterator[bytes]:
    """Each digest's bytes; those of the last are fewer, and no digest, where the answer is cut."""
    at = 0
    while at < len(answer):
        length = int.from_bytes(answer[at : at + _LENGTH.size], "little")
        at += _LENGTH.size
        yield answer[at : at + length]
        at += length
