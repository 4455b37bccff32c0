"""A result as text for a terminal, Markdown, CSV or JSON; and rows of a query, which may be many.

Its modules are its doors, so that a command loads only the format that is asked for.
"""
