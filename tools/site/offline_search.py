"""Makes a built site searchable without a server: `offline_search.py SITE`.

The theme's own search fetches its index, which browsers refuse for files. The index becomes a
script that the page loads, and search.js looks through it.
"""

from __future__ import annotations

import sys
from pathlib import Path


def make_searchable(site: Path) -> None:
    """Replace the theme's search by one that works from files, too."""
    folder = site / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"const searchIndex = {index};\n", encoding="utf-8")
    script = Path(__file__).with_name("search.js").read_text(encoding="utf-8")
    (folder / "main.js").write_text(script, encoding="utf-8")
    for unused in ("search_index.json", "lunr.js", "worker.js"):
        (folder / unused).unlink(missing_ok=True)


if __name__ == "__main__":
    make_searchable(Path(sys.argv[1]))
