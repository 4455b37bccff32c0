"""All runtimes that a program could run on here: the machine's own, cached and fetchable ones."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from wavescope.collect.machine import Machine
from wavescope.collect.runtimes.cache import CachedRuntime, cached_runtimes
from wavescope.collect.runtimes.catalogue import catalogue
from wavescope.collect.runtimes.chosen import MACHINE
from wavescope.collect.runtimes.machine_runtime import machine_library, machine_version


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


def listed_runtimes(environment: Mapping[str, str], machine: Machine) -> list[ListedRuntime]:
    """The machine's own runtime first, then those of the cache, then those to be fetched."""
    cached = cached_runtimes(environment)
    here = {runtime.name for runtime in cached}
    return [_own(machine), *map(_cached, cached), *(r for r in _known() if r.name not in here)]


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
