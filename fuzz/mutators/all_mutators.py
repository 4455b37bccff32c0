"""Which mutator fits a file: its content or its name tells the structure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from fuzz.inputs import Input, Special
from fuzz.mutators import (
    archives,
    csv_rows,
    folders,
    http_requests,
    json_values,
    option_words,
    protobuf_fields,
    raw_bytes,
    sql_text,
    sqlite_rows,
    toml_lines,
)

_BY_BEGINNING: tuple[tuple[bytes, Callable[[Random, bytes], bytes]], ...] = (
    (b"SQLite format 3\0", sqlite_rows.mutate),
    (b"WAVESCP1", raw_bytes.mutate_records),
    (b"{", json_values.mutate),
    (b"[", json_values.mutate),
)
_BY_ENDING: tuple[tuple[str, Callable[[Random, bytes], bytes]], ...] = (
    (".csv", csv_rows.mutate),
    (".toml", toml_lines.mutate),
    (".facts", json_values.mutate_lines),
    (".pb", protobuf_fields.mutate),
    (".pftrace", protobuf_fields.mutate),
    (".text", raw_bytes.mutate_records),
    ("words.json", option_words.mutate),
    (".http", http_requests.mutate),
    (".sql", sql_text.mutate),
)
_SHARE_WITHOUT_STRUCTURE = 0.15
_SHARE_OF_FOLDERS = 0.12
_SHARE_WITH_LOG = 0.01


def mutated(random: Random, sample: Input) -> Input:
    """Another input: one or two files of `sample` changed, or its folder."""
    if len(sample.files) > 1 and random.random() < _SHARE_OF_FOLDERS:
        return folders.mutate(random, sample)
    if random.random() < _SHARE_WITH_LOG:
        return _with_log(random, sample)
    for _ in range(random.choice((1, 1, 1, 2))):
        name = random.choice(list(sample.files))
        content = sample.files[name]
        if isinstance(content, bytes):
            sample = sample.with_file(name, mutated_file(random, name, content))
    return sample


def _with_log(random: Random, sample: Input) -> Input:
    """Something beside a file where SQLite has its log."""
    name = random.choice(list(sample.files))
    head = b"\x37\x7f\x06\x82\x00\x2d\xe2\x18" + (4_096).to_bytes(4, "big")
    log = random.choice(
        (head + random.randbytes(20) + random.randbytes(9_000), bytes(4_096), b"x", *Special)
    )
    return sample.with_file(f"{name}{random.choice(('-wal', '-wal', '-journal', '-shm'))}", log)


def mutated_file(random: Random, name: str, content: bytes) -> bytes:
    """Another content of the file called `name`."""
    if random.random() < _SHARE_WITHOUT_STRUCTURE:
        return raw_bytes.mutate(random, content)
    return _mutator_of(name, content)(random, content)


def _mutator_of(name: str, content: bytes) -> Callable[[Random, bytes], bytes]:
    if content.startswith(b"\x1f\x8b"):
        inner = name.removesuffix(".gz")
        return partial(archives.mutate_gzip, change=lambda r, _, text: mutated_file(r, inner, text))
    if content.startswith(b"PK"):
        return partial(archives.mutate_zip, change=mutated_file)
    if content[257:262] == b"ustar":
        return partial(archives.mutate_tar, change=mutated_file)
    for ending, mutate in _BY_ENDING:
        if name.endswith(ending):
            return mutate
    for beginning, mutate in _BY_BEGINNING:
        if content.startswith(beginning):
            return mutate
    return raw_bytes.mutate
