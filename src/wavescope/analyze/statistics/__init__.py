"""Statistics of measurements: how far a difference can be believed."""
