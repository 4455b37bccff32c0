"""Records a program: prepares a session folder, runs the command, merges what it left."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from wavescope.collect.found_cupti import cupti_for
from wavescope.collect.launcher import ProgramEnd, do_nothing, launch
from wavescope.collect.libraries import is_loadable, linked, required_collector
from wavescope.collect.machine import Machine
from wavescope.collect.ranks import NameValues, expanded, pattern_of_all_ranks
from wavescope.collect.recent_part import RecentPart
from wavescope.collect.record_options import RecordOptions, SlowStep, compiled_pattern
from wavescope.collect.recording.injection import Injection, injected_environment
from wavescope.collect.recording.inner_recorders import announce_inner_recorder, inner_recorders
from wavescope.collect.recording.merge_trouble import merge_error
from wavescope.collect.recording.obstacles import other_tools_sentences, why_nothing
from wavescope.collect.recording.triggers import Triggers
from wavescope.collect.running_sessions import (
    after_a_moment,
    outliving,
    registered,
    require_no_recorder,
    sessions_folder,
)
from wavescope.collect.runtimes import chosen_runtime, command_on
from wavescope.collect.session_end import end_session, remove_session
from wavescope.collect.softgpu import SoftGpuOptions, softgpu_environment
from wavescope.errors import UnreadableInputError, UsageError, WavescopeError
from wavescope.formats.session.copying import copy_session
from wavescope.formats.session.folder import (
    KEPT_NEWEST,
    KERNEL_FILTER,
    process_bases,
    read_session_facts,
    still_runs,
    write_session_facts,
)
from wavescope.formats.session.pending import move_into_session, remove_forgotten
from wavescope.formats.session.plain_file import DamagedStreamError
from wavescope.formats.session.reading import open_session, open_steady_session
from wavescope.formats.wavescope.writing import write_trace
from wavescope.model.progress import Progress, Tell, no_progress, tell_nobody
from wavescope.outputs import replaced, require_free
from wavescope.units import bytes_text
from wavescope.version import __version__

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Recording:
    """What came of a recording."""

    end: ProgramEnd
    output: Path | None
    """The trace; None when no process left any record."""
    kept_session: Path | None = None
    """The session folder, where it was asked for or is still written to."""
    running: tuple[int, ...] = ()
    """Processes that outlive the program and go on recording into the kept session."""
    notes: tuple[tuple[str, int], ...] = field(default=())
    """What the reader of the records skipped or repaired."""
    empty_because: tuple[str, ...] = ()
    """Why there is no trace, as far as that can be told."""
    left_session: Path | None = None
    """The session folder, where a `wavescope attach` that has not ended needs it: it removes it."""


@dataclass(frozen=True)
class RecordedRun:
    """A program that ran and left its records in a session folder."""

    options: RecordOptions
    """Those asked for, with the placeholders of names filled in."""
    environment: Mapping[str, str]
    session: Path
    end: ProgramEnd
    other_tools: str = ""
    """What there is to know of other tools."""
    all_ranks: str = ""
    """How a shell spells the traces of all ranks, for the first of several; else nothing."""


def record(
    options: RecordOptions, environment: Mapping[str, str], progress: Progress = no_progress
) -> Recording:
    """Run the command of `options` and write its trace, to exactly the path that they name."""
    return merged(_run(options, environment, tell_nobody, tell_nobody), progress)


def run_recorded(
    options: RecordOptions,
    environment: Mapping[str, str],
    *,
    tell: Tell = tell_nobody,
    warn: Tell = tell_nobody,
) -> RecordedRun:
    """Run the command of `options`; refused when its trace could not be written.

    `tell` hears of the runtime that the program is to run on: that it is fetched, and what it
    is not for; `warn` of other tools that may keep the GPU's work from the recording.
    """
    values = NameValues.of_this_process(environment)
    run = _run(_named(options, values), environment, tell, warn)
    return replace(run, all_ranks=_all_ranks(options.output, values))


def _run(
    options: RecordOptions, environment: Mapping[str, str], tell: Tell, warn: Tell
) -> RecordedRun:
    _require_outputs(options, environment)
    sentences = other_tools_sentences(options.other_tools, environment)
    for sentence in sentences:
        warn(sentence)
    other_tools = "; ".join(sentences)
    prepared = prepare(options, environment, tell)
    session = _make_session(options, other_tools)
    announce_inner_recorder(options, environment)
    try:
        end = _run_watched(session, prepared)
    except WavescopeError:
        remove_session(session)
        raise
    return RecordedRun(options, environment, session, end, other_tools)


def _named(options: RecordOptions, values: NameValues) -> RecordOptions:
    """The options with the placeholders of names filled in."""
    timeline = options.timeline and expanded(str(options.timeline), values)
    return replace(options, output=expanded(str(options.output), values), timeline=timeline)


def _all_ranks(output: Path, values: NameValues) -> str:
    is_first_of_many = values.rank.world_size > 1 and values.rank.rank <= 0
    return pattern_of_all_ranks(str(output), values) if is_first_of_many else ""


def _require_outputs(options: RecordOptions, environment: Mapping[str, str]) -> None:
    """Refuse what could not be written before the program runs, not after."""
    require_free(options.output, [], force=options.force)
    if not options.force:
        require_no_recorder(options.output, environment)
    if options.timeline is not None:
        require_free(options.timeline, [options.output], force=options.force)


def _run_watched(session: Path, program: PreparedProgram) -> ProgramEnd:
    """Run the program; what is to be done about its records meanwhile is done."""
    options = program.options
    if options.last_ms is None and not options.until_marker and not options.when:
        return run_into(session, program)
    last_ns = None if options.last_ms is None else options.last_ms * 1_000_000
    recent = RecentPart(session, last_ns)
    slow_step = SlowStep.parse(options.when) if options.when else None
    until_marker = (
        compiled_pattern(options.until_marker, "--until-marker") if options.until_marker else None
    )
    triggers = Triggers(recent, until_marker, slow_step, options.output)

    def meanwhile() -> None:
        triggers.look()
        recent.keep()

    end = run_into(session, program, meanwhile)
    with suppress(OSError, DamagedStreamError):  # the program's exit code counts more
        triggers.look()
        triggers.finish()
        recent.finish()
    return end


@dataclass(frozen=True)
class PreparedProgram:
    """A program that can be run with the collector in it."""

    options: RecordOptions
    environment: Mapping[str, str]
    collector: Path
    command: tuple[str, ...]
    """As it is started on its runtime."""


def prepare(
    options: RecordOptions, environment: Mapping[str, str], tell: Tell = tell_nobody
) -> PreparedProgram:
    """Find everything that the program of `options` needs; refused when something is missing."""
    collector = required_collector(options.mode)
    name = None if options.softgpu is None else SoftGpuOptions.parse(options.softgpu).runtime
    runtime = chosen_runtime(name, environment, tell=tell)
    if runtime is None:
        _require_program(options.command[0], environment)
    command = command_on(runtime, options.command, environment, tell)
    remove_forgotten()
    return PreparedProgram(options, environment, collector, tuple(command))


def recovered(
    session: Path, output: Path, *, force: bool = False, progress: Progress = no_progress
) -> tuple[tuple[str, int], ...]:
    """Write the trace of a session whose recorder is gone; what its reader skipped or repaired.

    It is made of copies that lie beside the output: nothing in the session changes, and nothing
    that somebody changes in it meanwhile makes a difference.
    """
    with replaced(output, [session], force=force) as temporary:
        copies = Path(tempfile.mkdtemp(prefix="records-", dir=temporary.parent))
        left_out = copy_session(session, copies)
        told = {} if "output" in read_session_facts(copies) else {"output": str(session)}
        try:
            with open_session(copies, facts=told) as source:
                write_trace([source], temporary, progress)
                notes = (*left_out, *source.notes)
        except UnreadableInputError as error:  # of a copy: the session is meant
            place = str(session) + error.path.removeprefix(str(copies))
            raise UnreadableInputError(place, error.reason, hint=error.hint) from error
    return notes


def merge_session(
    session: Path, output: Path, *, force: bool, progress: Progress = no_progress
) -> tuple[tuple[str, int], ...]:
    """Write the records in `session` as one trace file; what the reader skipped or repaired.

    What needs to be copied first lies beside the output, where there is to be room for it.
    """
    with (
        replaced(output, [session], force=force) as temporary,
        open_steady_session(session, temporary.parent) as source,
    ):
        write_trace([source], temporary, progress)
        return tuple(source.notes)


def _require_program(program: str, environment: Mapping[str, str]) -> None:
    if Path(program).is_file() and "/" in program and not os.access(program, os.X_OK):
        raise UsageError(
            f"'{program}' cannot be executed", hint="chmod +x, or name its interpreter"
        )
    if shutil.which(program, path=environment.get("PATH")) is None:
        raise UsageError(
            f"there is no program '{program}'",
            hint="check the spelling and PATH; a program here needs ./ before its name",
        )


def _make_session(options: RecordOptions, other_tools: str) -> Path:
    """A private folder beside the output; programs may change their folder, so it is absolute."""
    parent = options.output.absolute().parent
    name = f"{options.output.name[:80]}.session-"
    try:
        session = Path(tempfile.mkdtemp(prefix=name, dir=parent))
    except OSError as error:
        # What was asked for is the output: the folder beside it is ours.
        raise OSError(error.errno, error.strerror, str(options.output)) from error
    describe_session(session, options, other_tools=other_tools)
    return session


def describe_session(session: Path, options: RecordOptions, **more: str) -> None:
    """Leave what is known of a recording in its session."""
    facts = {
        "recorded_by": f"wavescope {__version__}",
        "recorded_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "recorded_command": shlex.join(options.command),
        "output": str(options.output.absolute()),
        "mode": options.mode.value,
        "boot_id": _boot_id(),
        KERNEL_FILTER: options.kernel,
        KEPT_NEWEST: f"{bytes_text(options.max_bytes)} of each process"
        if options.max_bytes is not None and options.keeps_newest
        else "",
        "softgpu": "" if options.softgpu is None else options.softgpu or "default",
    }
    write_session_facts(session, {tag: value for tag, value in {**facts, **more}.items() if value})


def _boot_id() -> str:
    """What names this start of the machine: recordings of one start share their clock."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def run_into(
    session: Path, program: PreparedProgram, meanwhile: Callable[[], None] = do_nothing
) -> ProgramEnd:
    """Run the program; its processes record into `session`."""
    options, environment, collector = program.options, program.environment, program.collector
    with ExitStack() as stack:
        if not is_loadable(collector):
            links = tempfile.TemporaryDirectory(dir=sessions_folder(environment))
            collector = linked(collector, Path(stack.enter_context(links)))
        softgpu = _softgpu_environment(options, environment)
        cupti = _cupti(options, environment)
        injection = Injection(collector, session, softgpu, cupti)
        child_environment = injected_environment(options, environment, injection)
        stack.enter_context(registered(session, environment))
        return launch(program.command, child_environment, meanwhile)


