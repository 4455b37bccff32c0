"""Runs one function over many items: in processes of this machine, or on Dask's workers.

An item is a string, mostly the path of a file; what comes back for it is bytes. Each item has
exactly one outcome, also where its file kills the process that reads it.
"""

from __future__ import annotations

from wavescope.workers.engine_options import EngineOptions, engine_name
from wavescope.workers.remaining_time import RunProgress
from wavescope.workers.running import run_all
from wavescope.workers.tasks import Outcome, Task

__all__ = ["EngineOptions", "Outcome", "RunProgress", "Task", "engine_name", "run_all"]
