"""The client's README: its blocks run, its fields are the real ones."""

from __future__ import annotations

import re

from companyos.contract import EpisodeRecord, ResetOptions
from companyos.policies import Policy
from companyos.runner.episode import StepLine
from tests.architecture.sources import ROOT

README = (ROOT / "client" / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_policy_of_the_readme_is_a_policy() -> None:
    names: dict[str, object] = {}
    exec(next(block for block in BLOCKS if "class Cautious" in block), names)  # noqa: S102
    cautious = names["Cautious"]
    assert isinstance(cautious, type)
    policy: Policy = cautious()
    assert policy.name == "cautious"


def test_the_fields_named_are_those_written() -> None:
    record = ", ".join(field.alias or name for name, field in EpisodeRecord.model_fields.items())
    assert f"a line per episode: {record}" in README
    assert f"a line per step: {', '.join(StepLine.__dataclass_fields__)}" in README
    assert all(name in README for name in ResetOptions.model_fields)
