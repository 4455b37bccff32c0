"""Asks a Dask scheduler who it is, before a client is made of its address.

A client that cannot connect tries for long, and talks when it is forgotten; one question, on a
connection and a loop of its own, is answered or not.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from wavescope.errors import MachineError

_SILENT = "is it running, and can this machine reach it? Dask's versions must agree"
_REFUSED = "tls:// needs certificates in Dask's configuration: see docs/cluster.md"


def require_scheduler(address: str, seconds: float) -> None:
    """An error unless a scheduler answers at `address` within `seconds`."""
    failures: list[Exception] = []

    def ask() -> None:
        try:
            asyncio.run(asyncio.wait_for(_identity(address, seconds), seconds))
        except Exception as error:  # noqa: BLE001  whatever else may listen there, answers anything
            failures.append(error)

    # The caller may have a loop of its own, as notebooks do.
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(2 * seconds)
    if not failures and not thread.is_alive():
        return
    reason = failures[0] if failures else TimeoutError()
    if isinstance(reason, (TypeError, ValueError)):
        raise MachineError(f"cannot connect to {address}: {reason}", hint=_REFUSED) from reason
    raise MachineError(
        f"no Dask scheduler answers at {address} within {seconds:g} s", hint=_SILENT
    ) from reason


async def _identity(address: str, seconds: float) -> Any:
    from distributed.core import connect  # noqa: PLC0415  it need not be there
    from distributed.security import Security  # noqa: PLC0415

    arguments = Security().get_connection_args("client")
    comm = await connect(address, timeout=seconds, **arguments)
    try:
        await comm.write({"op": "identity", "reply": True})
        return await comm.read()
    finally:
        comm.abort()
