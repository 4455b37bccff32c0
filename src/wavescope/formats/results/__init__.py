"""What commands kept as JSON, read back: results (--json), and measurements of overhead."""

from wavescope.formats.results.overhead_runs import RUNS_SCHEMA, load_runs, save_runs
from wavescope.formats.results.reader import json_document, load_result

__all__ = ["RUNS_SCHEMA", "json_document", "load_result", "load_runs", "save_runs"]
