"""Chrome trace events as JSON text: bodies, labels, and one line per slice or flow.

Times are microseconds with exactly three decimals, made from integer nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from wavescope.formats.timeline.bodies import EventBody
from wavescope.formats.timeline.encoder_library import encoder_library
from wavescope.formats.timeline.slice_columns import (
    SliceColumns,
    encoded_in_python,
    encoded_natively,
)
from wavescope.model.op_kinds import OpKind, kind_of_type

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


def encoded_slices(columns: SliceColumns) -> Iterator[memoryview | bytes]:
    """The events of a batch, each after a comma; tracks are tids, processes pids."""
    library = encoder_library()
    if library is None:
        return encoded_in_python(columns, _row_events)
    return encoded_natively(columns, library.wavescope_chrome_slices)


def _row_events(columns: SliceColumns, row: int) -> bytes:
    """What the native encoder writes for one row, in Python."""
    assert columns.process is not None
    start_ns, end_ns = int(columns.start_ns[row]), int(columns.end_ns[row])
    place = b'"pid":%d,"tid":%d,"ts":%s' % (
        columns.process[row],
        columns.track[row],
        _microseconds(start_ns - columns.base_ns),
    )
    duration = b"" if columns.is_instant(row) else b',"dur":%s' % _microseconds(end_ns - start_ns)
    body = columns.bodies[int(columns.body[row])]
    arguments = [
        label + b"%d" % values[row] for label, values in columns.integers if values[row] != -1
    ]
    arguments += [label + b'"%s"' % size for label, size in columns.size_texts(row)]
    if columns.text is not None and (content := columns.text[1][row]):
        arguments.append(columns.text[0] + json_text(content.decode()))
    comma = b"" if body.endswith(b"{") or not arguments else b","
    event = b",\n{%s%s,%s%s%s}}" % (place, duration, body, comma, b",".join(arguments))
    # Flow events bind to the slice around their time, which a slice without length is not.
    if columns.flows is None or start_ns == end_ns:
        return event
    phase = b'"ph":"f","bp":"e"' if columns.flows.incoming else b'"ph":"s"'
    return event + b"".join(
        b',\n{%s,%s,"name":"launch","cat":"ac2g","id":%d}' % (place, phase, flow)
        for flow in columns.flows.of_row(row)
    )


def _microseconds(time_ns: int) -> bytes:
    return b"%d.%03d" % divmod(time_ns, 1000)
