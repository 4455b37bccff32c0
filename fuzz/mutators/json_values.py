"""Damage to JSON: values of other types, missing and doubled members, what no number holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from fuzz.mutators import raw_bytes, values

_MARK = "@fuzz raw "
_RAW = (
    "1e999",
    "-1e999",
    "NaN",
    "Infinity",
    "1" * 400,
    "-0",
    "0.1e-400",
    "1.7976931348623157e308",
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\u0000"',
    "[" * 3_000 + "]" * 3_000,
    '{"a":' * 1_200 + "1" + "}" * 1_200,
    "tru",
    "'a'",
    "01",
    "+1",
    "1.",
    "/* */ 1",
    '{"a":1,"a":2}',
    "\x01",
)
"""Texts that stand in place of a value, valid or not."""


def mutate(random: Random, content: bytes) -> bytes:
    """The document after some values were changed; damaged bytes where it is none."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return raw_bytes.mutate(random, content)
    for _ in range(random.choice((1, 1, 2, 5))):
        document = _changed(random, document)
    return _text(random, document)


def mutate_lines(random: Random, content: bytes) -> bytes:
    """The same for a file with a document in each line."""
    lines = content.split(b"\n")
    at = random.randrange(len(lines))
    lines[at] = mutate(random, lines[at])
    return b"\n".join(lines)


def _text(random: Random, document: Any) -> bytes:
    text = json.dumps(document, separators=(",", ":"))
    for number, raw in enumerate(_RAW):
        text = text.replace(f'"{_MARK}{number}"', raw)
    if random.random() < 0.02:
        return text.encode("utf-16")
    return (b"\xef\xbb\xbf" if random.random() < 0.02 else b"") + text.encode()


def _changed(random: Random, document: Any) -> Any:
    """`document` with a change at some depth."""
    if not isinstance(document, dict | list) or not document or random.random() < 0.08:
        return _other(random, document)
    place = random.choice(list(document) if isinstance(document, dict) else range(len(document)))
    change = random.random()
    if change < 0.12:
        return random.choice(_CONTAINER_CHANGES)(random, document, place)
    changed = dict(document) if isinstance(document, dict) else list(document)
    changed[place] = _changed(random, document[place])
    return changed


def _other(random: Random, value: Any) -> Any:
    """Something in place of `value`."""
    choices: tuple[Callable[[], Any], ...] = (
        lambda: values.integer(random),
        lambda: values.integer(random),
        lambda: random.choice(values.LARGER_INTEGERS),
        lambda: values.text(random),
        lambda: values.text(random),
        lambda: random.choice((None, True, False, [], {}, 0.5, -0.0, 1e300, 5e-324)),
        lambda: [value],
        lambda: {"a": value},
        lambda: [value] * 50,
        lambda: str(value)[:200],
        lambda: -value if isinstance(value, int | float) else None,
        lambda: f"{_MARK}{random.randrange(len(_RAW))}",
    )
    return random.choice(choices)()


def _without(_: Random, document: Any, place: Any) -> Any:
    if isinstance(document, dict):
        return {name: value for name, value in document.items() if name != place}
    return document[:place] + document[place + 1 :]


def _doubled(random: Random, document: Any, place: Any) -> Any:
    if isinstance(document, dict):
        return {**document, values.text(random): document[place]}
    return document[:place] + [document[place]] * random.choice((2, 30)) + document[place:]


def _renamed(random: Random, document: Any, place: Any) -> Any:
    if isinstance(document, dict):
        name = random.choice((values.text(random), place.upper(), place + " "))
        return {name if each == place else each: value for each, value in document.items()}
    return random.sample(document, len(document))


def _swapped(random: Random, document: Any, place: Any) -> Any:
    changed = dict(document) if isinstance(document, dict) else list(document)
    other = random.choice(list(document) if isinstance(document, dict) else range(len(document)))
    changed[place], changed[other] = document[other], document[place]
    return changed


def _emptied(_: Random, document: Any, place: Any) -> Any:
    return {} if isinstance(document, dict) else document[:place]


_CONTAINER_CHANGES = (_without, _without, _doubled, _renamed, _swapped, _emptied)
