"""The runtimes that programs can run on here, and which of them a name means.

There are the machine's own, those in the cache, and those that can be fetched.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.machine import Machine
from wavescope.collect.runtimes.archive import archive_of
from wavescope.collect.runtimes.cache import (
    VARIABLE,
    CachedRuntime,
    cache_folder,
    cached_runtime,
    cached_runtimes,
)
from wavescope.collect.runtimes.catalogue import catalogue
from wavescope.collect.runtimes.fetch import fetch, fetching_alone, writable_cache
from wavescope.collect.runtimes.packages import link_libraries
from wavescope.collect.runtimes.runtime import Runtime
from wavescope.errors import MachineError
from wavescope.model.progress import Tell, tell_nobody

MACHINE = "machine"
"""The name of the runtime that the machine itself has."""
_PACKAGE = "libhsa-runtime64-1"
_LIBRARIES = ("libhsa-runtime64.so.1", "libhsa-runtime64.so")


def chosen_runtime(
    name: str | None,
    environment: Mapping[str, str],
    *,
    tell: Tell = tell_nobody,
    machine: Machine | None = None,
) -> Runtime | None:
    """The runtime of that name, fetched when it is not there; None is the machine's own."""
    if name is None or name == MACHINE:
        return None
    wanted = catalogue().wanted(name)
    here = machine or Machine(environment=environment)
    if not wanted.parts and f"{machine_version(here)}.".startswith(f"{wanted.known.name}."):
        return None
    found = cached_runtime(cache_folder(environment), wanted.name)
    if found.runtime is not None:
        return found.runtime
    return fetched_runtime(name, environment, tell=tell, machine=here)


def fetched_runtime(
    name: str,
    environment: Mapping[str, str],
    *,
    mirror: str | None = None,
    again: bool = False,
    tell: Tell = tell_nobody,
    machine: Machine | None = None,
) -> Runtime:
    """The runtime of that name in the cache; fetched when it is not there, damaged or `again`."""
    wanted = catalogue().wanted(name)
    cache = writable_cache(cache_folder(environment))
    with fetching_alone(cache, wanted.name, tell):
        found = cached_runtime(cache, wanted.name)
        if found.runtime is not None and not again:
            return _linked(found.runtime)
        if found.runtime is None and found.folder.exists():
            tell(f"runtime {wanted.name}: {found.trouble}; it is fetched again")
        here = machine or Machine(environment=environment)
        return _linked(fetch(wanted, archive_of(here, catalogue(), mirror), cache, tell))


def _linked(runtime: Runtime) -> Runtime:
    """The runtime, with the names that its libraries are opened by."""
    try:
        link_libraries(runtime.loader.parent, catalogue().links)
    except OSError as error:
        raise MachineError(
            f"cannot write to {runtime.folder}: {error.strerror}",
            hint=f"set {VARIABLE} to a folder you own",
        ) from error
    return runtime


class RuntimeState(str, enum.Enum):
    """Whether a runtime can be used now."""

    READY = "ready"
    DAMAGED = "damaged"
    CAN_BE_FETCHED = "can be fetched"
    MISSING = "missing"


@dataclass(frozen=True)
class ListedRuntime:
    """A runtime as it is shown to people."""

    name: str
    state: RuntimeState
    versions: str
    """Versions of what is there, what could be fetched, or what is wrong."""
    folder: Path | None = None

    @property
    def is_ready(self) -> bool:
        """Whether programs can run on it now."""
        return self.state is RuntimeState.READY

    @property
    def is_damaged(self) -> bool:
        """Whether it is there, and of no use."""
        return self.state is RuntimeState.DAMAGED


def listed_runtimes(
    environment: Mapping[str, str], machine: Machine | None = None
) -> list[ListedRuntime]:
    """The machine's own runtime first, then those of the cache, then those to be fetched."""
    own = _own(machine or Machine(environment=environment))
    cached = cached_runtimes(environment)
    here = {runtime.name for runtime in cached}
    return [own, *map(_cached, cached), *(r for r in _known() if r.name not in here)]


def _own(machine: Machine) -> ListedRuntime:
    library = machine_library(machine)
    if not library:
        return ListedRuntime(MACHINE, RuntimeState.MISSING, "there is no HSA runtime")
    version = machine_version(machine)
    words = f"ROCr {version}" if version else "version not known"
    return ListedRuntime(MACHINE, RuntimeState.READY, words, Path(library).parent)


def _cached(cached: CachedRuntime) -> ListedRuntime:
    if cached.runtime is None:
        return ListedRuntime(cached.name, RuntimeState.DAMAGED, cached.trouble, cached.folder)
    return ListedRuntime(cached.name, RuntimeState.READY, cached.runtime.versions, cached.folder)


def _known() -> list[ListedRuntime]:
    found = []
    for known in catalogue().runtimes.values():
        found.append(ListedRuntime(known.name, RuntimeState.CAN_BE_FETCHED, known.holds))
        for name, part in known.parts.items():
            whole = f"{known.name}+{name}"
            found.append(ListedRuntime(whole, RuntimeState.CAN_BE_FETCHED, f"and {part.holds}"))
    return found


def machine_library(machine: Machine) -> str:
    """Path of the HSA runtime of the machine, or nothing."""
    return machine.library(*_LIBRARIES)


def machine_version(machine: Machine) -> str:
    """The version of the machine's own ROCm, or nothing where that cannot be told."""
    library = machine_library(machine)
    if not library:
        return ""
    if installed := machine.text("opt/rocm/.info/version"):
        return installed.partition("-")[0]
    stanza = re.search(
        rf"^Package: {_PACKAGE}\n(?:.+\n)*", machine.text("var/lib/dpkg/status"), re.MULTILINE
    )
    found = stanza and re.search(r"^Version: (?:\d+:)?([\d.]+)", stanza[0], re.MULTILINE)
    return found[1].rstrip(".") if found else ""
