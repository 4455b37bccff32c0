"""Looks now and then whether a cluster has workers, and whether they have this wavescope."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pkgutil import resolve_name

from wavescope.errors import MachineError
from wavescope.version import __version__
from wavescope.workers.dask_clusters import Client
from wavescope.workers.engine_options import EngineOptions, engine_name

_LOOK_S = 1.0
_VERSION = "wavescope.version:__version__"
_SHOWN_PLACES = 3


class WorkerWatch:
    """Keeps a run from waiting for workers that never come, or cannot do the work."""

    def __init__(self, client: Client, options: EngineOptions) -> None:
        self._client = client
        self._options = options
        self._checked: set[str] = set()
        self._seen_at = time.monotonic()
        self._looked_at = 0.0
        self._check_scheduler()
        self.look()

    def look(self) -> None:
        """An error if no worker came or is left for long, or if one cannot do the work."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_S:
            return
        self._looked_at = now
        try:
            workers = set(self._client.nthreads())
            if new := workers - self._checked:
                self._check_workers(new)
        except OSError as error:
            raise connection_lost(self._options) from error
        if workers:
            self._seen_at = now
        elif now - self._seen_at > self._options.workers_come_s:
            raise MachineError(
                f"{engine_name(self._options)} had no worker for "
                f"{self._options.workers_come_s:g} s",
                hint="`dask worker ADDRESS` starts one; `squeue` shows what jobs of Slurm wait for",
            )

    def _check_scheduler(self) -> None:
        # A scheduler unpacks what is sent to the workers, so that it needs the same modules.
        try:
            version = self._client.run_on_scheduler(resolve_name, _VERSION)
        except ImportError as error:
            version = error
        except OSError as error:
            raise connection_lost(self._options) from error
        require_this_version({"the scheduler": version})

    def _check_workers(self, workers: set[str]) -> None:
        versions = self._client.run(
            resolve_name, _VERSION, workers=sorted(workers), on_error="return"
        )
        # One that has gone away meanwhile is no matter of versions.
        told = {
            f"the worker {address}": version
            for address, version in versions.items()
            if isinstance(version, (str, ImportError))
        }
        require_this_version(told)
        self._checked |= workers


def require_this_version(versions: Mapping[str, object]) -> None:
    """An error where one of the places has another wavescope, or none."""
    absent = [place for place, version in versions.items() if isinstance(version, ImportError)]
    if absent:
        raise MachineError(
            f"wavescope is not installed for {_places(absent)}",
            hint=f"install wavescope {__version__} into the Python that Dask runs in there",
        )
    others = [
        f"{place} ({version})" for place, version in versions.items() if version != __version__
    ]
    if others:
        raise MachineError(
            f"this is wavescope {__version__}, and another one has {_places(others)}",
            hint="digests of different versions cannot be put together: install the same",
        )


def _places(places: list[str]) -> str:
    more = len(places) - _SHOWN_PLACES
    shown = ", ".join(places[:_SHOWN_PLACES])
    return f"{shown} and {more} more" if more > 0 else shown


def connection_lost(options: EngineOptions) -> MachineError:
    """The scheduler has gone away, or somebody cancelled the work."""
    return MachineError(
        f"the connection to {engine_name(options)} was lost",
        hint="does the scheduler still run, and was it not restarted? its log says more",
    )
