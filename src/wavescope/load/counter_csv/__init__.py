"""Counter values of dispatches from CSV files: a row per counter (long) or per dispatch (wide)."""

from wavescope.load.counter_csv.counter_file import is_counter_csv, read_counter_csv

__all__ = ["is_counter_csv", "read_counter_csv"]
