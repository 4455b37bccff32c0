"""Results that a command wrote with --json, read back."""

from wavescope.formats.results.reader import json_document, load_result

__all__ = ["json_document", "load_result"]
