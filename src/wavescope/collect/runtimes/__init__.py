"""ROCm runtimes beside the machine's own, for programs on the software GPU.

A runtime is a folder of unpacked packages of the distribution, in a cache of the user's. A program
is run on it by the dynamic linker in that folder; nothing of the machine is changed.
"""

from wavescope.collect.runtimes.cache import CachedRuntime, cached_runtimes, remove_runtime
from wavescope.collect.runtimes.catalogue import catalogue
from wavescope.collect.runtimes.chosen import chosen_runtime, fetched_runtime, machine_version
from wavescope.collect.runtimes.runtime import Runtime

__all__ = [
    "CachedRuntime",
    "Runtime",
    "cached_runtimes",
    "catalogue",
    "chosen_runtime",
    "fetched_runtime",
    "machine_version",
    "remove_runtime",
]
