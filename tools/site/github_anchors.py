"""A hook of mkdocs: headings get the anchors that forges give them, which links of pages name."""

from __future__ import annotations

import re
from typing import Any


def anchor(heading: str, _separator: str = "-") -> str:
    """The anchor of a heading: small letters, no punctuation, a hyphen for each space."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def on_config(config: Any) -> Any:
    """Called by mkdocs with its configuration."""
    config["mdx_configs"].setdefault("toc", {})["slugify"] = anchor
    return config
