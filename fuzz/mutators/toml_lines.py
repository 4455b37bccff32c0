"""Damage to TOML: other values, missing and doubled lines, other headings."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from fuzz.mutators import raw_bytes, values

_VALUES = (
    "1979-05-27T07:32:00Z",
    "nan",
    "-inf",
    "1e999",
    "9223372036854775808",
    "'(a+)+$'",
    "'('",
    "'[[:x:]]'",
    "'(?P<a>.)(?P<a>.)'",
    "'{}{0}{name}'",
    "'\\1\\99'",
    "'" + "a?" * 40 + "a" * 40 + "'",
    "[]",
    "[[]]",
    "{}",
    "{a = 1}",
    "true",
    "''",
)


def mutate(random: Random, content: bytes) -> bytes:
    """The file after some lines were changed."""
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(max(1, len(lines)))
        lines[at : at + 1] = random.choice(_CHANGES)(random, "".join(lines[at : at + 1]))
    changed = "\n".join(lines).encode("utf-8", "surrogateescape")
    return raw_bytes.mutate(random, changed) if random.random() < 0.1 else changed


def _other_value(random: Random, line: str) -> list[str]:
    key, equals, _ = line.partition("=")
    if not equals:
        return [line]
    choices = (
        str(values.integer(random)),
        json.dumps(values.text(random)),
        random.choice(_VALUES),
        random.choice(_VALUES),
    )
    return [f"{key}= {random.choice(choices)}"]


def _other_key(random: Random, line: str) -> list[str]:
    _, equals, value = line.partition("=")
    return [f"{json.dumps(values.text(random))} {equals} {value}"]


def _other_heading(random: Random, line: str) -> list[str]:
    if not line.startswith("["):
        return [line]
    name = line.strip("[]")
    return [random.choice((f"[{name}]", f"[[{name}]]", f"[[{name}.x]]", "[[other]]", f"[{name}"))]


_CHANGES: tuple[Callable[[Random, str], list[str]], ...] = (
    _other_value,
    _other_value,
    _other_value,
    _other_key,
    _other_heading,
    lambda _, line: [],
    lambda _, line: [line, line],
)
