"""Chrome trace events as JSON text: bodies, labels, and one line per slice or flow.

Times are microseconds with exactly three decimals, made from integer nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from wavescope.formats.timeline.bodies import EventBody
from wavescope.formats.timeline.slice_columns import SliceColumns, encoded
from wavescope.model.op_kinds import OpKind, kind_of_type
from wavescope.native import columns_library

_OP_CATEGORIES = {OpKind.KERNEL: "kernel", OpKind.COPY: "gpu_memcpy", OpKind.FILL: "gpu_memset"}
"""As PyTorch's profiler calls them, so that its readers know kernels and copies."""
_ARGUMENT_NAMES = {"gpu": "device", "size_bytes": "bytes"}
_DEFAULT_CATEGORIES = {"op": "op", "call": "call", "marker": "user_annotation"}


def json_text(value: str) -> bytes:
    """A JSON string that is also safe inside an HTML script; unpaired surrogates become '?'."""
    valid = value.encode("utf-8", "replace").decode()
    return orjson.dumps(valid).replace(b"<", b"\\u003c")


def event_body(event: EventBody) -> bytes:
    """The repeating part of an event, with its arguments object left open."""
    category = event.category
    if event.group == "op":
        category = _OP_CATEGORIES.get(kind_of_type(event.category), event.category)
    category = category or _DEFAULT_CATEGORIES[event.group]
    phase = b'"ph":"i","s":"t"' if event.instant else b'"ph":"X"'
    arguments = b",".join(
        argument_label(name) + (b"%d" % value if isinstance(value, int) else json_text(value))
        for name, value in event.arguments
    )
    return b'%s,"name":%s,"cat":%s,"args":{%s' % (
        phase,
        json_text(event.name),
        json_text(category),
        arguments,
    )


def counter_body(name: str, unit: str, value: int | float) -> bytes:
    """A sample of the counter `name`, with its arguments object left open."""
    number = b"%d" % value if isinstance(value, int) else orjson.dumps(value)
    return b'"ph":"C","name":%s,"args":{"%s":%s' % (json_text(name), unit.encode(), number)


def argument_label(name: str) -> bytes:
    """The key of an argument."""
    return json_text(_ARGUMENT_NAMES.get(name, name)) + b":"


def metadata_event(name: str, pid: int, tid: int, key: str, value: int | str) -> bytes:
    """A metadata event, such as the name of a thread."""
    shown = b"%d" % value if isinstance(value, int) else json_text(value)
    return b'{"ph":"M","pid":%d,"tid":%d,"name":"%s","args":{"%s":%s}}' % (
        pid,
        tid,
        name.encode(),
        key.encode(),
        shown,
    )


def encoded_slices(columns: SliceColumns) -> Iterator[memoryview]:
    """The events of a batch, each after a comma; tracks are tids, processes pids."""
    return encoded(columns, columns_library().wavescope_chrome_slices)
