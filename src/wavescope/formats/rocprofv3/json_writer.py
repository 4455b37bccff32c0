"""Exports JSON as rocprofv3 writes it (`-f json`), one entry per process.

Kernels, copies, calls and markers are records of their own sections; a marker is never a kernel.
Correlation ids are numbered anew from the links, since readers join calls and dispatches by them.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from wavescope.formats.files import opened_output
from wavescope.formats.registry import ExportOptions
from wavescope.formats.rocprofv3.json_names import Processes, agent_texts, json_text
from wavescope.formats.rocprofv3.kinds import CALL_SECTIONS
from wavescope.formats.rocprofv3.records import RecordWriter, SectionSpool
from wavescope.model.progress import Progress
from wavescope.model.source import TraceSource

ROOT = "rocprofiler-sdk-tool"


def write_rocprofv3_json(
    source: TraceSource, path: Path, options: ExportOptions, progress: Progress
) -> None:
    """Write `source` as one `_results.json` file."""
    spool = SectionSpool(path.parent)
    try:
        processes = Processes(source)
        records = RecordWriter(source, spool, processes, progress)
        records.write()
        with opened_output(path, gzip=options.gzip) as output:
            output.write(b'{"%s":[' % ROOT.encode())
            for number in range(len(processes)):
                output.write(b",\n" if number else b"\n")
                output.write(b'{"metadata":' + json_text(processes.metadata[number]).encode())
                output.write(b',\n"agents":')
                _write_list(output, agent_texts(processes.hosts[number], records.gpus))
                _write_names(output, number, records, spool)
                _write_records(output, number, spool)
            output.write(b"]}\n")
    finally:
        spool.close()


def _write_names(output: BinaryIO, number: int, records: RecordWriter, spool: SectionSpool) -> None:
    output.write(b',\n"counters":')
    _write_list(output, records.counter_texts())
    kinds = json_text(records.kinds.table()).encode()
    output.write(b',\n"strings":{"callback_records":%s,"buffer_records":%s' % (kinds, kinds))
    output.write(b',"marker_api":')
    spool.write_array((number, "marker_texts"), output)
    output.write(b',"correlation_id":{"external":[]},"counters":{"dimension_ids":[]}}')
    output.write(b',\n"code_objects":')
    _write_list(output, records.code_object_texts())
    output.write(b',\n"kernel_symbols":')
    _write_list(output, records.symbols.of_process(number))
    output.write(b',\n"host_functions":[],"summary":[]')


def _write_records(output: BinaryIO, number: int, spool: SectionSpool) -> None:
    output.write(b',\n"callback_records":{"counter_collection":')
    spool.write_array((number, "counter_collection"), output)
    output.write(b'},\n"buffer_records":{')
    sections = ("kernel_dispatch", "memory_copy", "marker_api", *CALL_SECTIONS)
    for index, section in enumerate(sections):
        output.write(b'%s"%s":' % (b",\n" if index else b"", section.encode()))
        spool.write_array((number, section), output)
    output.write(b"}}")


def _write_list(output: BinaryIO, elements: list[str]) -> None:
    output.write(b"[" + ",\n".join(elements).encode("utf-8", "replace") + b"]")
