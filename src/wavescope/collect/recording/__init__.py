"""Records a program: runs it with the collector inside, and makes a trace of what it left.

More than six names go out: to record, to wait dormant, to recover and to merge are four entries
with results of their own.
"""

from wavescope.collect.recording.dormant import DormantRun, run_dormant
from wavescope.collect.recording.injection import collector_self_test
from wavescope.collect.recording.recorder import (
    RecordedRun,
    Recording,
    merged,
    record,
    recovered,
    run_recorded,
)

__all__ = [
    "DormantRun",
    "RecordedRun",
    "Recording",
    "collector_self_test",
    "merged",
    "record",
    "recovered",
    "run_dormant",
    "run_recorded",
]
