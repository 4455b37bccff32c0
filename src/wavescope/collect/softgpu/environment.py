"""The variables that run a program on the software GPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wavescope.collect.machine import Machine
from wavescope.collect.recording.libraries import is_loadable, with_word
from wavescope.collect.softgpu.machine_settings import HostFacts, machine_settings
from wavescope.collect.softgpu.machine_tree import written_tree
from wavescope.collect.softgpu.options import PREFIX, SoftGpuOptions
from wavescope.collect.softgpu.topology import machine_files
from wavescope.errors import MachineError
from wavescope.package_files import package_file

LIBRARY = "libwavescope_softgpu.so"
TREE_VARIABLE = PREFIX + "TREE"
_RUNTIME = "libhsa-runtime64.so.1"
_GET_RUNTIME = (
    "on Debian 12: apt-get install --no-install-recommends libhsa-runtime64-1 libamdhip64-5"
)
_GET_LIBRARY = "apt-get install g++ cmake, then: pip install --force-reinstall wavescope"
# 0: memory is passed to other processes by descriptors; the other way is the vendor's kernels' own.
_IPC_VARIABLE = "HSA_ENABLE_IPC_MODE_LEGACY"


def softgpu_environment(
    specification: str, environment: Mapping[str, str], machine: Machine | None = None
) -> dict[str, str]:
    """The variables that run a program of `environment` on the GPUs of `specification`."""
    options = SoftGpuOptions.parse(specification)
    return child_variables(options, environment, machine or Machine(environment=environment))


def child_variables(
    options: SoftGpuOptions, environment: Mapping[str, str], machine: Machine
) -> dict[str, str]:
    """The variables that run a program of `environment` on such GPUs; an error when it cannot."""
    if trouble := softgpu_trouble(machine, has_runtime=options.other_runtime is not None):
        raise trouble
    library = softgpu_library()
    assert library is not None
    if not is_loadable(library):
        raise MachineError(
            f"{library} cannot be preloaded: its path has a space or a colon",
            hint="install wavescope in another folder",
        )
    settings = machine_settings(options.of_machine(environment), HostFacts.of_this_machine())
    tree = written_tree(machine_files(settings), environment)
    return {
        **options.variables(),
        TREE_VARIABLE: str(tree),
        "LD_PRELOAD": with_word(environment.get("LD_PRELOAD", ""), str(library), ":"),
        _IPC_VARIABLE: environment.get(_IPC_VARIABLE, "0"),
    }


def softgpu_library() -> Path | None:
    """The installed library, or None when this build has none."""
    return package_file("lib", "softgpu", LIBRARY)


def softgpu_trouble(machine: Machine, *, has_runtime: bool = False) -> MachineError | None:
    """Why programs cannot run on the software GPU here, or None when they can.

    `has_runtime`: they run on another runtime than the machine's own.
    """
    if softgpu_library() is None:
        return MachineError("this installation has no software GPU", hint=_GET_LIBRARY)
    if not has_runtime and not machine.library(_RUNTIME):
        return MachineError("the software GPU needs an HSA runtime", hint=_GET_RUNTIME)
    return None
