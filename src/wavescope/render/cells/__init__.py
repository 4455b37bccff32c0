"""Values and columns as text: units, alignment, and nothing that a terminal would act on.

Its modules are its doors.
"""
