"""What captures of single kernels say: hotspots, plan, page, comparison; and how to record one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.analyze.capture import (
    CaptureAnalysis,
    capture_coverage,
    capture_findings,
    capture_overview,
)
from wavescope.analyze.capture import hotspots as hotspots_result
from wavescope.errors import OutputExistsError, UnreadableInputError
from wavescope.formats.captures import (
    CaptureLocation,
    ReadOptions,
    find_captures,
    load_capture,
    only_capture,
)
from wavescope.model.capture import Capture
from wavescope.model.paths import PathLike
from wavescope.model.progress import Progress, no_progress
from wavescope.model.result import Finding, Result, ResultColumn, Severity, Unit, table_of
from wavescope.patterns import compiled

if TYPE_CHECKING:
    from wavescope.analyze.capture import HotspotOptions
    from wavescope.analyze.capture.plan import KernelCounters
    from wavescope.collect.capture import CaptureOptions

Paths = PathLike | Sequence[PathLike]


def hotspots(
    captures: Paths,
    options: HotspotOptions | None = None,
    *,
    kernel: str = "",
    has_overview: bool = False,
    has_waves: bool = True,
    has_plan: bool = False,
    counters: Paths = (),
    progress: Progress = no_progress,
) -> Result:
    """Where a kernel stalls, by instruction and line.

    `kernel` chooses the capture whose kernel's name it finds; where several are left,
    `has_overview` gives a table of them instead of an error. `has_plan` adds what to change.
    Without `has_waves` only code.json is read, and what waits waited for is estimated.
    """
    paths = _listed(captures)
    found = find_captures(paths)
    if kernel or (has_overview and len(found) > 1):
        found, overview = _chosen(paths, kernel, progress)
        if has_overview and len(found) > 1:
            return overview
    reading = ReadOptions(reads_waves=has_waves, progress=progress)
    analysis = CaptureAnalysis(load_capture(only_capture(paths[0], found), reading))
    result = hotspots_result(analysis, options)
    if has_plan:
        changes = _plan(analysis, counters)
        result = result.with_tables(*changes.tables).with_findings(changes.findings)
    return result


def plan(capture: PathLike, *, counters: Paths = (), progress: Progress = no_progress) -> Result:
    """What to change in a traced kernel, in which order, and for how much at most.

    `counters` of the same kernel, from another run, tell what caches and LDS banks did.
    """
    analysis = _analysis(capture, progress)
    return _plan(analysis, counters).with_findings(capture_findings(analysis.capture))


def compare_captures(
    before: PathLike, after: PathLike, *, progress: Progress = no_progress
) -> Result:
    """What changed from one capture of a kernel to another: by kind, line and instruction."""
    from wavescope.analyze.capture.diff import capture_diff  # noqa: PLC0415  seldom needed

    return capture_diff(_analysis(before, progress), _analysis(after, progress))


def capture_info(captures: Paths, *, progress: Progress = no_progress) -> Result:
    """Which captures there are; of a single one also what it covers and what it lacks."""
    found, overview = _chosen(_listed(captures), "", progress)
    if len(found) > 1:
        return overview
    analysis = CaptureAnalysis(load_capture(found[0], ReadOptions(progress=progress)))
    return overview.with_parts([capture_coverage(analysis)])


def capture_report(
    capture: PathLike,
    output: PathLike,
    *,
    title: str = "",
    counters: Paths = (),
    force: bool = False,
    progress: Progress = no_progress,
) -> Path:
    """Write one page of HTML: the plan, source beside instructions, waves over time, occupancy."""
    from wavescope.analyze.capture.page import capture_report as report_of  # noqa: PLC0415  large
    from wavescope.names.kernel_names import short_name  # noqa: PLC0415
    from wavescope.outputs import replaced, require_free  # noqa: PLC0415
    from wavescope.render.html.capture_page import capture_page  # noqa: PLC0415
    from wavescope.render.html.page import write_page  # noqa: PLC0415

    target, inputs = Path(output), [Path(capture)]
    require_free(target, inputs, force=force)
    analysis = _analysis(capture, progress)
    traced = analysis.capture
    report = report_of(analysis, _kernel_counters(analysis, counters))
    page = capture_page(report, title or short_name(traced.kernel_name) or traced.facts.name)
    with (
        replaced(target, inputs, force=force) as temporary,
        temporary.open("w", encoding="utf-8") as stream,
    ):
        write_page(page, stream)
    return target


def record_capture(
    options: CaptureOptions,
    *,
    force: bool = False,
    dry_run: bool = False,
    keeps_stdout: bool = False,
) -> Result:
    """Trace the instructions of a kernel with rocprofv3: the folders it wrote, latest last.

    With `dry_run` nothing runs: the facts are rocprofv3's input file and command line. With
    `keeps_stdout` the program prints to standard error only.
    """
    from wavescope.collect import capture as recorder  # noqa: PLC0415  only for this

    if dry_run:
        return Result(
            "Capture, not run",
            facts={
                "input_file": recorder.input_text(options),
                "command": shlex.join(recorder.command_line(options)),
                "path": str(options.output / recorder.INPUT_NAME),
            },
        )
    if options.output.exists() and any(options.output.iterdir()) and not force:
        raise OutputExistsError(options.output)
    end, folders = recorder.capture(options, os.environ, keeps_stdout=keeps_stdout)
    column = ResultColumn("folder", "Folder", Unit.NAME, "one traced dispatch each")
    result = Result(
        "Capture",
        [table_of("folders", "Folders", [column.of(str)], folders)],
        facts={"kernel": options.kernel, "command": shlex.join(options.command)},
    )
    if end.status == 0 and not end.given_up:
        return result
    how = f"was stopped, as {end.given_up}" if end.given_up else f"ended with {end.words}"
    words = f"rocprofv3 {how}; its trace is used"
    return result.with_findings(
        [Finding("capture-ended-badly", Severity.WARNING, "rocprofv3 did not end well", words)]
    )


def _listed(paths: Paths) -> list[PathLike]:
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


def _analysis(capture: PathLike, progress: Progress) -> CaptureAnalysis:
    return CaptureAnalysis(load_capture(only_capture(capture), ReadOptions(progress=progress)))


def _plan(analysis: CaptureAnalysis, counters: Paths) -> Result:
    from wavescope.analyze.capture.plan import plan_result  # noqa: PLC0415  many patterns

    return plan_result(analysis, _kernel_counters(analysis, counters))


def _kernel_counters(analysis: CaptureAnalysis, counters: Paths) -> KernelCounters | None:
    """The counters of the traced kernel in files of other runs, None where there are no files."""
    if not counters:
        return None
    from wavescope.analyze.capture.plan import KernelCounters  # noqa: PLC0415  with the patterns
    from wavescope.api.traffic import memory_counters  # noqa: PLC0415  with all formats of traces

    return KernelCounters.of_capture(analysis, memory_counters(counters))


def _chosen(
    paths: Sequence[PathLike], kernel: str, progress: Progress
) -> tuple[list[CaptureLocation], Result]:
    """The captures whose kernel's name `kernel` finds, and a table of them."""
    pattern, locations = compiled(kernel), find_captures(paths)
    chosen: list[CaptureLocation] = []
    captures: list[Capture] = []
    unreadable: list[str] = []
    for done, location in enumerate(locations):
        progress(done, len(locations))
        try:
            capture = load_capture(location, ReadOptions(reads_waves=False))
        except UnreadableInputError as error:
            if len(locations) == 1:
                raise
            unreadable.append(str(error))
            continue
        if pattern.search(capture.kernel_name):
            chosen.append(location)
            captures.append(capture)
    if chosen:
        return chosen, capture_overview(captures, unreadable)
    place = paths[0]
    if not kernel:
        raise UnreadableInputError(place, f"none of its captures can be read: {unreadable[0]}")
    raise UnreadableInputError(
        place,
        "no kernel in it matches --kernel",
        hint="without --kernel the captures are listed with their kernels",
    )
