"""Runs programs and takes their measure: recorded, counted, on software GPUs, on other runtimes.

Each room has a door of its own; the modules beside them are what the rooms stand on. Here are the
options of a recording, which all that record programs share.
"""

from wavescope.collect.record_options import OtherTools, RecordMode, RecordOptions

__all__ = ["OtherTools", "RecordMode", "RecordOptions"]
