"""What `wavescope view` shows in a browser: traces as rows of lanes, drawn exactly at every zoom.

`opening/` reads traces while they are looked at, `rows/` and `lanes/` hold what is drawn, `tiles/`
answers what a page draws next, `colouring/` says in which colours, `answers/` has a module for each
other question of the page, `parts/` reads the rows that these need from the file, and `server/`
speaks HTTP on the loopback interface only.
"""
