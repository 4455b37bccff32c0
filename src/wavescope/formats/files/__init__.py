"""Files whatever their format: bytes in, bytes out, and an output put in its place when whole."""

from wavescope.formats.files.byte_stream import GZIP_MAGIC, ByteStream, opened_output
from wavescope.formats.files.output import replaced, require_free

__all__ = ["GZIP_MAGIC", "ByteStream", "opened_output", "replaced", "require_free"]
