"""Host calls as analyses speak of them: which lies in which, what they were given, what they are.

Its modules are its doors, as those of `analyze/ops` are.
"""
