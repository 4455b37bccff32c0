"""Thread traces (ATT) of kernels, captured with rocprofv3 and its trace decoder.

More than six names go out: `doctor` says by what names to find rocprofv3 and its decoder.
"""

from wavescope.collect.capture.options import INPUT_NAME, CaptureOptions, command_line, input_text
from wavescope.collect.capture.rocprofv3 import (
    DECODER,
    GET_DECODER,
    GET_ROCPROFV3,
    capture,
    find_rocprofv3,
)

__all__ = [
    "DECODER",
    "GET_DECODER",
    "GET_ROCPROFV3",
    "INPUT_NAME",
    "CaptureOptions",
    "capture",
    "command_line",
    "find_rocprofv3",
    "input_text",
]
