"""Writes the roofline plot as HTML, SVG, PNG or as its Vega-Lite description.

The plot is drawn by vl-convert, which carries Vega in its wheel: no browser and no network.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from wavescope.errors import MachineError, UsageError
from wavescope.render.roofline_vega import NamedRoofline, Spec, roofline_spec

SUFFIXES = (".html", ".svg", ".png", ".json")
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Roofline</title>
<style>body{{font-family:sans-serif;margin:1.5em}}#plot{{width:100%}}</style>
<script>{bundle}</script></head>
<body><div id="plot"></div>
<p>Scroll to zoom, drag to move, double-click to see all again; hover over a point or a line.</p>
<script>
vegaEmbed("#plot", {spec}, {{mode: "vega-lite", actions: {{export: true, source: false,
compiled: false, editor: false}}}});
</script></body></html>
"""


def write_roofline(path: Path, runs: Sequence[NamedRoofline], suffix: str) -> None:
    """Write the plot of `runs` to `path` in the format that `suffix` names."""
    if suffix == ".json":
        path.write_text(json.dumps(roofline_spec(runs, interactive=True)), encoding="utf-8")
    elif suffix == ".html":
        path.write_text(_page(roofline_spec(runs, interactive=True)), encoding="utf-8")
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


def _page(spec: Spec) -> str:
    """A page that needs nothing else; names in the data cannot end the script."""
    bundle = str(_converter().javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    data = json.dumps(spec).replace("<", "\\u003c").replace(">", "\\u003e")
    return _PAGE.format(policy=_POLICY, bundle=bundle.replace("</script", "<\\/script"), spec=data)


def _converter() -> ModuleType:
    try:
        import vl_convert  # noqa: PLC0415  optional, 30 MB
    except ImportError as error:
        raise MachineError(
            "plots need the package vl-convert-python",
            hint="pip install 'wavescope[plots]', or print the roofline as text without -o",
        ) from error
    return vl_convert
