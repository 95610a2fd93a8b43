"""The README's training block trains; only the model and the sizes are replaced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from companyos.integrations.trl import CompanyOSSpec
from companyos.integrations.trl.demonstrations import demonstrate, essential_turns
from companyos.integrations.trl.language import ShortNames
from companyos.integrations.trl.models import TINY, load
from tests.architecture.sources import ROOT

MAX_LINES = 15
BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
BLOCK = next(block for block in BLOCKS if "GRPOTrainer" in block)
SMALLER = {
    'CompanyOSSpec(split="train", chaos=(0, 1)': 'CompanyOSSpec(URL, split="train", chaos=(0, 1), count=1',
    '"Qwen/Qwen2.5-1.5B-Instruct"': "TINY_MODEL",
    '"runs/grpo", max_steps=100, max_completion_length=12_000': "FOLDER, max_steps=1, **SMALL",
}


def test_the_training_block_is_short() -> None:
    assert len(BLOCK.splitlines()) <= MAX_LINES
    assert all(old in BLOCK for old in SMALLER)


def test_the_training_block_trains(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CompanyOSSpec(url, "train", 0, scenario="vendor_onboarding", count=2, language=ShortNames) as spec:
        shown = [one.conversation for one in demonstrate(spec, spec.rows, choose=essential_turns)]
        load(TINY, spec=spec, shown=shown).save(tmp_path / "tiny")
    small = {
        "max_completion_length": 64,
        "per_device_train_batch_size": 2,
        "num_generations": 2,
        "bf16": False,
        "report_to": "none",
    }
    block = BLOCK
    for old, new in SMALLER.items():
        block = block.replace(old, new)
    names = {"URL": url, "TINY_MODEL": str(tmp_path / "tiny"), "FOLDER": str(tmp_path), "SMALL": small}
    exec(block, names)  # noqa: S102
    assert names["trainer"].state.global_step == 1  # type: ignore[attr-defined]
