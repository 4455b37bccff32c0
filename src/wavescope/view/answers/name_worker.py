"""A process that matches names with regular expressions, which may take forever.

It is run as a file, imports nothing of wavescope, and speaks lines of JSON: `{"names": [...]}`
replaces the names, `{"pattern": ...}` is answered with `{"hits": [...]}`, the positions of the
names in which it is found, or with `{"error": ...}`. It ends itself when one pattern takes more
seconds of its processor than its argument says, however busy the machine is.
"""

from __future__ import annotations

import json
import re
import signal
import sys


def hits(pattern: str, names: list[list[str]]) -> dict[str, object]:
    """The positions of the names, each of which may have several spellings, or what is wrong."""
    try:
        search = re.compile(pattern).search
    except (re.error, OverflowError, RecursionError, MemoryError, ValueError) as error:
        return {"error": str(error)}
    return {"hits": [n for n, spellings in enumerate(names) if any(map(search, spellings))]}


def main() -> None:
    """Answers line by line until there are no more."""
    names: list[list[str]] = []
    most_seconds = float(sys.argv[1])
    for line in sys.stdin:
        asked = json.loads(line)
        if "names" in asked:
            names = asked["names"]
            continue
        # Matching cannot be interrupted by Python: the signal's default, which ends the process.
        signal.setitimer(signal.ITIMER_VIRTUAL, most_seconds)
        answer = hits(asked["pattern"], names)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
