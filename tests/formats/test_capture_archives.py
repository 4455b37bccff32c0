"""Captures inside zip and tar archives are read without being unpacked."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capture_folders import a_capture, step
from wavescope.errors import UnreadableInputError
from wavescope.formats.captures import find_captures, load_capture
from wavescope.formats.captures.file_tree import safe_name


def a_folder(tmp_path: Path) -> Path:
    return (
        a_capture()
        .with_source("/k.py", "load()\n")
        .with_code(("s_load_dword s0, s[2:3], 0x0", "/k.py:1"), "s_waitcnt lgkmcnt(0)")
        .with_wave([step(1), step(2, stall=30)])
        .with_kernel_row(VGPR_Count=32)
        .write(tmp_path / "capture")
    )


def packed(parent: Path, target: Path, kind: str) -> Path:
    files = sorted(path for path in parent.rglob("*") if path.is_file())
    if kind == "zip":
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.write(path, str(path.relative_to(parent)))
    else:
        with tarfile.open(target, kind) as archive:
            for path in files:
                archive.add(path, str(path.relative_to(parent)))
    return target


@pytest.mark.parametrize("kind", ["zip", "w", "w:gz", "w:xz"])
def test_an_archive_gives_what_its_folder_gives(tmp_path: Path, kind: str) -> None:
    folder = a_folder(tmp_path)
    archive = packed(folder.parent, tmp_path / "packed", kind)

    (location,) = find_captures([archive])
    capture = load_capture(location)

    assert location.name == folder.name
    assert capture.facts.dispatch_id == 1
    assert capture.instructions.stall.tolist() == [0, 0, 30]
    assert capture.waves.stall.tolist() == [0, 30]
    assert capture.sources["/k.py"].lines == ["load()"]
    assert capture.kernel_facts is not None
    assert capture.kernel_facts.vgpr_count == 32
    assert sorted(path.name for path in tmp_path.iterdir()) == ["capture", "packed"]


def test_members_that_lead_outside_and_links_are_not_listed(tmp_path: Path) -> None:
    target = tmp_path / "evil.tar"
    with tarfile.open(target, "w") as archive:
        for name in ("../code.json", "/code.json", "ok/code.json"):
            member = tarfile.TarInfo(name)
            member.size = 2
            archive.addfile(member, io.BytesIO(b"{}"))
        link = tarfile.TarInfo("ok/link.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)

    (location,) = find_captures([target])

    assert location.tree.sizes == {"ok/code.json": 2}


def test_a_member_without_a_name_is_not_listed(tmp_path: Path) -> None:
    target = tmp_path / "damaged.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("ok/code.json", b"{}")
        archive.writestr("x", b"")
    content = bytearray(target.read_bytes())
    place = content.rindex(b"PK\x01\x02")
    content[place + 46 : place + 47] = b"\0"  # where the list of members has its name
    target.write_bytes(content)

    (location,) = find_captures([target])

    assert location.tree.sizes == {"ok/code.json": 2}


def test_too_large_and_damaged_archives_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = packed(a_folder(tmp_path).parent, tmp_path / "packed.zip", "zip")
    data = archive.read_bytes()
    monkeypatch.setenv("WAVESCOPE_MAX_UNPACKED", "100")
    with pytest.raises(UnreadableInputError, match="unpack to more than 100 B"):
        find_captures([archive])
    monkeypatch.undo()

    archive.write_bytes(data[:-30])
    with pytest.raises(UnreadableInputError):
        find_captures([archive])
    (tmp_path / "text.zip").write_text("not an archive")
    with pytest.raises(UnreadableInputError, match="neither a folder nor a zip") as raised:
        find_captures([tmp_path / "text.zip"])
    assert "name a folder such as" in raised.value.hint


def test_a_member_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "capture.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("b\u00e9", b"x")
    target.write_bytes(target.read_bytes().replace("b\u00e9".encode(), b"b\xe9x"))

    with pytest.raises(UnreadableInputError, match=r"damaged archive: .*can't decode byte 0xe9"):
        find_captures([target])


def test_a_member_larger_than_stated_is_not_read_whole(tmp_path: Path) -> None:
    target = tmp_path / "bomb.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("code.json", b"0" * 1_000_000)
    (location,) = find_captures([target])

    with pytest.raises(UnreadableInputError, match="at most 1,000 are accepted"):
        location.tree.read("code.json", 1000)


@pytest.mark.parametrize("seed", range(6))
def test_spoiled_archives_never_raise_anything_else(tmp_path: Path, seed: int) -> None:
    for kind in ("zip", "w:gz"):
        archive = packed(a_folder(tmp_path / kind[0]).parent, tmp_path / f"{kind[0]}.bin", kind)
        data = bytearray(archive.read_bytes())
        for place in range(seed * 17 + 5, len(data), 97):
            data[place] ^= 0x5A
        archive.write_bytes(data)
        try:
            for location in find_captures([archive]):
                load_capture(location)
        except UnreadableInputError:
            pass


@settings(max_examples=200)
@given(st.text("./\\a\0", max_size=12), st.sampled_from(["", "a", "a/a"]))
def test_safe_names_stay_in_the_folder(local: str, folder: str) -> None:
    name = safe_name(folder, local)

    if name is not None:
        assert not name.startswith(("/", "../"))
        assert name != ".."
        assert not folder or name.startswith(f"{folder}/")
