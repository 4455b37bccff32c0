"""What hardware counters mean: metrics, panels, rooflines, and which runs collect them.

`catalogue` has the metrics of a chip, `report` the analysis of a workload, `profile_plan` the runs.
"""
