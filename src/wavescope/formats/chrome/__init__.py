"""Chrome trace event JSON, as PyTorch's profiler and many tools write it: `reader` and `writer`."""
