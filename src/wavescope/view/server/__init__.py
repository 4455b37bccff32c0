"""HTTP on the loopback interface, for one user with the right address and nobody else."""

from wavescope.view.server.server import ViewServer
from wavescope.view.server.site import OnBug, tell_no_bug

__all__ = ["OnBug", "ViewServer", "tell_no_bug"]
