"""A run over some readers: each gets the same time, or the same number of cases."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fuzz.cases import Case, case_of, make_samples
from fuzz.execution import Limits, Places
from fuzz.failures import Failures
from fuzz.imported import import_everything
from fuzz.inputs import write_input
from fuzz.verdict import failure_of
from fuzz.worker import Worker

_CASES_IN_A_ROW = 25
"""Of one reader before the next one's turn."""
_TELLING_SECONDS = 60.0


@dataclass(frozen=True)
class CampaignOptions:
    """What to run; `cases` of each reader, or as many as `seconds` allow."""

    readers: tuple[str, ...]
    seed: int
    seconds: float
    cases: int | None
    failures: Path
    first: int = 0
    shared_data: Path | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass
class Count:
    """What was run of one reader."""

    cases: int = 0
    seconds: float = 0.0
    failures: int = 0


class Campaign:
    """Runs the cases of `options` within `folder`; `say` hears of each new kind of failure."""

    def __init__(self, options: CampaignOptions, folder: Path, say: Callable[[str], None]) -> None:
        import_everything()
        self._options = options
        self._say = say
        self._samples = make_samples(folder / "samples", options.shared_data)
        capture = write_input(self._samples["captures"].own[0], folder / "capture")
        places = Places(folder / "running", capture)
        self._worker = Worker(places, self._case, options.limits)
        self._next_telling = time.monotonic() + _TELLING_SECONDS
        self._counts = {reader: Count() for reader in options.readers}
        self.failures = Failures(options.failures)

    def run(self) -> Mapping[str, Count]:
        """How many cases of each reader ran, and how many failed."""
        end = time.monotonic() + self._options.seconds
        try:
            while (reader := self._next_reader()) and (
                self._options.cases is not None or time.monotonic() < end
            ):
                for _ in range(_CASES_IN_A_ROW):
                    self._run_next(reader)
                self._tell_progress()
        except KeyboardInterrupt:
            self._say("interrupted: what ran until here counts")
        finally:
            self._worker.close()
        return self._counts

    def _tell_progress(self) -> None:
        if time.monotonic() >= self._next_telling:
            self._next_telling = time.monotonic() + _TELLING_SECONDS
            cases = sum(each.cases for each in self._counts.values())
            self._say(f"{cases:,} cases, {len(self.failures)} kinds of failures")

    def _case(self, reader: str, number: int) -> Case:
        return case_of(self._samples, self._options.seed, reader, number)

    def _next_reader(self) -> str:
        """The reader that had the least time, or one that has cases left."""
        cases = self._options.cases
        if cases is not None:
            return next((name for name, each in self._counts.items() if each.cases < cases), "")
        return min(self._counts, key=lambda name: self._counts[name].seconds)

    def _run_next(self, reader: str) -> None:
        count = self._counts[reader]
        if self._options.cases is not None and count.cases >= self._options.cases:
            return
        start = time.monotonic()
        number = self._options.first + count.cases
        outcome = self._worker.run(reader, number)
        if failure_of(outcome, most_bytes=self._options.limits.most_bytes):
            count.failures += self._confirm(reader, number)
        count.cases += 1
        count.seconds += time.monotonic() - start

    def _confirm(self, reader: str, number: int) -> bool:
        """Whether a case fails in a child of its own, too, as a command would; it is kept then."""
        case = self._case(reader, number)
        outcome = self._worker.run_once(case)
        failure = failure_of(outcome, most_bytes=self._options.limits.most_bytes)
        if not failure:
            self._say(
                f"{reader} case {number} failed only after others, in a child that had run them"
            )
            return False
        if not outcome.signal:
            debugged = self._worker.run_once(case, is_debugged=True)
            outcome = replace(outcome, errors=f"{outcome.errors}\n{debugged.errors}")
        told = self.failures.add(case, failure, outcome)
        if told:
            self._say(told)
        return True


def table_of(counts: Mapping[str, Count]) -> str:
    """The counts as a Markdown table."""
    rows = [(name, each.cases, each.seconds, each.failures) for name, each in counts.items()]
    rows.append(
        (
            "all",
            sum(each.cases for each in counts.values()),
            sum(each.seconds for each in counts.values()),
            sum(each.failures for each in counts.values()),
        )
    )
    lines = ["| reader | cases | cases/s | failures |", "|---|---:|---:|---:|"]
    lines += [
        f"| {name} | {cases:,} | {cases / max(seconds, 1e-9):.0f} | {failures} |"
        for name, cases, seconds, failures in rows
    ]
    return "\n".join(lines)
