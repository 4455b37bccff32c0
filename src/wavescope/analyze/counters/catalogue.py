"""The catalogue of metrics: what each panel shows on a chip and how it is computed.

The definitions are data: `definitions/` holds one base and for each chip what differs from it.
Formulas are parsed when they are needed; `own_metrics` proves that all of them add up.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wavescope.analyze.counters.expression import ChannelCounter, Expression, Name, parsed, walked
from wavescope.analyze.counters.measure import Measure, parsed_measure
from wavescope.errors import UsageError, WavescopeError
from wavescope.model.workload_layout import COUNTED_CHIPS
from wavescope.package_files import package_file

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHIPS = COUNTED_CHIPS
BASE_CHIP = "gfx942"
_FOLDER = ("analyze", "counters", "definitions")
_METRIC_FILES = (
    "compute",
    "wavefront",
    "command_processor",
    "workgroup_manager",
    "lds",
    "scalar_caches",
    "address_units",
    "vector_l1",
    "l2",
    "fabric",
    "l2_channels",
)
_PANEL_FILES = (
    "02_sol",
    "03_memchart",
    "05_cpc",
    "06_spi",
    "07_wavefront",
    "10_cu_ins",
    "11_cu_pipe",
    "12_lds",
    "13_ins_cache",
    "14_sl1d",
    "15_tatd",
    "16_vl1d",
    "17_l2",
    "18_l2_per_channel",
)


class Metric(NamedTuple):
    """One quantity: its formula, unit and meaning; `key` is the same on all chips."""

    key: str
    unit: str
    value: str
    meaning: str
    peak: str = ""
    normalised: bool = False
    level_pass: str = ""
    high: str = ""
    low: str = ""
    is_share: bool = False
    """Whether it can only be between 0 and 100 percent."""


class PanelRow(NamedTuple):
    """A metric's place in a table, under the name it has there."""

    name: str
    metric: str


@dataclass(frozen=True)
class PanelTable:
    """A table of metrics; `columns` says which statistics it shows."""

    id: str
    title: str
    columns: str
    rows: tuple[PanelRow, ...]

    @property
    def is_per_channel(self) -> bool:
        """Whether the rows are L2 channels."""
        return self.columns.startswith("channel_")


@dataclass(frozen=True)
class Panel:
    """A block of tables; panels without tables are made of other data than counters."""

    id: int
    alias: str
    title: str
    tables: tuple[PanelTable, ...] = ()


OTHER_PANELS = (
    Panel(0, "topstats", "Top Stats"),
    Panel(1, "sysinfo", "System Info"),
    Panel(4, "roofline", "Roofline"),
    Panel(21, "pc_sampling", "PC Sampling"),
)


