"""Command lines with values that no option expects, of a list of the options that there are."""

from __future__ import annotations

import json
from random import Random

from fuzz.mutators import raw_bytes, values

_LONGEST = 1_000
"""More than that is somebody's own text in a message."""
_VALUES = (
    "-",
    "--",
    "-1",
    "1e400%",
    "50%",
    "-5%",
    "1e30s",
    "999999999999999999s",
    "99999999999999999999",
    "1:2",
    ":",
    "1-",
    "1-99999999999",
    ",",
    "a=b,c=",
    "1e999GB",
    "99999999999999999999G",
    "(",
    "(a+)+$",
    "(?P<rank>.)(?P<rank>.)",
    "*" * 50,
    "\u00b2",
    "\udcff",
    "/dev/null",
    ".",
)


def mutate(random: Random, content: bytes) -> bytes:
    """The words of one command line, as JSON."""
    try:
        commands = json.loads(content)
        name = random.choice(sorted(commands))
        given, options = commands[name]
    except (ValueError, RecursionError, TypeError, LookupError):
        return raw_bytes.mutate(random, content)
    words = [name, *given]
    for _ in range(random.choice((1, 1, 2, 4))):
        option, value = random.choice(options), _value(random)
        words += random.choice(([option, value], [f"{option}={value}"]))
    return json.dumps(words).encode()


def _value(random: Random) -> str:
    choice = random.choice(
        (
            str(values.integer(random)),
            str(random.choice(values.LARGER_INTEGERS)),
            values.text(random),
            values.text(random),
            random.choice(_VALUES),
            random.choice(_VALUES),
        )
    )
    return choice[:_LONGEST].replace("\0", "")  # no command line can hold a zero
