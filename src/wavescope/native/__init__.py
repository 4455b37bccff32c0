"""The native libraries: the only place that knows ctypes."""

from wavescope.native.library import columns_library, library_path

__all__ = ["columns_library", "library_path"]
