"""Hardware counters in files: workload folders, counter CSVs, and what rocprofv3 leaves.

More than six names go out: workload folders, loose counter files and passes are each read and
written.
"""

from __future__ import annotations

from wavescope.formats.counters.counter_files import read_counter_files
from wavescope.formats.counters.machine_files import MeasuredPeak, ceilings_csv
from wavescope.formats.counters.passes import read_pass_output, write_counter_csv
from wavescope.formats.counters.torch_operators import dispatch_operators, write_operators
from wavescope.formats.counters.workload import is_workload, read_workload

__all__ = [
    "MeasuredPeak",
    "ceilings_csv",
    "dispatch_operators",
    "is_workload",
    "read_counter_files",
    "read_pass_output",
    "read_workload",
    "write_counter_csv",
    "write_operators",
]
