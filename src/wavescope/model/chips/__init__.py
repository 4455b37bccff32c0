"""Chips as data: what limits occupancy, published peaks, and how long matrix instructions take.

Its modules are its doors, as those of `model` are: each reads the tables of one TOML file or two.
"""
