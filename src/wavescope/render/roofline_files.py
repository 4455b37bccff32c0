"""Writes the roofline plot as HTML, SVG, PNG or as its Vega-Lite description.

The plot is drawn by vl-convert, which carries Vega in its wheel: no browser and no network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from wavescope.errors import MachineError, UsageError
from wavescope.model.result import Result
from wavescope.render.html.page import write_page
from wavescope.render.html.roofline_page import roofline_page
from wavescope.render.roofline_vega import NamedRoofline, roofline_spec

SUFFIXES = (".html", ".svg", ".png", ".json")


def write_roofline(
    path: Path, runs: Sequence[NamedRoofline], suffix: str, results: Sequence[Result] = ()
) -> None:
    """Write the plot of `runs` to `path` in the format that `suffix` names.

    A page also shows the tables of `results`.
    """
    if suffix == ".json":
        path.write_text(json.dumps(roofline_spec(runs, interactive=True)), encoding="utf-8")
    elif suffix == ".html":
        library = str(_converter().javascript_bundle("window.vegaEmbed = vegaEmbed;"))
        page = roofline_page(roofline_spec(runs, interactive=True), results, library)
        with path.open("w", encoding="utf-8") as stream:
            write_page(page, stream)
    elif suffix == ".svg":
        spec = roofline_spec(runs, interactive=False)
        path.write_text(str(_converter().vegalite_to_svg(spec)), encoding="utf-8")
    elif suffix == ".png":
        spec = roofline_spec(runs, interactive=False)
        path.write_bytes(_converter().vegalite_to_png(spec, scale=2))
    else:
        raise UsageError(
            f"'{suffix}' is no format of plots", hint=f"end the name with {', '.join(SUFFIXES)}"
        )


def _converter() -> ModuleType:
    try:
        import vl_convert  # noqa: PLC0415  optional, 30 MB
    except ImportError as error:
        raise MachineError(
            "plots need the package vl-convert-python",
            hint="pip install 'wavescope[plots]', or print the roofline as text without -o",
        ) from error
    return vl_convert
