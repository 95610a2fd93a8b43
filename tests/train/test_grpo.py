"""Two GRPO steps through a live gateway: a tiny model, real rollouts over a real WebSocket, and changed weights."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from companyos.integrations.trl import CompanyOSSpec
from companyos.integrations.trl.curves import PANELS, draw_curves, read_curve
from companyos.integrations.trl.demonstrations import (
    Conversation,
    demonstrate,
    essential_turns,
    read_conversations,
    write_conversations,
)
from companyos.integrations.trl.language import ShortNames
from companyos.integrations.trl.models import TINY, load
from companyos.integrations.trl.rollouts import play
from companyos.integrations.trl.training import METRICS, conversations, reinforce, warm_up
from tests.architecture.sources import ROOT

SCENARIO = "bug_escalation"
FORM = "approvalflow_get_approval_type"
WARM: dict[str, Any] = {"max_steps": 60, "learning_rate": 6e-3, "lr_scheduler_type": "constant", "warmup_steps": 0}


@pytest.fixture(scope="module")
def shown(url: str) -> list[Conversation]:
    with CompanyOSSpec(url, chaos=0, scenario=SCENARIO, seeds=range(4), language=ShortNames) as spec:
        return [one.conversation for one in demonstrate(spec, spec.rows, choose=essential_turns)]


def test_demonstrations_of_the_oracle_contain_the_required_calls_in_short_names(shown: list[Conversation]) -> None:
    assert len(shown) == 4
    for one in shown:
        calls = [call["function"] for message in one.messages for call in message.get("tool_calls", ())]
        assert len(calls) < 24
        assert calls[0] == {"name": "ticketdesk_get_ticket", "arguments": {"key": "#task1"}}
        assert one.messages[-2]["content"] == '{"done":true}'
        assert not re.search(r"[A-Z]+-\d", one.messages[1]["content"])
        reads = [call for call in calls if "_get_" in call["name"]]
        assert not re.search(r"[A-Z]+-\d", json.dumps(reads)), "the model cannot look up an id that it was not told"
        (form,) = (message["content"] for message in one.messages if message.get("name") == FORM)
        (request,) = (call["arguments"] for call in calls if call["name"] == "approvalflow_submit_approval")
        assert list(request["fields"]) == json.loads(form)["fields"]


def test_conversations_and_curves_with_line_separators_are_read_as_written(tmp_path: Path) -> None:
    shown = [Conversation({"seed": 1}, [{"role": "user", "content": "a\u2028b\x85c"}])]
    write_conversations(tmp_path / "shown.jsonl", shown)
    assert read_conversations(tmp_path / "shown.jsonl") == shown
    (tmp_path / METRICS).write_text('{"reward": 1.0, "step": 2, "note": "a\u2028b"}\n', encoding="utf-8")
    assert read_curve(tmp_path / METRICS) == [{"reward": 1.0, "step": 2}]


def test_two_steps_of_grpo_change_the_weights_and_record_the_training_stages(
    url: str, shown: list[Conversation], tmp_path: Path
) -> None:
    with CompanyOSSpec(url, chaos=0, scenario=SCENARIO, seeds=range(4), language=ShortNames) as spec:
        learner = load(TINY, seed=1, spec=spec, shown=shown)
        tokens = conversations(shown, learner.tokenizer, spec)
        assert all(0 < sum(one["assistant_masks"]) < len(one["input_ids"]) < 800 for one in tokens)
        warm_up(learner, shown, spec, tmp_path / "sft", seed=1, **WARM)
        before = [one.detach().clone() for one in learner.model.parameters()]
        size = {"per_device_train_batch_size": 4, "num_generations": 4, "max_completion_length": 400}
        reinforce(learner, spec, tmp_path, max_steps=2, max_tool_calling_iterations=6, seed=1, **size)
        played = list(play(learner.model, learner.tokenizer, spec, turns=4, new_tokens=48))
    assert any(not torch.equal(one, now) for one, now in zip(before, learner.model.parameters(), strict=True))
    assert len(played) == 4
    assert all(one.ending.return_ <= 25 for one in played)
    lines = [json.loads(line) for line in (tmp_path / METRICS).read_text().splitlines()]
    assert lines[0]["num_tokens"] < 4 * 1_000  # the repeated part of every prompt is one token there, too
    assert lines[0]["tools/call_frequency"] > 0
    curve = read_curve(tmp_path / METRICS)
    assert [point["step"] for point in curve] == [1, 2]
    assert all({panel.figure for panel in PANELS} <= point.keys() for point in curve)
    draw_curves({"one": curve, "two": curve}, tmp_path / "curves.png", title="Two steps")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


def test_a_saved_model_uses_its_trained_tokenizer(url: str, shown: list[Conversation], tmp_path: Path) -> None:
    with CompanyOSSpec(url, chaos=0, scenario=SCENARIO, seeds=range(4), language=ShortNames) as spec:
        learner = load(TINY, seed=1, spec=spec, shown=shown)
        learner.save(tmp_path)
        kept = load(tmp_path, spec=spec)
        before, after = (conversations(shown, one.tokenizer, spec).to_list() for one in (learner, kept))
    assert before == after


def example() -> ModuleType:
    found = importlib.util.spec_from_file_location("train_grpo", ROOT / "examples" / "train_grpo.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_help_of_the_example_describes_every_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train_grpo.py", "--help"])
    with pytest.raises(SystemExit):
        example().main()
    shown = capsys.readouterr().out
    assert "make train-setup" in shown
    options = re.findall(r"^  (--\w.*(?:\n {10,}.*)*)", shown, re.MULTILINE)
    assert len(options) > 5
    assert all("(default:" in option for option in options)


def test_the_example_trains_on_the_oracle_and_on_returns_and_is_evaluated(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, out = example(), ["--url", url, "--model", TINY, "--out", str(tmp_path), "--episodes", "4"]
    for command in (["sft", "--steps", "20"], ["grpo", "--steps", "1", "--batch", "8"], ["eval"]):
        monkeypatch.setattr(sys, "argv", ["train_grpo.py", *command, *out])
        module.main()
    lines = [json.loads(line) for line in (tmp_path / "eval.jsonl").read_text().splitlines()]
    assert [line["seed"] for line in lines] == [0, 1, 2, 3]
    assert (tmp_path / "curves.png").exists()
