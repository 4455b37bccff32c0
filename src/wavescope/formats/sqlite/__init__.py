"""SQLite for readers and writers of formats: columns as arrays, bulk writing, rows by key.

A box of tools: its modules are its doors.
"""
