"""The parts that pages are made of: markup, charts, tables, timelines, and the page around them.

Its modules are its doors; `write_page` writes what they make.
"""
