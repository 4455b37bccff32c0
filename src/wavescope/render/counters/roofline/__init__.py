"""Draws rooflines: with characters, or as plots in files."""

from __future__ import annotations

from wavescope.render.counters.roofline.plot import SUFFIXES, write_roofline
from wavescope.render.counters.roofline.text import roofline_lines

__all__ = ["SUFFIXES", "roofline_lines", "write_roofline"]
