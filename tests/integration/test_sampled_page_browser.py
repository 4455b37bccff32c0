"""The timeline of a sampled trace in a real browser: what was not recorded does not look idle."""

from __future__ import annotations

from pathlib import Path

from tests.browser import Browser
from tests.builders import a_trace
from tests.sample_files import write_as
from wavescope.cli.main import main

READY = "document.querySelector('.timeline').dataset.ready === 'true'"
COLOURS = """((share) => {
  const canvas = document.querySelector('.timeline canvas');
  const scale = canvas.width / canvas.clientWidth;
  const left = 118 * scale;
  const x = Math.round(left + share * (canvas.width - left));
  const pixels = canvas.getContext('2d').getImageData(x, canvas.height - 34 * scale, 12, 24).data;
  const found = new Set();
  for (let i = 0; i < pixels.length; i += 4) found.add(pixels.slice(i, i + 3).join());
  return found.size;
})"""


def test_time_outside_of_slices_is_hatched(browser: Browser, tmp_path: Path) -> None:
    maker = a_trace().with_process(10, start_ns=0, end_ns=2_000_000)
    maker.with_slice(0, 500_000).with_slice(1_500_000, 2_000_000)
    maker.with_kernel("gemm", 0, 100_000).with_kernel("gemm", 1_900_000, 2_000_000)
    page = tmp_path / "page.html"
    trace = write_as(maker, tmp_path / "trace.db")
    assert main(["report", str(trace), "-o", str(page), "-q"]) == 0

    view = browser.page(page.as_uri())
    view.wait(READY)

    assert view.complaints() == []
    assert view.value(f"{COLOURS}(0.15)") == 1  # idle in a slice
    assert view.value(f"{COLOURS}(0.5)") == 2  # unknown
    assert view.value(f"{COLOURS}(0.85)") == 1
