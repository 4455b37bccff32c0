"""ROCm runtimes beside the machine's own, for programs on the software GPU.

A runtime is a folder of unpacked packages of the distribution, in a cache of the user's. A program
is run on it by the dynamic linker in that folder; nothing of the machine is changed.

More than six names go out: runtimes are listed, fetched, chosen and removed, and a command is run
on one.
"""

from wavescope.collect.runtimes.cache import cache_folder, remove_runtime
from wavescope.collect.runtimes.chosen import (
    MACHINE,
    ListedRuntime,
    chosen_runtime,
    fetched_runtime,
    listed_runtimes,
)
from wavescope.collect.runtimes.runtime import Runtime, command_on

__all__ = [
    "MACHINE",
    "ListedRuntime",
    "Runtime",
    "cache_folder",
    "chosen_runtime",
    "command_on",
    "fetched_runtime",
    "listed_runtimes",
    "remove_runtime",
]
