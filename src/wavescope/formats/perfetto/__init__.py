"""Perfetto protobuf traces: `reader` and `writer`, which `registry` names."""
