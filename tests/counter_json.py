"""rocprofv3 JSON with hardware counters."""

from __future__ import annotations

import json
from pathlib import Path


def write_counter_json(path: Path) -> Path:
    """A kernel of 5 ns that two shader engines counted the waves of."""
    handle = {"counter_id": {"handle": 4}}
    info = {"kernel_id": 1, "dispatch_id": 1, "agent_id": {"handle": 12}}
    data = {"dispatch_info": info, "start_timestamp": 10, "end_timestamp": 15}
    records = [{**handle, "value": 64}, {**handle, "value": 32}]
    entry = {
        "agents": [{"id": {"handle": 12}, "type": 2, "node_id": 1, "name": "gfx942"}],
        "counters": [{"id": {"handle": 4}, "name": "SQ_WAVES"}],
        "strings": {"buffer_records": []},
        "kernel_symbols": [{"kernel_id": 1, "formatted_kernel_name": "gemm"}],
        "callback_records": {
            "counter_collection": [{"dispatch_data": data, "records": records}],
        },
        "buffer_records": {},
    }
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [entry]}))
    return path
