"""What `import wavescope` offers, for type checkers; `_NAMES` of `__init__.py` says it at run time."""

from wavescope.analyze.capture import HotspotOptions as HotspotOptions
from wavescope.analyze.compare import (
    CompareOptions as CompareOptions,
    FigureOptions as FigureOptions,
    Part as Part,
)
from wavescope.analyze.compare.regression import (
    CheckOptions as CheckOptions,
    Gate as Gate,
    Metric as Metric,
    Per as Per,
    RunOptions as RunOptions,
)
from wavescope.analyze.compare.statistics.effects import TestOptions as TestOptions
from wavescope.analyze.compare.statistics.step_noise import Statistic as Statistic
from wavescope.analyze.counters import (
    Aggregation as Aggregation,
    CounterOptions as CounterOptions,
    NormalUnit as NormalUnit,
    SampleOrder as SampleOrder,
)
from wavescope.analyze.counters.roofline import (
    MemoryLevel as MemoryLevel,
    PointKind as PointKind,
    RooflineOptions as RooflineOptions,
)
from wavescope.analyze.flame import StackTime as StackTime
from wavescope.analyze.operators import (
    OperatorOptions as OperatorOptions,
)
from wavescope.analyze.operators import (
    OperatorPart as OperatorPart,
)
from wavescope.analyze.phases import (
    PhaseOptions as PhaseOptions,
    PhaseRules as PhaseRules,
    PhaseScope as PhaseScope,
    phases_of as phases_of,
)
from wavescope.analyze.quick_findings import Thresholds as Thresholds
from wavescope.analyze.ranks.result import RanksOptions as RanksOptions
from wavescope.analyze.steps import StepOptions as StepOptions, steps_of as steps_of
from wavescope.analyze.summary import (
    GapOptions as GapOptions,
    KernelNaming as KernelNaming,
    KernelSummaryOptions as KernelSummaryOptions,
    OpChoice as OpChoice,
    Scope as Scope,
    SummaryOptions as SummaryOptions,
)
from wavescope.analyze.traffic import TrafficOptions as TrafficOptions
from wavescope.api.captures import (
    capture_info as capture_info,
    capture_report as capture_report,
    compare_captures as compare_captures,
    hotspots as hotspots,
    plan as plan,
    record_capture as record_capture,
)
from wavescope.api.comparison import check_runs as check_runs, compare as compare
from wavescope.api.contents import info as info, known_formats as known_formats
from wavescope.api.counter_collection import (
    ceilings as ceilings,
    collect_counters as collect_counters,
    collection_plan as collection_plan,
    counter_blocks as counter_blocks,
    gpu_chip as gpu_chip,
    metric_sets as metric_sets,
)
from wavescope.api.counters import (
    CounterReport as CounterReport,
    available_metrics as available_metrics,
    counter_report as counter_report,
    counters as counters,
    counters_info as counters_info,
    metric_panels as metric_panels,
    metrics as metrics,
    report_counters as report_counters,
    torch_operators as torch_operators,
)
from wavescope.api.files import convert as convert, export_format as export_format, trim as trim
from wavescope.api.flame import flame as flame, save_flame as save_flame
from wavescope.api.inputs import kind_of as kind_of
from wavescope.api.machine import (
    doctor as doctor,
    fetch_runtime as fetch_runtime,
    kept_folders as kept_folders,
    remove_runtime as remove_runtime,
    runtimes as runtimes,
    softgpu_command as softgpu_command,
    softgpu_environment as softgpu_environment,
    write_tiny_model as write_tiny_model,
)
from wavescope.api.merging import merge as merge
from wavescope.api.occupancy import (
    chips as chips,
    matrix_instructions as matrix_instructions,
    occupancy as occupancy,
)
from wavescope.api.opened import open as open, select as select
from wavescope.api.overhead import overhead as overhead
from wavescope.api.phases import phases as phases, steps as steps
from wavescope.api.queries import query as query
from wavescope.api.ranks import ranks as ranks
from wavescope.api.recording import (
    attach as attach,
    pause_process as pause_process,
    record as record,
    recover as recover,
    resume_process as resume_process,
    run_dormant as run_dormant,
    snapshot as snapshot,
)
from wavescope.api.reports import report as report
from wavescope.api.roofline import (
    RooflineReport as RooflineReport,
    roofline as roofline,
    roofline_report as roofline_report,
)
from wavescope.api.summaries import (
    find as find,
    findings as findings,
    findings_result as findings_result,
    summary as summary,
)
from wavescope.api.traffic import traffic as traffic
from wavescope.api.view import OpenedView as OpenedView, open_view as open_view
from wavescope.api.work import work as work
from wavescope.collect import (
    AttachOptions as AttachOptions,
    Interception as Interception,
    Keep as Keep,
    OtherTools as OtherTools,
    OverheadOptions as OverheadOptions,
    RecordMode as RecordMode,
    RecordOptions as RecordOptions,
    Slices as Slices,
)
from wavescope.collect.capture import CaptureOptions as CaptureOptions
from wavescope.collect.ceilings import CeilingOptions as CeilingOptions
from wavescope.collect.counters import CollectOptions as CollectOptions
from wavescope.collect.softgpu import SoftGpuOptions as SoftGpuOptions
from wavescope.errors import WavescopeError as WavescopeError
from wavescope.formats import Exporter as Exporter, Importer as Importer
from wavescope.formats.wavescope.writing import RankFrom as RankFrom
from wavescope.markers import mark as mark, pause as pause, range as range, resume as resume
from wavescope.model.overhead_runs import MetricKind as MetricKind
from wavescope.model.paths import InputKind as InputKind
from wavescope.model.result import Finding as Finding, Result as Result
from wavescope.model.selection import Selection as Selection
from wavescope.model.toml_files import read_rules as read_rules
from wavescope.model.trace import Trace as Trace
from wavescope.names.kernel_names import CategoryRules as CategoryRules, NameRules as NameRules
from wavescope.version import __version__ as __version__
from wavescope.workers import EngineOptions as EngineOptions
