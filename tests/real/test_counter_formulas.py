"""Every formula of every chip against the reference's own, on made-up counters.

Real folders are of copies: no matrix instructions, no LDS, few chips. Here each counter is a random
number, and each formula of the reference, read as Python, must give what the catalogue gives.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

from wavescope.analyze.counters import Aggregation, NormalUnit
from wavescope.analyze.counters.catalogue import Catalogue, catalogue_for
from wavescope.analyze.counters.expression import ChannelCounter
from wavescope.analyze.counters.measured import Measured
from wavescope.analyze.counters.metric_values import MetricValues
from wavescope.analyze.counters.panels import MetricRow, filled_tables
from wavescope.model.counters import ACCUMULATED, LAUNCH_COLUMNS, CounterTable

FACTS = {
    "cu_per_gpu": 304.0,
    "se_per_gpu": 32.0,
    "sqc_per_gpu": 160.0,
    "lds_banks_per_cu": 32.0,
    "max_sclk": 2100.0,
    "max_mclk": 1300.0,
    "max_waves_per_cu": 32.0,
    "total_l2_chan": 8.0,
    "num_hbm_channels": 128.0,
    "num_xcd": 4.0,
    "pipes_per_gpu": 4.0,
    "wave_size": 64.0,
}
DIFFERENT = {
    "gfx90a": {"2.1.21", "17.2.4", "17.2.2", "17.2.6"},
    "gfx908": {"17.2.0", "17.2.4", "17.2.2", "17.2.6"},
    "gfx950": {"2.1.7", "2.1.24", "11.1.7"},
}
"""Listed in docs/metrics.md, beside 3.1.33, 3.1.39 and 18.1.0 on all chips."""
EVERYWHERE = {"3.1.33", "3.1.39", "18.1.0"}


def reference(folder: Path, chip: str) -> dict[str, list[str]]:
    """Id -> columns of the reference's row on a chip."""
    base = _rows((folder / "gfx942.tsv").read_text())
    if chip == "gfx942":
        return base
    text = (folder / f"{chip}.tsv").read_text()
    absent = set(text.partition("absent here:")[2].partition("\n")[0].split())
    return {id_: row for id_, row in base.items() if id_ not in absent} | _rows(text)


def _rows(text: str) -> dict[str, list[str]]:
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("#")]
    return {line[0]: line for line in lines if line[2] != "placeholder_range"}


def made_up(catalogue: Catalogue, names: set[str], families: set[str]) -> CounterTable:
    """One dispatch with a random value of every counter."""
    randomness = random.Random(catalogue.chip)

    def number() -> np.ndarray:  # type: ignore[type-arg]
        return np.array([float(randomness.randrange(1_000, 1_000_000))])

    columns = {name: number() for name in sorted(names) if not name.islower()}
    columns["SQ_BUSY_CU_CYCLES"] = np.array([50_000_000.0])
    channels = {name: np.array([[number()[0] for _ in range(8)]]) for name in sorted(families)}
    return CounterTable(
        "made",
        ["k"],
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.array([12_345.0]),
        columns,
        channels,
        {
            metric.level_pass: {ACCUMULATED: number()}
            for metric in catalogue.metrics.values()
            if metric.level_pass
        },
        dict(FACTS),
        {"gpu_arch": catalogue.chip},
    )


def as_python(formula: str) -> str:
    """The reference's notation as an expression."""
    formula = formula.replace("·", " * ").replace("≠", "!=").replace("TCC_EA_", "TCC_EA0_")
    formula = re.sub(r" when (.+?), else 0\)", r" if \1 else 0)", formula)
    return re.sub(r"(\w+)\[c\]", r'channel("\1")', formula)


def value_of(formula: str, table: CounterTable, level: str) -> float:
    """What the reference's formula gives for the one dispatch."""
    columns = {name: float(values[0]) for name, values in table.columns.items()}
    dies = table.facts["num_xcd"]
    gui = columns["GRBM_GUI_ACTIVE"] / dies
    waves = round(4 * columns["SQ_BUSY_CU_CYCLES"] / gui)
    most = table.facts["max_waves_per_cu"]
    names = columns | table.facts
    names |= {
        "dt": float(table.durations_ns[0]),
        "D": 1.0,
        "GUI": gui,
        "GRBM_COUNT_PER_XCD": columns["GRBM_COUNT"] / dies,
        "GRBM_SPI_BUSY_PER_XCD": columns["GRBM_SPI_BUSY"] / dies,
        "numActiveCUs": int(
            min(waves / most * 8 + min(waves % most, 8), table.facts["cu_per_gpu"])
        ),
        "hbmBandwidth": table.facts["max_mclk"] / 1000 * 32 * table.facts["num_hbm_channels"],
    }
    if level:
        names["ACCUM"] = float(table.levels[level][ACCUMULATED][0])
    functions = {
        "avg": lambda value: value,
        "to_int": lambda value: value,
        "round": round,
        "max": max,
        "channel": lambda family: float(table.channels[family][0, 0]),
    }
    return float(eval(as_python(formula), {"__builtins__": {}}, names | functions))


def everything_of(catalogue: Catalogue) -> tuple[set[str], set[str]]:
    names, families = set(LAUNCH_COLUMNS), set()
    names |= {"SQ_WAVES", "GRBM_COUNT", "GRBM_SPI_BUSY", "GRBM_GUI_ACTIVE", "SQ_BUSY_CU_CYCLES"}
    for metric in catalogue.metrics.values():
        for need in catalogue.needs(metric.value):
            if isinstance(need, ChannelCounter):
                families.add(need.family)
            elif need.name not in {ACCUMULATED, "duration"} and need.name not in catalogue.facts:
                names.add(need.name)
    return names, families


@pytest.mark.parametrize("chip", ["gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"])
def test_every_formula_is_the_references(shared_data: Path, chip: str) -> None:
    folder = shared_data.parent / "reference" / "compute-metric-formulas"
    if not folder.is_dir():
        pytest.skip("the reference's formulas are not here: expected beside the data")
    catalogue = catalogue_for(chip)
    table = made_up(catalogue, *everything_of(catalogue))
    values = MetricValues(
        Measured(table, catalogue, Aggregation.MEAN_OF_RATIOS), NormalUnit.PER_KERNEL
    )
    rows: dict[str, MetricRow] = {
        row.id: row for found in filled_tables(catalogue.panels, values) for row in found.rows
    }

    compared = 0
    for id_, row in reference(folder, chip).items():
        parts = [part.partition(" = ")[2] for part in row[-1].split("; ") if "[c]" in part]
        if len(parts) == len(rows[id_].values):
            wanted = [value_of(part, table, "") for part in parts]
            assert list(rows[id_].values.values()) == pytest.approx(wanted, rel=1e-9), id_
            compared += len(parts)
    for id_, (_, _, _, _, level, formula, *more) in reference(folder, chip).items():
        if not formula or id_ in EVERYWHERE | DIFFERENT.get(chip, set()):
            continue
        row = rows[id_]
        found = next(row.values[name] for name in ("avg", "value", "median") if name in row.values)
        assert found == pytest.approx(value_of(formula, table, level), rel=1e-9), (id_, row.name)
        compared += 1
        for part in filter(None, (more[0] if more else "").split("; ")):
            name, _, other = part.partition(" = ")
            if name == "peak":
                assert row.values["peak"] == pytest.approx(value_of(other, table, ""), rel=1e-9), (
                    id_
                )
    assert compared > {"gfx908": 290, "gfx950": 420}.get(chip, 340)