def _softgpu_environment(
    options: RecordOptions, environment: Mapping[str, str]
) -> Mapping[str, str]:
    if options.softgpu is None:
        return {}
    return softgpu_environment(options.softgpu, environment)


def _cupti(options: RecordOptions, environment: Mapping[str, str]) -> Path | None:
    """The library by which NVIDIA GPUs are recorded; None where there is none, or none is used."""
    if options.softgpu is not None:
        return None
    return cupti_for(options.command, Machine(environment=environment))


def merged(run: RecordedRun, progress: Progress = no_progress) -> Recording:
    """Write the trace of a run; its session folder is removed unless it is still needed."""
    try:
        recording = _merged(run, progress)
    except (Exception, KeyboardInterrupt) as error:  # whatever it is: nothing is lost
        raise merge_error(run.session, error) from error
    if recording.kept_session is not None:
        return recording
    return replace(recording, left_session=end_session(run.session))


def _merged(run: RecordedRun, progress: Progress) -> Recording:
    options, session, end = run.options, run.session, run.end
    running = after_a_moment(lambda: _running(session))
    bases = process_bases(path.name for path in session.iterdir())
    kept = session if running or (options.keep_chunks and bases) else None
    output, notes = None, tuple[tuple[str, int], ...]()
    if bases:
        describe_session(session, options, program_end=end.words, other_tools=run.other_tools)
        fetch_pending(session)
        notes = merge_session(session, options.output, force=options.force, progress=progress)
        output = options.output
    if end.trouble:
        notes += ((f"records were not looked after while the program ran: {end.trouble}", 1),)
    inner = tuple(inner_recorders(session))
    notes += tuple((sentence, 1) for sentence in inner) if output or running else ()
    reasons = () if output or running else inner or tuple(why_nothing(options, run.environment))
    return Recording(end, output, kept, running, notes, reasons)


def _running(session: Path) -> tuple[int, ...]:
    """Those that record, also as another user, and those that may begin to."""
    bases = process_bases(path.name for path in session.iterdir())
    recording = {_pid_of(base) for base in bases if still_runs(base)}
    return tuple(sorted(recording | set(outliving(session))))


def fetch_pending(session: Path) -> None:
    """Move what processes that are gone had in flight into the session, where that is possible.

    What stays in memory is read from there.
    """
    with suppress(OSError):
        for base in process_bases(path.name for path in session.iterdir()):
            if not still_runs(base):
                move_into_session(session, base)


def _pid_of(base: str) -> int:
    return int(base.partition("-")[0])
