"""Workflow and templates of the forge parse, and ask `make` for what it has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FORGE = ROOT / ".github"
WORKFLOW = yaml.safe_load((FORGE / "workflows" / "ci.yml").read_text(encoding="utf-8"))
FORMS = sorted((FORGE / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
KINDS = {"textarea", "dropdown", "checkboxes", "input", "markdown"}


def steps() -> list[dict[str, Any]]:
    return [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]


def make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE))


def test_the_workflow_runs_targets_that_make_has() -> None:
    runs = [step["run"] for step in steps() if "run" in step]
    asked = {run.removeprefix("make ") for run in runs if run.startswith("make ")}

    assert asked == {"lint", "test-quick", "test", "demo", "wheels", "site"}
    assert asked <= make_targets()


def test_the_workflow_takes_every_python_and_has_no_rights() -> None:
    pythons = {str(job.get("with", {}).get("python-version")) for job in steps()}
    pythons |= set(WORKFLOW["jobs"]["test-quick"]["strategy"]["matrix"]["python"])

    assert {"3.10", "3.11", "3.12", "3.13"} <= pythons
    assert WORKFLOW["permissions"] == {"contents": "read"}


def test_the_workflow_uses_actions_of_a_stated_version_by_their_makers_alone() -> None:
    used = {step["uses"] for step in steps() if "uses" in step}

    assert used
    assert [
        use for use in used if not re.fullmatch(r"actions/[a-z-]+@(v\d+|[0-9a-f]{40})", use)
    ] == []


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_forms_of_issues_are_whole(form: Path) -> None:
    content = yaml.safe_load(form.read_text(encoding="utf-8"))

    assert content["name"]
    assert content["description"]
    names = [field["id"] for field in content["body"]]
    assert len(set(names)) == len(names)
    assert {field["type"] for field in content["body"]} <= KINDS
    assert all(field["attributes"]["label"] for field in content["body"])


def test_there_are_forms_for_both_kinds_of_issue() -> None:
    assert [form.stem for form in FORMS] == ["bug", "feature"]


def test_targets_of_the_template_for_pull_requests_exist() -> None:
    text = (FORGE / "pull_request_template.md").read_text(encoding="utf-8")

    assert set(re.findall(r"`make ([a-z-]+)", text)) <= make_targets()


def test_quick_tests_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    quick = re.search(r"^QUICK := (.*)$", makefile, re.MULTILINE)[1].split()
    named = [path for path in quick if path.startswith("tests/") and "*" not in path]

    assert len(named) > 8
    assert [path for path in named if not (ROOT / path).exists()] == []
