"""wavescope: GPU traces, opened, analysed and converted.

import wavescope

trace = wavescope.open("trace.db")        # any known format
trace.ops.to_pandas()
wavescope.summary(trace)                  # tables and findings, shown richly in a notebook
wavescope.phases(trace)                   # what prefill, decode, ... did
wavescope.findings(trace)                 # what is worth changing
wavescope.work(trace)                     # how near to the GPU's peak operators run
wavescope.flame(trace, of="host")         # where time goes by stack
wavescope.steps(trace)                    # how long each step takes
wavescope.compare(["old.db", "new.db"])   # what changed
wavescope.hotspots("ui_output_agent_1_dispatch_3")   # where a kernel stalls
wavescope.counters("workloads/gemm")      # what hardware counters say
wavescope.traffic("out_counter_collection.csv")   # how kernels use L2 and memory
wavescope.ranks("run/")                   # who makes the ranks of a job wait, and why
wavescope.open_view("trace.db").address   # a page to move around in the whole trace
wavescope.record(["python3", "train.py"])  # run a program, record what its GPUs do

with wavescope.range("prefill"):          # shows up as a marker when the program is recorded
    ...
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # importing `typing` takes longer than all the rest here
if TYPE_CHECKING:
    from typing import Any

_MARKERS = ("mark", "pause", "range", "resume")
_NAMES = {
    "wavescope.analyze.capture": ("HotspotOptions",),
    "wavescope.analyze.compare": ("CompareOptions", "FigureOptions", "Part"),
    "wavescope.analyze.compare.regression": ("CheckOptions", "Gate", "Metric", "Per", "RunOptions"),
    "wavescope.analyze.compare.statistics.effects": ("TestOptions",),
    "wavescope.analyze.compare.statistics.step_noise": ("Statistic",),
    "wavescope.analyze.counters": ("Aggregation", "CounterOptions", "NormalUnit", "SampleOrder"),
    "wavescope.analyze.counters.roofline": ("MemoryLevel", "PointKind", "RooflineOptions"),
    "wavescope.analyze.flame": ("StackTime",),
    "wavescope.analyze.operators": ("OperatorOptions", "OperatorPart"),
    "wavescope.analyze.phases": ("PhaseOptions", "PhaseRules", "PhaseScope", "phases_of"),
    "wavescope.analyze.quick_findings": ("Thresholds",),
    "wavescope.analyze.ranks.result": ("RanksOptions",),
    "wavescope.analyze.steps": ("StepOptions", "steps_of"),
    "wavescope.analyze.summary": (
        "GapOptions",
        "KernelNaming",
        "KernelSummaryOptions",
        "OpChoice",
        "Scope",
        "SummaryOptions",
    ),
    "wavescope.analyze.traffic": ("TrafficOptions",),
    "wavescope.api.captures": (
        "capture_info",
        "capture_report",
        "compare_captures",
        "hotspots",
        "plan",
        "record_capture",
    ),
    "wavescope.api.comparison": ("check_runs", "compare"),
    "wavescope.api.contents": ("info", "known_formats"),
    "wavescope.api.counter_collection": (
        "ceilings",
        "collect_counters",
        "collection_plan",
        "counter_blocks",
        "gpu_chip",
        "metric_sets",
    ),
    "wavescope.api.counters": (
        "CounterReport",
        "available_metrics",
        "counter_report",
        "counters",
        "counters_info",
        "metric_panels",
        "metrics",
        "report_counters",
        "torch_operators",
    ),
    "wavescope.api.files": ("convert", "export_format", "trim"),
    "wavescope.api.flame": ("flame", "save_flame"),
    "wavescope.api.inputs": ("kind_of",),
    "wavescope.api.machine": (
        "doctor",
        "fetch_runtime",
        "kept_folders",
        "remove_runtime",
        "runtimes",
        "softgpu_command",
        "softgpu_environment",
        "write_tiny_model",
    ),
    "wavescope.api.merging": ("merge",),
    "wavescope.api.occupancy": ("chips", "matrix_instructions", "occupancy"),
    "wavescope.api.opened": ("open", "select"),
    "wavescope.api.overhead": ("overhead",),
    "wavescope.api.phases": ("phases", "steps"),
    "wavescope.api.queries": ("query",),
    "wavescope.api.ranks": ("ranks",),
    "wavescope.api.recording": (
        "attach",
        "pause_process",
        "record",
        "recover",
        "resume_process",
        "run_dormant",
        "snapshot",
    ),
    "wavescope.api.reports": ("report",),
    "wavescope.api.roofline": ("RooflineReport", "roofline", "roofline_report"),
    "wavescope.api.summaries": ("find", "findings", "findings_result", "summary"),
    "wavescope.api.traffic": ("traffic",),
    "wavescope.api.view": ("OpenedView", "open_view"),
    "wavescope.api.work": ("work",),
    "wavescope.collect": (
        "AttachOptions",
        "Interception",
        "Keep",
        "OtherTools",
        "OverheadOptions",
        "RecordMode",
        "RecordOptions",
        "Slices",
    ),
    "wavescope.collect.capture": ("CaptureOptions",),
    "wavescope.collect.ceilings": ("CeilingOptions",),
    "wavescope.collect.counters": ("CollectOptions",),
    "wavescope.collect.softgpu": ("SoftGpuOptions",),
    "wavescope.errors": ("WavescopeError",),
    "wavescope.formats": ("Exporter", "Importer"),
    "wavescope.formats.wavescope.writing": ("RankFrom",),
    "wavescope.model.overhead_runs": ("MetricKind",),
    "wavescope.model.paths": ("InputKind",),
    "wavescope.model.result": ("Finding", "Result"),
    "wavescope.model.selection": ("Selection",),
    "wavescope.model.toml_files": ("read_rules",),
    "wavescope.model.trace": ("Trace",),
    "wavescope.names.kernel_names": ("CategoryRules", "NameRules"),
    "wavescope.version": ("__version__",),
    "wavescope.workers": ("EngineOptions",),
}
"""By module what it offers here; `__init__.pyi` says the same to type checkers."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_MARKERS, *_HOMES])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Public names, imported when first used: `wavescope --help` must not wait for NumPy."""
    if name in _MARKERS:
        from wavescope import markers  # noqa: PLC0415

        # Kept here, because markers are set in inner loops.
        globals().update({public: getattr(markers, public) for public in _MARKERS})
        return globals()[name]
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'wavescope' has no attribute '{name}'")
