"""HTTP on the loopback interface, for one user with the right address and nobody else."""

from wavescope.view.server.server import ViewServer

__all__ = ["ViewServer"]
