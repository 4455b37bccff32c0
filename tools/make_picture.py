"""Draws the README's pictures: what `wavescope summary` prints, the top of `wavescope report`, and
`wavescope view`.

All show the demo's generated trace. The lines of the first are the command's own; only findings
after the first are left out. It refers to nothing outside itself, and every word has its place and
width, whatever font there is. The others are seen by Chromium; without one they stay as they are.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

from rich.console import Console
from rich.text import Text

import wavescope
from wavescope.cli.main import main
from wavescope.collect.demo import demo_trace
from wavescope.formats.wavescope.writing import write_trace

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images" / "summary.svg"
REPORT = ROOT / "docs" / "images" / "report.webp"
VIEW = ROOT / "docs" / "images" / "view.webp"
VIEW_WIDTH, VIEW_HEIGHT, VIEW_QUALITY = 1280, 860, 70
VIEW_WINDOW = "window=146000000_152500000"
"""Decode steps, and a gap in which the host was late."""
REPORT_WIDTH, REPORT_HEIGHT, REPORT_SCALE, REPORT_QUALITY = 1280, 1620, 0.75, 60
COLUMNS = 118
SHOWN_FINDINGS = 1
COMMAND = ("summary", "trace.db", "-n", "7", "--table", "kernels", "--table", "gpus")
PROMPT = f"\x1b[32m$\x1b[0m \x1b[1mwavescope {' '.join(COMMAND)}\x1b[0m"
CHARACTER_WIDTH, LINE_HEIGHT, MARGIN, TITLE_HEIGHT = 8.4, 18, 18, 36
BACKGROUND, BAR, TEXT = "#1b1f27", "#262b36", "#d6dae2"
COLORS = {1: "#f0716a", 2: "#8fce6f", 3: "#e8b94a", 6: "#5cc5d6"}
PHRASE = re.compile(r"\S+(?: \S+)*")


def printed_summary() -> str:
    """What the command prints, with the colours of a terminal."""
    with tempfile.TemporaryDirectory() as folder:
        write_demo(Path(folder) / "trace.db")
        os.environ |= {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
        os.chdir(folder)
        buffer = io.StringIO()
        with contextlib.redirect_stdout(buffer):
            code = main([*COMMAND, "--quiet"])
    if code:
        raise SystemExit(code)
    return buffer.getvalue()


def write_demo(path: Path) -> None:
    """Write the demo's generated trace to `path`."""
    with contextlib.closing(demo_trace()) as source:
        write_trace([source], path)


def draw_report() -> None:
    """Take a picture of the report's top."""
    sys.path.insert(0, str(ROOT))
    from tests.browser import Browser, chromium_path  # noqa: PLC0415  only where there is one

    if chromium_path() is None:
        return
    with tempfile.TemporaryDirectory() as folder, Browser.started() as browser:
        os.chdir(folder)
        page = Path("report.html").absolute()
        write_demo(Path("trace.db"))
        if code := main(["report", "trace.db", "-o", page.name, "--title", "wavescope demo", "-q"]):
            raise SystemExit(code)
        view = browser.page(page.as_uri(), width=REPORT_WIDTH, height=REPORT_HEIGHT)
        view.wait("document.querySelector('.timeline').dataset.ready === 'true'")
        clip = {"x": 0, "y": 0, "width": REPORT_WIDTH, "height": REPORT_HEIGHT}
        how = {"format": "webp", "quality": REPORT_QUALITY, "captureBeyondViewport": True}
        REPORT.write_bytes(view.seen(clip={**clip, "scale": REPORT_SCALE}, **how))


def draw_view() -> None:
    """Take a picture of the viewer with some decode steps and the table of kernels."""
    from tests.browser import Browser, chromium_path  # noqa: PLC0415  only where there is one

    if chromium_path() is None:
        return
    with tempfile.TemporaryDirectory() as folder, Browser.started() as browser:
        write_demo(Path(folder, "demo.db"))
        with wavescope.open_view(Path(folder, "demo.db"), cache=False) as shown:
            address = f"{shown.address}#{VIEW_WINDOW}"
            page = browser.page(address, width=VIEW_WIDTH, height=VIEW_HEIGHT)
            page.wait("document.querySelectorAll('.label').length > 4")
            page.click("#tab-kernels")
            page.wait("document.querySelectorAll('#panel-kernels tbody tr').length > 4")
            page.value("new Promise((done) => setTimeout(done, 1000))")  # names of boxes
            VIEW.write_bytes(page.seen(format="webp", quality=VIEW_QUALITY))


def shown_lines(text: str) -> list[str]:
    """The prompt and the output up to the first findings; the rest becomes an ellipsis."""
    lines = text.splitlines()
    plain = [Text.from_ansi(line).plain for line in lines]
    first = plain.index("Findings") + 1
    starts = [i for i in range(first, len(lines)) if not plain[i].startswith(" ")]
    rest = ["..."] if len(starts) > SHOWN_FINDINGS else []
    end = starts[SHOWN_FINDINGS] if rest else len(lines)
    return [PROMPT, *lines[:end], *rest]


def words(line: str, console: Console) -> Iterator[tuple[int, str, str]]:
    """Phrases of a line: the column they start in, their text, their style in CSS."""
    column = 0
    for segment in Text.from_ansi(line).render(console):
        style = segment.style
        color = style.color.number if style and style.color else None
        css = f"fill:{COLORS[color]};" if color in COLORS else ""
        css += "font-weight:bold" if style and style.bold else ""
        for phrase in PHRASE.finditer(segment.text):
            yield column + phrase.start(), phrase.group(), css
        column += len(segment.text)


def drawn(lines: list[str]) -> str:
    """The terminal as SVG."""
    console = Console(width=COLUMNS, file=io.StringIO())
    width = round(COLUMNS * CHARACTER_WIDTH + 2 * MARGIN)
    height = TITLE_HEIGHT + len(lines) * LINE_HEIGHT + 2 * MARGIN
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'role="img" aria-label="wavescope summary in a terminal">'
        ),
        f'<rect width="{width}" height="{height}" rx="10" fill="{BACKGROUND}"/>',
        (
            f'<path d="M0 10a10 10 0 0 1 10-10h{width - 20}a10 10 0 0 1 10 10v{TITLE_HEIGHT - 10}'
            f'H0z" fill="{BAR}"/>'
        ),
    ]
    parts += [
        f'<circle cx="{20 + 20 * i}" cy="18" r="6" fill="{color}"/>'
        for i, color in enumerate((COLORS[1], COLORS[3], COLORS[2]))
    ]
    parts.append(
        f'<g fill="{TEXT}" font-size="14" xml:space="preserve" '
        "font-family=\"'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace\">"
    )
    for row, line in enumerate(lines):
        y = TITLE_HEIGHT + MARGIN + (row + 1) * LINE_HEIGHT - 5
        for column, text, css in words(line, console):
            style = f' style="{css}"' if css else ""
            parts.append(
                f'<text x="{MARGIN + column * CHARACTER_WIDTH:.1f}" y="{y}" '
                f'textLength="{len(text) * CHARACTER_WIDTH:.1f}"{style}>{escape(text)}</text>'
            )
    return "\n".join([*parts, "</g>", "</svg>", ""])


if __name__ == "__main__":
    picture = drawn(shown_lines(printed_summary()))
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(picture)
    draw_report()
    draw_view()
