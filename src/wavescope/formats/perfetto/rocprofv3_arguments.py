"""What rocprofv3 says of a slice in its Perfetto files: its arguments, and our columns for them.

Every slice of rocprofv3 has a correlation id, which slices of other producers have not.
"""

from __future__ import annotations

from typing import Final

CORRELATION: Final = "correlation_id"

NUMBERS: Final = {
    "begin_ns": "recorded_start_ns",
    "end_ns": "recorded_end_ns",
    "tid": "recorded_thread",
    "corr_id": CORRELATION,
    "kind": "kind",
    "operation": "operation",
    "stream_ID": "stream_id",
    "queue": "queue_index",
    "kernel_id": "kernel_id",
    "copy_bytes": "copy_bytes",
    "LDS_Block_Size": "lds_block_size",
    "Scratch_Size": "scratch_size",
    "VGPR_Count": "vgpr_count",
    "Accum_VGPR_Count": "accum_vgpr_count",
    "SGPR_Count": "sgpr_count",
    "workgroup_size": "workgroup_size",
    "grid_size": "grid_size",
}
TEXTS: Final = {"agent": "agent", "src_agent": "source_agent", "dst_agent": "target_agent"}
