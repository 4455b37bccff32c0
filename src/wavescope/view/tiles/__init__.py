"""What a page draws of some rows: shares of classes for each pixel, and ranges one by one."""
