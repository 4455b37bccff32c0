"""Counters of a program, collected with rocprofv3 pass by pass into a workload folder."""