@dataclass
class Catalogue:
    """The panels, metrics and named values of one chip."""

    chip: str
    title: str
    panels: tuple[Panel, ...]
    metrics: dict[str, Metric]
    values: dict[str, str]
    """Formulas that others use by name."""
    facts: dict[str, Measure]
    launch: dict[str, Measure]
    counter_rules: list[tuple[re.Pattern[str], Measure]]
    not_counted: frozenset[str] = frozenset()
    lacking: str = ""
    """What counters are called that formulas mention and the chip does not have, as a pattern."""
    data_types: tuple[str, ...] = ()
    """Those that the chip computes with."""
    has_matrix_units: bool = True
    _needs: dict[str, frozenset[Name | ChannelCounter]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def all_panels(self) -> list[Panel]:
        """The panels by their numbers, those that are not made of metrics among them."""
        return sorted((*OTHER_PANELS, *self.panels), key=lambda panel: panel.id)

    @property
    def tables(self) -> list[PanelTable]:
        """The tables of all panels."""
        return [table for panel in self.panels for table in panel.tables]

    @property
    def shown_metrics(self) -> frozenset[str]:
        """Keys of the metrics that the tables show."""
        return frozenset(row.metric for table in self.tables for row in table.rows)

    def lacked(self, counters: Iterable[str]) -> list[str]:
        """Those of `counters` that the chip does not have."""
        return [each for each in counters if self.lacking and re.search(self.lacking, each)]

    def metric_of(self, row: PanelRow) -> Metric:
        """The metric that a row shows."""
        return self.metrics[row.metric]

    def value_expression(self, name: str) -> Expression:
        """The formula of a named value."""
        return parsed(self.values[name])

    def needs(self, formula: str) -> frozenset[Name | ChannelCounter]:
        """The counters, facts and columns that a formula needs, named values resolved."""
        known = self._needs.get(formula)
        if known is None:
            known = frozenset(self._resolved(parsed(formula), ()))
            self._needs[formula] = known
        return known

    def _resolved(
        self, expression: Expression, inside: tuple[str, ...]
    ) -> Iterable[Name | ChannelCounter]:
        for part in walked(expression):
            if isinstance(part, ChannelCounter):
                yield part
            elif isinstance(part, Name):
                if part.name not in self.values:
                    yield part
                elif part.name in inside:
                    raise UsageError(f"the value '{part.name}' is defined by itself")
                else:
                    yield from self._resolved(
                        self.value_expression(part.name), (*inside, part.name)
                    )


def catalogue_for(chip: str) -> Catalogue:
    """The catalogue of `chip`; unknown chips are an error that names the known ones."""
    if chip not in CHIPS:
        raise UsageError(
            f"there are no metrics for '{chip}'", hint=f"known chips: {', '.join(CHIPS)}"
        )
    counters = definitions("counters.toml")
    catalogue = Catalogue(
        chip,
        "",
        tuple(_panel(definitions("panels", f"{name}.toml")) for name in _PANEL_FILES),
        {
            key: defined_metric(key, entry)
            for name in _METRIC_FILES
            for key, entry in definitions("metrics", f"{name}.toml").items()
        },
        dict(definitions("values.toml")["value"]),
        {name: parsed_measure(unit) for name, unit in counters["facts"].items()},
        {name: parsed_measure(unit) for name, unit in counters["launch"].items()},
        [(re.compile(rule["match"]), parsed_measure(rule["unit"])) for rule in counters["counter"]],
    )
    for definition in _lineage(chip):
        apply_chip(catalogue, definition)
    return catalogue


def apply_chip(catalogue: Catalogue, definition: Mapping[str, Any]) -> None:
    """Change `catalogue` by what a chip's file says."""
    catalogue.title = definition.get("title", catalogue.title)
    catalogue.values.update(definition.get("value", {}))
    for key, entry in definition.get("metric", {}).items():
        catalogue.metrics[key] = defined_metric(key, entry, catalogue.metrics.get(key))
    catalogue.not_counted |= frozenset(definition.get("not_counted", ()))
    catalogue.lacking = definition.get("lacking", catalogue.lacking)
    catalogue.data_types = tuple(definition.get("data_types", catalogue.data_types))
    catalogue.has_matrix_units = definition.get("has_matrix_units", catalogue.has_matrix_units)
    removed = frozenset(definition.get("absent_tables", ()))
    catalogue.panels = tuple(
        Panel(panel.id, panel.alias, panel.title, _changed_tables(panel, definition, removed))
        for panel in catalogue.panels
    )


def _changed_tables(
    panel: Panel, definition: Mapping[str, Any], removed: frozenset[str]
) -> tuple[PanelTable, ...]:
    added = [
        _table(entry) for entry in definition.get("insert_table", ()) if entry["panel"] == panel.id
    ]
    tables = [table for table in panel.tables if table.id not in removed] + added
    tables.sort(key=lambda table: [int(part) for part in table.id.split(".")])
    return tuple(_changed_rows(table, definition) for table in tables)


def _changed_rows(table: PanelTable, definition: Mapping[str, Any]) -> PanelTable:
    absent = definition.get("absent", {}).get(table.id, ())
    inserts = [entry for entry in definition.get("insert", ()) if entry["table"] == table.id]
    if not absent and not inserts:
        return table
    rows = [row for row in table.rows if row.name not in absent]
    for entry in inserts:
        at = 1 + [row.name for row in rows].index(entry["after"]) if entry["after"] else 0
        rows[at:at] = _rows(entry["rows"])
    return PanelTable(table.id, table.title, table.columns, tuple(rows))


def _lineage(chip: str) -> list[dict[str, Any]]:
    """The definitions that make up a chip, the most general first."""
    definition = definitions("chips", f"{chip}.toml")
    base = definition.get("base")
    return [*(_lineage(base) if base else []), definition]


def _panel(entry: Mapping[str, Any]) -> Panel:
    tables = tuple(_table(table) for table in entry["table"])
    return Panel(entry["id"], entry["alias"], entry["title"], tables)


def _table(entry: Mapping[str, Any]) -> PanelTable:
    return PanelTable(entry["id"], entry["title"], entry["columns"], tuple(_rows(entry["rows"])))


def _rows(entries: Iterable[Mapping[str, str]]) -> list[PanelRow]:
    return [PanelRow(entry["name"], entry["metric"]) for entry in entries]


def defined_metric(key: str, entry: Mapping[str, Any], base: Metric | None = None) -> Metric:
    """A metric of a definition; what it does not say comes from `base`."""
    known = base or Metric(key, "1", "0", "")
    metric = Metric(
        key,
        str(entry.get("unit", known.unit)),
        str(entry.get("value", known.value)),
        str(entry.get("meaning", known.meaning)),
        str(entry.get("peak", known.peak)),
        bool(entry.get("normalised", known.normalised)),
        str(entry.get("pass", known.level_pass)),
        str(entry.get("high", known.high)),
        str(entry.get("low", known.low)),
        bool(entry.get("share", known.is_share)),
    )
    parsed_measure(metric.unit)
    return metric


@functools.cache
def definitions(*parts: str) -> dict[str, Any]:
    """The content of a file of `definitions/`."""
    path = package_file(*_FOLDER, *parts)
    if path is None:
        raise WavescopeError(
            f"the file {'/'.join(parts)} of metric definitions is not installed",
            hint="install wavescope again",
        )
    return tomllib.loads(path.read_text(encoding="utf-8"))
