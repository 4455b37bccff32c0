"""Many ranks of one job, read where their files lie and compared with each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from wavescope.analyze.ranks.digest import DigestOptions, RankDigest
from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.joining import job_of
from wavescope.analyze.ranks.result import FileState, RanksOptions, ranks_result
from wavescope.analyze.ranks.stragglers import StragglerReport, stragglers_of
from wavescope.api.opened import paths_of
from wavescope.api.rank_digests import digest_task, read_digests
from wavescope.api.rank_files import PATTERN_HINT, RankFile, search_rank_files
from wavescope.api.rank_numbers import ranks_of
from wavescope.errors import UnreadableInputError
from wavescope.model.paths import PathLike, bytes_at
from wavescope.model.progress import Progress, Tell, no_progress, tell_nobody
from wavescope.model.result import Result
from wavescope.outputs import replaced, require_free
from wavescope.units import counted
from wavescope.workers import EngineOptions, Outcome, run_all

Paths = PathLike | Sequence[PathLike]


def ranks(
    traces: Paths,
    options: RanksOptions | None = None,
    *,
    base: Paths = (),
    rank_pattern: str = "",
    step_marker: str = "",
    engine: EngineOptions | None = None,
    page: PathLike | None = None,
    title: str = "",
    force: bool = False,
    progress: Progress = no_progress,
    tell: Tell = tell_nobody,
) -> Result:
    """Who makes the ranks of a job wait, and why; collectives, clocks and steps of all of them.

    `traces` are files, folders or patterns of names ("run/rank*.db"), of any known format: each is
    read where it lies, in processes of this machine or as `engine` says, and one that cannot be
    read is a row that says so. `rank_pattern` is a regular expression that finds `rank`, and maybe
    `host`, in paths; `step_marker` one that markers of steps match. With `base`, traces of an
    earlier run, the result says what changed. With `page`, a page of HTML is written, too.
    """
    request = _Request(rank_pattern, step_marker, engine or EngineOptions(), progress, tell)
    given, earlier = paths_of(traces), paths_of(base) if base else []
    if page is not None:
        require_free(Path(page), [*given, *earlier], force=force)
    before = _job(earlier, request) if earlier else None
    found = _job(given, request)
    report = stragglers_of(found.job)
    left_out = [file for file in before.files if file.problem] if before else []
    result = ranks_result(
        found.job,
        [*found.files, *left_out],
        options,
        before.job if before else None,
        report,
    )
    if page is not None:
        with replaced(Path(page), [*given, *earlier], force=force) as temporary:
            _write(temporary, found.job, report, result, title or _title(given))
    return result


class _Request(NamedTuple):
    """How ranks are to be read."""

    pattern: str
    step_marker: str
    engine: EngineOptions
    progress: Progress
    tell: Tell


class _Found(NamedTuple):
    job: Job
    files: tuple[FileState, ...]


def _job(given: Sequence[Path], request: _Request) -> _Found:
    """The job of all ranks that could be read, and what became of each file."""
    found = search_rank_files(given, request.pattern)
    if found.sentence:
        request.tell(found.sentence)
    outcomes = _digested(found.files, request)
    made = [read_digests(outcome.value) if outcome.value else [] for outcome in outcomes]
    if not any(made):
        raise _nothing_read(found.files, outcomes)
    numbered = ranks_of(found.files, made)
    for note in numbered.notes:
        request.tell(note)
    files = tuple(
        FileState(
            file.path,
            _first(numbers, file.rank),
            _with_hint(outcome),
            _op_count(digests),
            tuple(dict.fromkeys(note for digest in digests for note in digest.notes)),
        )
        for file, numbers, outcome, digests in zip(
            found.files, numbered.of_file, outcomes, made, strict=True
        )
    )
    return _Found(job_of(numbered.digests, numbered.numbers), files)


def _digested(files: Sequence[RankFile], request: _Request) -> list[Outcome]:
    """What came of each file; those that are known to be unusable are not read."""
    usable = [number for number, file in enumerate(files) if not file.problem]
    # Workers may be on other machines, or begin in another folder.
    items = [str(Path(files[number].path).absolute()) for number in usable]
    task = digest_task(DigestOptions(step_marker=request.step_marker))
    weights = [_size(path) for path in items]
    outcomes = run_all(
        task,
        items,
        request.engine,
        lambda done, total, _: request.progress(done, total),
        weights=weights,
    )
    known = dict(zip(usable, map(_without_path, outcomes), strict=True))
    return [
        known.get(number) or Outcome(number, file.path, None, file.problem, 0)
        for number, file in enumerate(files)
    ]


def _without_path(outcome: Outcome) -> Outcome:
    """The outcome whose problem does not name the file again, beside which it stands."""
    return replace(outcome, problem=outcome.problem.removeprefix(f"cannot read {outcome.item}: "))


def _with_hint(outcome: Outcome) -> str:
    """The problem and what to do about it, as a cell of a table holds them."""
    return f"{outcome.problem} ({outcome.hint})" if outcome.hint else outcome.problem


def _size(path: str) -> int:
    try:
        return bytes_at(Path(path))
    except OSError:
        return 0  # missing, which the worker says


def _nothing_read(files: Sequence[RankFile], outcomes: Sequence[Outcome]) -> UnreadableInputError:
    """None of the files could be read: what was wrong with the first."""
    more = f" ({counted(len(files) - 1, 'more file')} could not be read either)"
    return UnreadableInputError(
        files[0].path,
        (outcomes[0].problem or "it holds no rank") + (more if len(files) > 1 else ""),
        hint=PATTERN_HINT if files[0].problem else outcomes[0].hint,
    )


def _first(numbers: Sequence[int], otherwise: int | None) -> int | None:
    return numbers[0] if numbers else otherwise


def _op_count(digests: Sequence[RankDigest]) -> int:
    return sum(digest.op_count for digest in digests)


def _title(given: Sequence[Path]) -> str:
    more = f" and {len(given) - 1} more" if len(given) > 1 else ""
    return f"{given[0].name or given[0].absolute().name}{more}"


def _write(path: Path, job: Job, report: StragglerReport, result: Result, title: str) -> None:
    # Only pages need it, and it imports everything that draws.
    from wavescope.render.html.page import write_page  # noqa: PLC0415
    from wavescope.render.html.ranks_page import ranks_page  # noqa: PLC0415

    with path.open("w", encoding="utf-8") as stream:
        write_page(ranks_page(job, report, result, title), stream)
