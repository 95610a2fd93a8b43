"""The two ways of learning: from demonstrations, and from returns. Both are TRL's trainers, set up for CompanyOS."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from companyos.integrations.trl.demonstrations import Conversation
from companyos.integrations.trl.models import Learner
from companyos.integrations.trl.spec import CompanyOSSpec

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerBase, TrainerCallback

METRICS = "metrics.jsonl"

_LOSS_WINDOW = 5
"""Steps whose losses are looked at together."""

_COMMON_SETTINGS: dict[str, Any] = {
    "report_to": "none",
    "save_strategy": "no",
    "disable_tqdm": True,
    "logging_steps": 1,
}


def warm_up(
    learner: Learner,
    shown: Sequence[Conversation],
    spec: CompanyOSSpec,
    folder: Path,
    *,
    until_loss: float = 0.0,
    **settings: Any,
) -> None:
    """Let a model learn what the oracle says, and nothing else of a conversation; `settings` are SFTConfig's.

    It ends early once the loss has come down to `until_loss`.
    """
    from datasets.utils.logging import disable_progress_bar
    from trl import SFTConfig, SFTTrainer

    disable_progress_bar()
    trainer = SFTTrainer(
        learner.model,
        args=SFTConfig(str(folder), **(_COMMON_SETTINGS | _precision() | settings)),
        train_dataset=conversations(shown, learner.tokenizer, spec),
        processing_class=learner.tokenizer,
        peft_config=learner.peft_config,
        callbacks=[_metrics_writer(folder / METRICS), _early_stopping(until_loss)],
    )
    _run(trainer)
    learner.replace_model(trainer.model)


def reinforce(learner: Learner, spec: CompanyOSSpec, folder: Path, **settings: Any) -> None:
    """Let a model learn from what its episodes return; `settings` are GRPOConfig's.

    The tasks come in the order of the spec, the calmest first. Every step adds a line to `metrics.jsonl`.
    """
    from trl import GRPOConfig, GRPOTrainer

    defaults = {"max_tool_calling_iterations": spec.max_tool_calling_iterations, "shuffle_dataset": False}
    trainer = GRPOTrainer(
        learner.model,
        args=GRPOConfig(str(folder), **(_COMMON_SETTINGS | _precision() | defaults | settings)),
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=spec.reward_funcs,
        processing_class=learner.tokenizer,
        peft_config=learner.peft_config,
        callbacks=[_metrics_writer(folder / METRICS)],
    )
    _run(trainer)
    learner.replace_model(trainer.model)


def conversations(shown: Sequence[Conversation], tokenizer: PreTrainedTokenizerBase, spec: CompanyOSSpec) -> Dataset:
    """Return conversations as tokens, with a mask over what the oracle says.

    They are rendered here and not by the trainer: a table would give every call the arguments of all the others.
    """
    from datasets import Dataset
    from trl.chat_template_utils import get_training_chat_template

    template = get_training_chat_template(tokenizer) or tokenizer.chat_template
    rendered = [
        tokenizer.apply_chat_template(
            one.messages,
            tools=spec.tools(one.row),
            chat_template=template,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        for one in shown
    ]
    return Dataset.from_list([{name: list(one[name]) for name in ("input_ids", "assistant_masks")} for one in rendered])


def _run(trainer: Any) -> None:
    """Train without a word on the terminal: what there is to say is in `metrics.jsonl`."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    trainer.train()


def _precision() -> dict[str, Any]:
    """Return settings for this machine: half the width of numbers on a GPU that has it, no second forward on a CPU."""
    import torch

    if not torch.cuda.is_available():
        return {"bf16": False, "gradient_checkpointing": False}
    return {"bf16": torch.cuda.is_bf16_supported()}


def _metrics_writer(file: Path) -> TrainerCallback:
    """Return a callback that adds every line of a trainer's log to a file of JSON lines."""
    from transformers import TrainerCallback

    class _MetricsWriter(TrainerCallback):  # type: ignore[misc]  # no types come with it
        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"step": state.global_step, **(logs or {})}) + "\n")

    return _MetricsWriter()


def _early_stopping(at_loss: float) -> TrainerCallback:
    """Return a callback that ends a training once the mean of its last losses has come down so far."""
    from transformers import TrainerCallback

    class _EarlyStopping(TrainerCallback):  # type: ignore[misc]  # no types come with it
        def __init__(self) -> None:
            self._losses: deque[float] = deque(maxlen=_LOSS_WINDOW)

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
            if logs and "loss" in logs:
                self._losses.append(logs["loss"])
                if len(self._losses) == _LOSS_WINDOW and sum(self._losses) / _LOSS_WINDOW <= at_loss:
                    control.should_training_stop = True

    return _EarlyStopping()
