"""What workers send back of a rank, whole and cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sample_files import SAMPLES
from wavescope.analyze.ranks.digest import DigestOptions
from wavescope.api.rank_digests import digest_task, digests_of_file, read_digests
from wavescope.errors import UnreadableInputError


def test_an_answer_cut_anywhere_is_refused(tmp_path: Path) -> None:
    path = SAMPLES["wavescope"](tmp_path)
    answer = digests_of_file(str(path), digest_task(DigestOptions()).options)

    assert [digest.identity.rank for digest in read_digests(answer)] == [0, 1]
    for cut in (1, 7, 8, 9, 40, len(answer) - 1):
        with pytest.raises(UnreadableInputError, match="the digest of a rank"):
            read_digests(answer[:cut])


def test_a_pattern_of_bytes_that_are_no_text_reaches_workers(tmp_path: Path) -> None:
    path = SAMPLES["wavescope"](tmp_path)
    options = digest_task(DigestOptions(step_marker="step|\udcff")).options

    assert [
        digest.identity.rank for digest in read_digests(digests_of_file(str(path), options))
    ] == [0, 1]
