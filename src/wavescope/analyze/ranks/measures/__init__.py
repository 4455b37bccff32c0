"""Tables of a job: its ranks, clocks, collectives, steps, stages, experts and outliers."""

from wavescope.analyze.ranks.measures.all_tables import JobRows, job_rows, job_tables
from wavescope.analyze.ranks.measures.files_table import FileState
from wavescope.analyze.ranks.measures.job_measures import JobMeasures, numbers_text

__all__ = ["FileState", "JobMeasures", "JobRows", "job_rows", "job_tables", "numbers_text"]
