"""Results for people and programs: on a terminal, as files, as pages of HTML.

`cells` spells values and lays out columns, `results` writes whole results, `html` has the parts of
pages, and the other packages put pages together.
"""
