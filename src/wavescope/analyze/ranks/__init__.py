"""Many ranks of one job: what each digest of a rank says, and what they say together.

A rank's trace is read where it lies and becomes a `RankDigest` of some 100 kB (`digest/`); only
digests travel. Together they are a `Job` (`job/`): collectives matched across ranks and one
common clock. Everything else is a pure function of a job.
"""
