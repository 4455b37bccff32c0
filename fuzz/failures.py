"""What failed, kept with its input and command: the smallest input for each kind of failure."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from pathlib import Path

from fuzz.cases import Case
from fuzz.inputs import write_input
from fuzz.verdict import Outcome, place_of


class Failures:
    """The folder of failures; `count` is of all that failed, `kinds` of those that differ."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._smallest: dict[str, int] = {}
        self.count: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._smallest)

    def add(self, case: Case, failure: str, outcome: Outcome) -> str:
        """Keep the case where it is the smallest of its kind; what is new about it, in a line."""
        self.count[case.reader] = self.count.get(case.reader, 0) + 1
        place = place_of(outcome.errors)
        # A hang has no one place, and what stands in messages differs from case to case.
        kind = f"{failure} {place}" if place else f"{failure} {case.reader} {case.command[0]}"
        key = hashlib.sha256(kind.encode()).hexdigest()[:10]
        size = case.made.size_bytes
        is_new = key not in self._smallest
        if is_new or size < self._smallest[key]:
            self._smallest[key] = size
            self._write(
                self._folder / f"{case.reader.replace(' ', '_')}-{key}", case, kind, outcome
            )
        return f"{case.reader} case {case.number}: {kind}" if is_new else ""

    def _write(self, folder: Path, case: Case, kind: str, outcome: Outcome) -> None:
        for each in self._folder.glob(f"*-{folder.name.rpartition('-')[2]}"):
            shutil.rmtree(each)
        folder.mkdir(parents=True)
        write_input(case.made, folder / "input")
        given = f"input/{case.made.given}" if case.made.given else "input"
        words = [word.replace("{in}", given).replace("{out}", "out") for word in case.command]
        (folder / "command.txt").write_text(f"wavescope {shlex.join(words)}\n")
        (folder / "about.txt").write_text(
            f"{kind}\nreader {case.reader}, case {case.number}, exit code {outcome.code}\n"
            f"changed {outcome.changed}, left {outcome.left}, "
            f"{outcome.seconds:.2f} s, {outcome.peak_bytes >> 20} MB\n\n{outcome.errors}"
        )
