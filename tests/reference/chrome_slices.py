"""Slices as Chrome trace events, row by row; see native/trace_encoder/chrome_slices.cpp."""

from __future__ import annotations

from tests.reference.slices import is_instant, size_texts
from wavescope.formats.chrome.writer import json_text
from wavescope.formats.timeline.slices import SliceColumns


def row_events(columns: SliceColumns, row: int) -> bytes:
    """The event of one row and its flows."""
    assert columns.process is not None
    start_ns, end_ns = int(columns.start_ns[row]), int(columns.end_ns[row])
    place = b'"pid":%d,"tid":%d,"ts":%s' % (
        columns.process[row],
        columns.track[row],
        _microseconds(start_ns - columns.base_ns),
    )
    duration = b"" if is_instant(columns, row) else b',"dur":%s' % _microseconds(end_ns - start_ns)
    body = columns.bodies[int(columns.body[row])]
    arguments = [
        label + b"%d" % values[row] for label, values in columns.integers if values[row] != -1
    ]
    arguments += [label + b'"%s"' % size for label, size in size_texts(columns, row)]
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
