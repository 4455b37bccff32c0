"""What works on this machine, programs on software GPUs and other runtimes, and a demo of them.

Nothing here needs NumPy at import: `wavescope doctor` has to say when it is missing, and the help
of commands need not wait for it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from wavescope.collect.runtimes import (
    ListedRuntime,
    Runtime,
    chosen_runtime,
    command_on,
    fetched_runtime,
    listed_runtimes,
)
from wavescope.collect.runtimes import remove_runtime as removed_runtime
from wavescope.collect.softgpu import SoftGpuOptions
from wavescope.collect.softgpu import softgpu_environment as variables_of
from wavescope.errors import MachineError, WavescopeError
from wavescope.model.progress import Progress, Tell, no_progress, tell_nobody
from wavescope.model.result import ColumnOf, Finding, Result, ResultColumn, Severity, Unit, table_of
from wavescope.version import __version__

if TYPE_CHECKING:
    from wavescope.collect.doctor import Check, KeptFolder

READY = "ready"


def doctor() -> Result:
    """What this machine can analyse and record, and a finding for each thing that is missing."""
    from wavescope.collect.doctor import checked_machine  # noqa: PLC0415

    return checks_result(checked_machine())


def checks_result(checks: Sequence[Check]) -> Result:
    """The checks as a table, and a finding for each that names a fix."""
    from wavescope.collect.doctor import (  # noqa: PLC0415
        analysis_works,
        profiling_states,
        recording_state,
    )

    table = table_of(
        "checks",
        "Checks",
        [
            ResultColumn("check", "Check", Unit.NAME, "what was looked for").of(lambda c: c.name),
            ResultColumn("state", "State", Unit.NAME, "ok, missing, not usable").of(
                lambda c: c.state.value
            ),
            ResultColumn("enables", "Enables", Unit.NAME, "what it is for").of(lambda c: c.enables),
            ResultColumn("found", "Found", Unit.NAME, "what there is").of(lambda c: c.found),
            ResultColumn("required", "Required", meaning="analysing is impossible without it").of(
                lambda c: c.is_required
            ),
            ResultColumn("fix", "Fix", Unit.NAME, "the command or step that adds it").of(
                lambda c: c.fix
            ),
        ],
        checks,
    )
    return Result(
        "Doctor",
        [table],
        [_missing(check) for check in checks if check.fix],
        {
            "wavescope": __version__,
            "analysis": READY if analysis_works(checks) else "not usable",
            "recording": recording_state(checks),
            **profiling_states(checks),
        },
    )


def kept_folders() -> Result:
    """The folders that wavescope has made for this user, with sizes and how to remove them."""
    from wavescope.collect.doctor import kept_folders as found_folders  # noqa: PLC0415

    columns: list[ColumnOf[KeptFolder]] = [
        ResultColumn("purpose", "For", Unit.NAME, "what it is for").of(lambda k: k.purpose),
        ResultColumn("size_bytes", "Size", Unit.BYTES, "what its files hold").of(
            lambda k: k.size_bytes
        ),
        ResultColumn("folder", "Folder", Unit.NAME, "where it is").of(lambda k: str(k.folder)),
        ResultColumn("remove", "Remove", Unit.NAME, "the command that removes it").of(
            lambda k: f"rm -rf {shlex.quote(str(k.folder))}"
        ),
    ]
    found = found_folders(os.environ)
    return Result("Kept folders", [table_of("folders", "Folders", columns, found)])


def _missing(check: Check) -> Finding:
    return Finding(
        "missing-" + check.name.lower().strip("/").replace("/", "-").replace(" ", "-"),
        Severity.PROBLEM if check.is_required else Severity.INFO,
        f"{check.name}: {check.state.value}",
        f"for {check.enables}",
        check.fix,
    )


def softgpu_environment(
    options: SoftGpuOptions | str = "", environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The variables that make programs of an environment (this one) run on software GPUs.

    Options may be spelled as for `--softgpu`: `gfx90a,gpus=8`.
    """
    return variables_of(options, os.environ if environment is None else environment)


