"""Session folders: what collectors write while a program runs, and what recorders do with it.

`layout` says what the files hold, `record_file` reads one, `folder` knows which there are, and
`reading` makes a trace of them.
"""
