"""What a page draws of some rows: shares of classes for each pixel, and ranges one by one."""

from wavescope.view.tiles.question import names, tiles

__all__ = ["names", "tiles"]
