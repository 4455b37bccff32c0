"""Which runtime a name means on this machine: its own, one of the cache, or one to be fetched."""

from __future__ import annotations

from collections.abc import Mapping

from wavescope.collect.machine import Machine
from wavescope.collect.runtimes.archive import archive_of
from wavescope.collect.runtimes.cache import VARIABLE, cache_folder, cached_runtime
from wavescope.collect.runtimes.catalogue import catalogue
from wavescope.collect.runtimes.fetch import Told, fetch, fetching_alone, writable_cache
from wavescope.collect.runtimes.machine_runtime import machine_version
from wavescope.collect.runtimes.runtime import Runtime
from wavescope.collect.runtimes.unpack import link_libraries
from wavescope.errors import MachineError

MACHINE = "machine"


def chosen_runtime(
    name: str | None,
    environment: Mapping[str, str],
    *,
    told: Told | None = None,
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
    return fetched_runtime(name, environment, told=told, machine=here)


def fetched_runtime(
    name: str,
    environment: Mapping[str, str],
    *,
    mirror: str | None = None,
    again: bool = False,
    told: Told | None = None,
    machine: Machine | None = None,
) -> Runtime:
    """The runtime of that name in the cache; fetched when it is not there, damaged or `again`."""
    wanted = catalogue().wanted(name)
    tell = told or _nobody
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
            hint=f"set {VARIABLE} to a folder of yours",
        ) from error
    return runtime


def _nobody(_: str) -> None:
    """Hears nothing."""
