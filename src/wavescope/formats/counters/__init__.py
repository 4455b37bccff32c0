"""Hardware counters in files: workload folders, counter CSVs, and what rocprofv3 leaves."""

from __future__ import annotations

from wavescope.formats.counters.counter_csv_writer import write_counter_csv
from wavescope.formats.counters.counter_files import read_counter_files
from wavescope.formats.counters.pass_output import read_pass_output
from wavescope.formats.counters.workload import read_workload

__all__ = ["read_counter_files", "read_pass_output", "read_workload", "write_counter_csv"]
