"""Counters for people: tables of metrics, pages, memory charts, rooflines, an SQLite file."""
