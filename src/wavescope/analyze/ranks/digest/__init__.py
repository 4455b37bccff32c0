"""What of one rank's trace the comparison of ranks needs, small enough to travel.

More than six names go out: a digest is a record of tables, and each is read elsewhere.
"""

from wavescope.analyze.ranks.digest.coding import UnreadableDigestError, decoded, encoded
from wavescope.analyze.ranks.digest.digest_options import DigestOptions
from wavescope.analyze.ranks.digest.joined_digests import joined
from wavescope.analyze.ranks.digest.making import digests_of
from wavescope.analyze.ranks.digest.rank_digest import (
    UNKNOWN,
    CollectiveRows,
    CollectiveUse,
    Group,
    KernelTotal,
    RankDigest,
    RankIdentity,
    StepRows,
    TimeBins,
)

__all__ = [
    "UNKNOWN",
    "CollectiveRows",
    "CollectiveUse",
    "DigestOptions",
    "Group",
    "KernelTotal",
    "RankDigest",
    "RankIdentity",
    "StepRows",
    "TimeBins",
    "UnreadableDigestError",
    "decoded",
    "digests_of",
    "encoded",
    "joined",
]
