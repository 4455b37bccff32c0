"""wavescope: GPU traces, opened, analysed and converted.

import wavescope

trace = wavescope.open("trace.db")        # any known format
trace.ops.to_pandas()
wavescope.summary(trace)                  # tables and findings, shown richly in a notebook
wavescope.phases(trace)                   # what prefill, decode, ... did
wavescope.findings(trace)                 # what is worth changing
wavescope.steps(trace)                    # how long each step takes
wavescope.compare(["old.db", "new.db"])   # what changed
wavescope.hotspots("ui_output_agent_1_dispatch_3")   # where a kernel stalls
wavescope.counters("workloads/gemm")      # what hardware counters say
wavescope.traffic("out_counter_collection.csv")   # how kernels use L2 and memory
wavescope.record(["python3", "train.py"])  # run a program, record what its GPUs do

with wavescope.range("prefill"):          # shows up as a marker when the program is recorded
    ...
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wavescope.version import __version__

if TYPE_CHECKING:
    from wavescope.analyze.capture import (
        HotspotOptions,
    )
    from wavescope.analyze.compare import (
        CheckOptions,
        CompareOptions,
        FigureOptions,
        Gate,
        Metric,
        Part,
        Per,
        RunOptions,
        Statistic,
        TestOptions,
    )
    from wavescope.analyze.counters import (
        Aggregation,
        CounterOptions,
        NormalUnit,
        SampleOrder,
    )
    from wavescope.analyze.counters.roofline import (
        MemoryLevel,
        PointKind,
        RooflineOptions,
    )
    from wavescope.analyze.phases import (
        PhaseOptions,
        PhaseRules,
        PhaseScope,
        phases_of,
    )
    from wavescope.analyze.quick_findings import (
        Thresholds,
    )
    from wavescope.analyze.steps import (
        StepOptions,
        steps_of,
    )
    from wavescope.analyze.summary import (
        GapOptions,
        KernelNaming,
        KernelSummaryOptions,
        OpChoice,
        Scope,
        SummaryOptions,
    )
    from wavescope.analyze.traffic import (
        TrafficOptions,
    )
    from wavescope.api.captures import (
        capture_info,
        capture_report,
        compare_captures,
        hotspots,
        plan,
        record_capture,
    )
    from wavescope.api.comparison import (
        check_runs,
        compare,
    )
    from wavescope.api.contents import (
        info,
        known_formats,
    )
    from wavescope.api.counter_collection import (
        ceilings,
        collect_counters,
        collection_plan,
        counter_blocks,
        gpu_chip,
        metric_sets,
    )
    from wavescope.api.counters import (
        CounterReport,
        RooflineReport,
        available_metrics,
        counter_report,
        counters,
        counters_info,
        metric_panels,
        metrics,
        report_counters,
        roofline,
        roofline_report,
        torch_operators,
    )
    from wavescope.api.files import (
        convert,
        export_format,
        trim,
    )
    from wavescope.api.inputs import (
        kind_of,
    )
    from wavescope.api.machine import (
        doctor,
        fetch_runtime,
        remove_runtime,
        runtimes,
        softgpu_command,
        softgpu_environment,
        write_tiny_model,
    )
    from wavescope.api.merging import (
        merge,
    )
    from wavescope.api.occupancy import (
        chips,
        occupancy,
    )
    from wavescope.api.opened import (
        open,  # noqa: A004
        select,
    )
    from wavescope.api.overhead import (
        overhead,
    )
    from wavescope.api.phases import (
        phases,
        steps,
    )
    from wavescope.api.queries import (
        query,
    )
    from wavescope.api.recording import (
        attach,
        pause_process,
        record,
        recover,
        resume_process,
        run_dormant,
        snapshot,
    )
    from wavescope.api.reports import (
        report,
    )
    from wavescope.api.summaries import (
        find,
        findings,
        findings_result,
        summary,
    )
    from wavescope.api.traffic import (
        traffic,
    )
    from wavescope.collect import (
        AttachOptions,
        OtherTools,
        OverheadOptions,
        RecordMode,
        RecordOptions,
    )
    from wavescope.collect.capture import (
        CaptureOptions,
    )
    from wavescope.collect.ceilings import (
        CeilingOptions,
    )
    from wavescope.collect.counters import (
        CollectOptions,
    )
    from wavescope.collect.softgpu import (
        SoftGpuOptions,
    )
    from wavescope.errors import (
        WavescopeError,
    )
    from wavescope.formats import (
        Exporter,
        Importer,
    )
    from wavescope.formats.wavescope.writing import (
        RankFrom,
    )
    from wavescope.markers import (
        mark,
        pause,
        range,  # noqa: A004
        resume,
    )
    from wavescope.model.overhead_runs import (
        MetricKind,
    )
    from wavescope.model.paths import InputKind
    from wavescope.model.result import (
        Finding,
        Result,
    )
    from wavescope.model.selection import (
        Selection,
    )
    from wavescope.model.toml_files import (
        read_rules,
    )
    from wavescope.model.trace import (
        Trace,
    )
    from wavescope.names.kernel_names import (
        CategoryRules,
        NameRules,
    )

_MARKERS = ("mark", "pause", "range", "resume")
__all__ = [
    "Aggregation",
    "AttachOptions",
    "CaptureOptions",
    "CategoryRules",
    "CeilingOptions",
    "CheckOptions",
    "CollectOptions",
    "CompareOptions",
    "CounterOptions",
    "CounterReport",
    "Exporter",
    "FigureOptions",
    "Finding",
    "GapOptions",
    "Gate",
    "HotspotOptions",
    "Importer",
    "InputKind",
    "KernelNaming",
    "KernelSummaryOptions",
    "MemoryLevel",
    "Metric",
    "MetricKind",
    "NameRules",
    "NormalUnit",
    "OpChoice",
    "OtherTools",
    "OverheadOptions",
    "Part",
    "Per",
    "PhaseOptions",
    "PhaseRules",
    "PhaseScope",
    "PointKind",
    "RankFrom",
    "RecordMode",
    "RecordOptions",
    "Result",
    "RooflineOptions",
    "RooflineReport",
    "RunOptions",
    "SampleOrder",
    "Scope",
    "Selection",
    "SoftGpuOptions",
    "Statistic",
    "StepOptions",
    "SummaryOptions",
    "TestOptions",
    "Thresholds",
    "Trace",
    "TrafficOptions",
    "WavescopeError",
    "__version__",
    "attach",
    "available_metrics",
    "capture_info",
    "capture_report",
    "ceilings",
    "check_runs",
    "chips",
    "collect_counters",
    "collection_plan",
    "compare",
    "compare_captures",
    "convert",
    "counter_blocks",
    "counter_report",
    "counters",
    "counters_info",
    "doctor",
    "export_format",
    "fetch_runtime",
    "find",
    "findings",
    "findings_result",
    "gpu_chip",
    "hotspots",
    "info",
    "kind_of",
    "known_formats",
    "mark",
    "merge",
    "metric_panels",
    "metric_sets",
    "metrics",
    "occupancy",
    "open",
    "overhead",
    "pause",
    "pause_process",
    "phases",
    "phases_of",
    "plan",
    "query",
    "range",
    "read_rules",
    "record",
    "record_capture",
    "recover",
    "remove_runtime",
    "report",
    "report_counters",
    "resume",
    "resume_process",
    "roofline",
    "roofline_report",
    "run_dormant",
    "runtimes",
    "select",
    "snapshot",
    "softgpu_command",
    "softgpu_environment",
    "steps",
    "steps_of",
    "summary",
    "torch_operators",
    "traffic",
    "trim",
    "write_tiny_model",
]


_HOMES = {
    "Aggregation": "wavescope.analyze.counters",
    "AttachOptions": "wavescope.collect",
    "CaptureOptions": "wavescope.collect.capture",
    "CategoryRules": "wavescope.names.kernel_names",
    "CeilingOptions": "wavescope.collect.ceilings",
    "CheckOptions": "wavescope.analyze.compare",
    "CollectOptions": "wavescope.collect.counters",
    "CompareOptions": "wavescope.analyze.compare",
    "CounterOptions": "wavescope.analyze.counters",
    "CounterReport": "wavescope.api.counters",
    "Exporter": "wavescope.formats",
    "FigureOptions": "wavescope.analyze.compare",
    "Finding": "wavescope.model.result",
    "GapOptions": "wavescope.analyze.summary",
    "Gate": "wavescope.analyze.compare",
    "HotspotOptions": "wavescope.analyze.capture",
    "Importer": "wavescope.formats",
    "InputKind": "wavescope.model.paths",
    "KernelNaming": "wavescope.analyze.summary",
    "KernelSummaryOptions": "wavescope.analyze.summary",
    "MemoryLevel": "wavescope.analyze.counters.roofline",
    "Metric": "wavescope.analyze.compare",
    "MetricKind": "wavescope.model.overhead_runs",
    "NameRules": "wavescope.names.kernel_names",
    "NormalUnit": "wavescope.analyze.counters",
    "OpChoice": "wavescope.analyze.summary",
    "OtherTools": "wavescope.collect",
    "OverheadOptions": "wavescope.collect",
    "Part": "wavescope.analyze.compare",
    "Per": "wavescope.analyze.compare",
    "PhaseOptions": "wavescope.analyze.phases",
    "PhaseRules": "wavescope.analyze.phases",
    "PhaseScope": "wavescope.analyze.phases",
    "PointKind": "wavescope.analyze.counters.roofline",
    "RankFrom": "wavescope.formats.wavescope.writing",
    "RecordMode": "wavescope.collect",
    "RecordOptions": "wavescope.collect",
    "Result": "wavescope.model.result",
    "RooflineOptions": "wavescope.analyze.counters.roofline",
    "RooflineReport": "wavescope.api.counters",
    "RunOptions": "wavescope.analyze.compare",
    "SampleOrder": "wavescope.analyze.counters",
    "Scope": "wavescope.analyze.summary",
    "Selection": "wavescope.model.selection",
    "SoftGpuOptions": "wavescope.collect.softgpu",
    "Statistic": "wavescope.analyze.compare",
    "StepOptions": "wavescope.analyze.steps",
    "SummaryOptions": "wavescope.analyze.summary",
    "TestOptions": "wavescope.analyze.compare",
    "Thresholds": "wavescope.analyze.quick_findings",
    "Trace": "wavescope.model.trace",
    "TrafficOptions": "wavescope.analyze.traffic",
    "WavescopeError": "wavescope.errors",
    "attach": "wavescope.api.recording",
    "available_metrics": "wavescope.api.counters",
    "capture_info": "wavescope.api.captures",
    "capture_report": "wavescope.api.captures",
    "ceilings": "wavescope.api.counter_collection",
    "check_runs": "wavescope.api.comparison",
    "chips": "wavescope.api.occupancy",
    "collect_counters": "wavescope.api.counter_collection",
    "collection_plan": "wavescope.api.counter_collection",
    "compare": "wavescope.api.comparison",
    "compare_captures": "wavescope.api.captures",
    "convert": "wavescope.api.files",
    "counter_blocks": "wavescope.api.counter_collection",
    "counter_report": "wavescope.api.counters",
    "counters": "wavescope.api.counters",
    "counters_info": "wavescope.api.counters",
    "doctor": "wavescope.api.machine",
    "export_format": "wavescope.api.files",
    "fetch_runtime": "wavescope.api.machine",
    "find": "wavescope.api.summaries",
    "findings": "wavescope.api.summaries",
    "findings_result": "wavescope.api.summaries",
    "gpu_chip": "wavescope.api.counter_collection",
    "hotspots": "wavescope.api.captures",
    "info": "wavescope.api.contents",
    "kind_of": "wavescope.api.inputs",
    "known_formats": "wavescope.api.contents",
    "merge": "wavescope.api.merging",
    "metric_panels": "wavescope.api.counters",
    "metric_sets": "wavescope.api.counter_collection",
    "metrics": "wavescope.api.counters",
    "occupancy": "wavescope.api.occupancy",
    "open": "wavescope.api.opened",
    "overhead": "wavescope.api.overhead",
    "pause_process": "wavescope.api.recording",
    "phases": "wavescope.api.phases",
    "phases_of": "wavescope.analyze.phases",
    "plan": "wavescope.api.captures",
    "query": "wavescope.api.queries",
    "read_rules": "wavescope.model.toml_files",
    "record": "wavescope.api.recording",
    "record_capture": "wavescope.api.captures",
    "recover": "wavescope.api.recording",
    "remove_runtime": "wavescope.api.machine",
    "report": "wavescope.api.reports",
    "report_counters": "wavescope.api.counters",
    "resume_process": "wavescope.api.recording",
    "roofline": "wavescope.api.counters",
    "roofline_report": "wavescope.api.counters",
    "run_dormant": "wavescope.api.recording",
    "runtimes": "wavescope.api.machine",
    "select": "wavescope.api.opened",
    "snapshot": "wavescope.api.recording",
    "softgpu_command": "wavescope.api.machine",
    "softgpu_environment": "wavescope.api.machine",
    "steps": "wavescope.api.phases",
    "steps_of": "wavescope.analyze.steps",
    "summary": "wavescope.api.summaries",
    "torch_operators": "wavescope.api.counters",
    "traffic": "wavescope.api.traffic",
    "trim": "wavescope.api.files",
    "write_tiny_model": "wavescope.api.machine",
}


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
