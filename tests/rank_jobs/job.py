"""A simulated job: traces, digests and files of its ranks, and what is true of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.rank_jobs.kineto_file import write_kineto
from tests.rank_jobs.layout import Hosts
from tests.rank_jobs.recording import Detail, Recorder, RunColumns, recorded_trace
from tests.rank_jobs.truth import Truth
from wavescope.analyze.ranks import digest as rank_digest
from wavescope.formats import ExportOptions, exporter_for
from wavescope.model.progress import no_progress
from wavescope.model.trace import Trace


@dataclass(frozen=True)
class SimulatedJob:
    """Ranks without a file are left out of everything but the truth."""

    columns: RunColumns
    recorders: tuple[Recorder, ...]
    detail: Detail
    hosts: Hosts
    truth: Truth

    @property
    def numbers(self) -> tuple[int, ...]:
        """The global ranks in the order of `traces`."""
        return tuple(recorder.rank for recorder in self.recorders)

    @cached_property
    def traces(self) -> tuple[Trace, ...]:
        """One for each rank that has a file, by the rank's own clock."""
        return tuple(self.trace(recorder) for recorder in self.recorders)

    def trace(self, recorder: Recorder) -> Trace:
        """The trace of one rank, made anew."""
        name = f"rank_{recorder.rank}.db"
        return Trace(recorded_trace(self.columns, recorder, self.detail, self.hosts, name))

    def digests(
        self, options: rank_digest.DigestOptions | None = None
    ) -> tuple[rank_digest.RankDigest, ...]:
        """What travels of each rank, in the order of `numbers`."""
        chosen = options or rank_digest.DigestOptions()
        return tuple(
            digest
            for recorder in self.recorders
            for digest in rank_digest.digests_of(self.trace(recorder), chosen)
        )

    def write(
        self,
        folder: Path,
        format: str = "db",  # noqa: A002  named as on the command line
        ranks: Sequence[int] | None = None,
    ) -> list[Path]:
        """Write a file `rank_N.FORMAT` for each rank: db, pftrace, json.gz or json (Kineto)."""
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for recorder in self.recorders:
            if ranks is not None and recorder.rank not in ranks:
                continue
            path = folder / f"rank_{recorder.rank}.{format}"
            if format.startswith("json"):
                write_kineto(path, self.columns, recorder, self.detail, self.hosts)
            else:
                name = f"rank_{recorder.rank}.db"
                source = recorded_trace(self.columns, recorder, self.detail, self.hosts, name)
                options = ExportOptions(gzip=False, short_names=False)
                exporter_for(path, "").write(source, path, options, no_progress)
            if recorder.rank in self.truth.half_ranks:
                data = path.read_bytes()
                path.write_bytes(data[: len(data) // 2])
            written.append(path)
        return written