def softgpu_command(
    command: Sequence[str],
    options: SoftGpuOptions,
    *,
    mirror: str | None = None,
    tell: Tell = tell_nobody,
) -> Sequence[str]:
    """What to execute so that `command` runs on the runtime of `options`; it is fetched if needed.

    Its environment is to be that of `softgpu_environment`.
    """
    if mirror is not None and options.runtime is not None:
        runtime = fetch_runtime(options.runtime, mirror=mirror, tell=tell)
        return command_on(runtime, command, os.environ, tell)
    chosen = chosen_runtime(options.runtime, os.environ, tell=tell)
    return command_on(chosen, command, os.environ, tell)


def runtimes() -> Result:
    """The ROCm runtimes that programs can run on here: installed, fetched, and to be fetched."""
    columns: list[ColumnOf[ListedRuntime]] = [
        ResultColumn("runtime", "Runtime", Unit.NAME, "what --runtime takes").of(lambda r: r.name),
        ResultColumn("state", "State", Unit.NAME, "ready, damaged, can be fetched, missing").of(
            lambda r: r.state.value
        ),
        ResultColumn(
            "versions", "Versions", Unit.NAME, "what is in it, or what is wrong with it"
        ).of(lambda r: r.versions),
        ResultColumn("folder", "Folder", Unit.NAME, "where it is").of(
            lambda r: str(r.folder or "")
        ),
    ]
    listed = listed_runtimes(os.environ)
    return Result("ROCm runtimes", [table_of("runtimes", "Runtimes", columns, listed)])


def fetch_runtime(
    name: str,
    *,
    mirror: str | None = None,
    again: bool = False,
    tell: Tell = tell_nobody,
) -> Runtime:
    """A ROCm runtime such as 6.4 in the user's cache; fetched if it is not there, or `again`."""
    return fetched_runtime(name, os.environ, mirror=mirror, again=again, tell=tell)


def remove_runtime(name: str) -> Path:
    """Remove a fetched runtime; the folder that it was in."""
    return removed_runtime(name, os.environ)


def write_tiny_model(
    output: str | os.PathLike[str], *, weights: str = "q4_0", force: bool = False
) -> Path:
    """Write a small language model with random weights, `q4_0` or `f16`, for llama.cpp."""
    from wavescope.collect.demo import (  # noqa: PLC0415  needs NumPy
        TinyModel,
        WeightType,
        write_tiny_model,
    )
    from wavescope.outputs import replaced  # noqa: PLC0415

    path = Path(output)
    try:
        path.parent.stat()  # said here as what cannot be written
        with replaced(path, [], force=force) as temporary:
            write_tiny_model(temporary, TinyModel(weights=WeightType[weights.upper()]))
    except OSError as error:
        raise MachineError(
            f"cannot write {path}: {error.strerror}",
            hint="choose a file in a folder that exists and that you may write to",
        ) from error
    return path


def record_demo(
    output: Path,
    program: str | None = None,
    *,
    tell: Tell = tell_nobody,
    warn: Tell = tell_nobody,
    shows_output: bool = False,
) -> bool:
    """Record `llama` or `hip`, or the first of them that runs here; whether any did."""
    from wavescope.collect.demo import record_demo as recorded_demo  # noqa: PLC0415

    return recorded_demo(
        output, program, os.environ, tell=tell, warn=warn, shows_output=shows_output
    )


def generate_demo(output: Path, progress: Progress = no_progress) -> int:
    """Write a computed trace of the same shape; how many ops it has."""
    from wavescope.collect.demo import demo_trace  # noqa: PLC0415
    from wavescope.formats.wavescope.writing import write_trace  # noqa: PLC0415
    from wavescope.model.columns import OPS  # noqa: PLC0415
    from wavescope.outputs import replaced  # noqa: PLC0415

    with closing(demo_trace()) as source, replaced(output, [], force=True) as temporary:
        write_trace([source], temporary, progress)
        return source.row_count(OPS)


def is_demo_trace(path: Path) -> bool:
    """Whether the file at `path` is a trace that a demo wrote."""
    from wavescope.collect.demo import is_demo  # noqa: PLC0415
    from wavescope.formats import open_trace  # noqa: PLC0415

    try:
        with open_trace(path) as trace:
            return is_demo(trace.metadata)
    except WavescopeError:
        return False
