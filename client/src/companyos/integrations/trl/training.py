"""Training with TRL: supervised warm-up on demonstrations, and reinforcement learning from returns."""

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
"""Number of steps whose losses are averaged."""

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
    """Train a model on the oracle's messages; `settings` are SFTConfig options.

    Training stops early once the mean loss reaches `until_loss`.
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
    """Train a model on the returns of its episodes; `settings` are GRPOConfig options.

    The tasks are in the order of the spec, the lowest chaos level first. Every step appends a line to `metrics.jsonl`.
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
    """Return conversations as tokens, with a mask of the oracle's messages.

    They are rendered here instead of by the trainer, because a dataset of messages would add the arguments of all calls
    to each call.
    """
    from datasets import Dataset
    from trl.chat_template_utils import get_training_chat_template

    template = get_training_chat_template(tokenizer) or tokenizer.chat_template
    rendered = [
        tokenizer.apply_chat_template(
            conversation.messages,
            tools=spec.tools(conversation.row),
            chat_template=template,
            return_dict=True,
            return_assistant_tokens_mask=True,
        )
        for conversation in shown
    ]
    return Dataset.from_list(
        [{name: list(example[name]) for name in ("input_ids", "assistant_masks")} for example in rendered]
    )


def _run(trainer: Any) -> None:
    """Train without terminal output; the log is in `metrics.jsonl`."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    trainer.train()


def _precision() -> dict[str, Any]:
    """Return precision settings for this machine: bfloat16 on a capable GPU, no gradient checkpointing on a CPU."""
    import torch

    if not torch.cuda.is_available():
        return {"bf16": False, "gradient_checkpointing": False}
    return {"bf16": torch.cuda.is_bf16_supported()}


def _metrics_writer(file: Path) -> TrainerCallback:
    """Return a callback that appends a trainer's log to a JSON Lines file."""
    from transformers import TrainerCallback

    class _MetricsWriter(TrainerCallback):  # type: ignore[misc]  # untyped library
        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"step": state.global_step, **(logs or {})}) + "\n")

    return _MetricsWriter()


def _early_stopping(at_loss: float) -> TrainerCallback:
    """Return a callback that stops the training once the mean of recent losses reaches a threshold."""
    from transformers import TrainerCallback

    class _EarlyStopping(TrainerCallback):  # type: ignore[misc]  # untyped library
        def __init__(self) -> None:
            self._losses: deque[float] = deque(maxlen=_LOSS_WINDOW)

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
            if logs and "loss" in logs:
                self._losses.append(logs["loss"])
                if len(self._losses) == _LOSS_WINDOW and sum(self._losses) / _LOSS_WINDOW <= at_loss:
                    control.should_training_stop = True

    return _EarlyStopping()
