"""Output of rocprofv3: CSV files and JSON, read; JSON, written. Readers and writer are registered.

What is exported here are the words that files of rocprofiler-sdk share.
"""

from wavescope.formats.rocprofv3.kinds import (
    MARKER_CATEGORY,
    api_of_kind,
    copy_type,
    plain_kernel_name,
    shown_kernel_name,
)

__all__ = [
    "MARKER_CATEGORY",
    "api_of_kind",
    "copy_type",
    "plain_kernel_name",
    "shown_kernel_name",
]
