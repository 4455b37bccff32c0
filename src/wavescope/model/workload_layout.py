"""What a workload folder holds: file names and columns, in one place for readers and writers.

- `sysinfo.csv`: one row on the machine, the chip (`gpu_arch`) and its numbers (`cu_per_gpu`, ...)
- `pmc_perf.csv`: counters of all passes joined, one row for each dispatch and one column for each
  counter; or long, one row for each dispatch and counter (`Counter_Name`, `Counter_Value`)
- `pmc_perf_N.csv`, `results_*.csv`: the same of single passes
- `SQ_LEVEL_WAVES.csv` and the like: the pass of a level counter; `SQ_ACCUM_PREV_HIRES` is the level
  summed up over all cycles
- `timestamps.csv`: start and end of each dispatch, where `pmc_perf.csv` has none
- `roofline.csv`: measured peaks, one row for each GPU
- `ps_file_results.json`, `PID_ps_file_results.json`, `ps_file_*pc_sampling*.csv`: PC samples;
  `ps_file_kernel_trace.csv` names the kernels of the latter
- `wavescope_profile.json`: what `counters collect` has collected so far, and what went wrong
- `profiling_config.yaml`, `log.txt`, `perfmon/`: how it was collected; the analysis needs none
"""

from __future__ import annotations

import re

COUNTED_CHIPS = ("gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950")
"""Chips whose counters have metrics."""

SYSTEM_FILE = "sysinfo.csv"
JOINED_FILE = "pmc_perf.csv"
PASS_FILES = re.compile(r"(pmc_perf_|results_)\w[\w.-]*\.csv", re.ASCII)
LEVEL_FILES = re.compile(r"(SQC?_\w*LEVEL\w*)\.csv", re.ASCII)
TIMES_FILE = "timestamps.csv"
CEILINGS_FILE = "roofline.csv"
MULTIPLEXING_FILE = "multiplexing.json"
RECORD_FILE = "wavescope_profile.json"
PC_SAMPLE_FILES = re.compile(r"ps_file_(\w*pc_sampling\w*)\.csv", re.ASCII)
PC_SAMPLE_JSON = re.compile(r"(\d+_)?ps_file_results\.json", re.ASCII)
"""From 3.8 on ROCm Compute Profiler writes one for each process, with its id in front."""
PC_SAMPLE_KERNELS = "ps_file_kernel_trace.csv"

KERNEL_NAME = "Kernel_Name"
DISPATCH_ID = "Dispatch_ID"
GPU_ID = "GPU_ID"
PROCESS_ID = "Process_ID"
START = "Start_Timestamp"
END = "End_Timestamp"
COUNTER_NAME = "Counter_Name"
COUNTER_VALUE = "Counter_Value"

ACCUMULATOR = "SQ_ACCUM_PREV_HIRES"
"""In a level pass: the level counter summed up over all cycles."""
CHANNELS_SUFFIX = "[]"
"""In requests: `NAME[]` is the counter NAME of every L2 channel."""
ACCUMULATOR_SUFFIX = "_ACCUM"
"""In a long form: the accumulator of the level counter that stands before it."""

COUNTER = re.compile(
    r"(?:SQ|SQC|TA|TD|TCP|TCC|CPC|CPF|SPI|GRBM|GDS)_[A-Z0-9_]+?(?:_sum)?(?:\[(\d{1,4})\])?",
    re.ASCII,
)
"""A counter's column; a number in brackets is a channel."""

_RENAMED = (("TCC_EA_", "TCC_EA0_"),)
"""Spellings of older collectors and the present one."""
_OLDER_CHIPS = ("gfx906", "gfx908", "gfx90a")
"""Their hardware still has the older spelling."""
_RENAMED_FACTS = {"num_memory_channels": "num_hbm_channels"}


def present_name(counter: str) -> str:
    """The present spelling of a counter's name."""
    for old, new in _RENAMED:
        if counter.startswith(old):
            return new + counter[len(old) :]
    return counter


def collected_name(counter: str, chip: str) -> str:
    """The spelling that a chip's own collector knows a counter by."""
    if chip in _OLDER_CHIPS:
        for old, new in _RENAMED:
            if counter.startswith(new):
                return old + counter[len(new) :]
    return counter


def present_fact(name: str) -> str:
    """The present spelling of a fact's name."""
    return _RENAMED_FACTS.get(name, name)
