"""Chips as data: what limits occupancy, published peaks, and how long matrix instructions take."""
