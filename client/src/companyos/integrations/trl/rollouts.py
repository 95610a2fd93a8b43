"""Rollouts of a model: complete episodes in parallel, turn by turn, like TRL's rollouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from companyos.integrations.session import Ending
from companyos.integrations.trl.environment import CompanyOSEnvironment
from companyos.integrations.trl.rewards import unknown_calls
from companyos.integrations.trl.spec import CompanyOSSpec, Row, prompt

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

AT_ONCE = 32
TURNS = 40
NEW_TOKENS = 256


@dataclass(frozen=True)
class PlayedRollout:
    """An episode played by a model."""

    row: Row
    ending: Ending
    unknown_calls: int
    """Number of calls of unknown tools."""
    messages: list[dict[str, Any]]


@dataclass
class _Rollout:
    environment: CompanyOSEnvironment
    row: Row
    tools: list[dict[str, Any]]
    """Tool schemas, built once because deriving them from the methods is slow."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    is_done: bool = False

    def begin(self) -> None:
        system, user = prompt()
        self.messages = [system, {**user, "content": self.environment.reset(**self.row)}]

    def act(self, message: dict[str, Any]) -> None:
        """Execute the calls of a message, and append their results."""
        self.messages.append(message)
        calls = message.get("tool_calls") or ()
        for call in calls:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            self.messages.append({"role": "tool", "name": name, "content": self._answer(name, arguments)})
        self.is_done = not calls or self.environment._session.is_over

    def _answer(self, name: str, arguments: Mapping[str, Any]) -> str:
        try:
            if name not in {tool.name for tool in self.environment._offered}:
                raise ValueError(f"Tool {name} not found.")
            return str(getattr(self.environment, name)(**arguments))
        except Exception as error:  # noqa: BLE001  # TRL returns every error of a tool to the model
            return str({"error": str(error)})

    def result(self) -> PlayedRollout:
        unknown_count = unknown_calls(self.environment, self.messages)
        return PlayedRollout(self.row, self.environment._end(), unknown_count, self.messages)


def play(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    spec: CompanyOSSpec,
    *,
    at_once: int = AT_ONCE,
    temperature: float = 0.0,
    turns: int = TURNS,
    new_tokens: int = NEW_TOKENS,
) -> Iterator[PlayedRollout]:
    """Yield the rollout of each row of the spec, greedy or sampled at a temperature; the weights do not change."""
    from transformers.utils import get_json_schema
    from trl.chat_template_utils import add_response_schema

    if getattr(tokenizer, "response_template", None) is None:
        tokenizer = add_response_schema(tokenizer)  # needed to parse tool calls; a trainer does the same
    selected = list(spec.rows)
    rows = {row["scenario"]: row for row in selected}
    schemas = {name: [get_json_schema(tool) for tool in spec.tools(row)] for name, row in rows.items()}
    pool: dict[str, list[CompanyOSEnvironment]] = {}
    was_training = model.training
    model.eval()
    for start in range(0, len(selected), at_once):
        chunk, used = selected[start : start + at_once], dict[str, int]()
        rollouts = []
        for row in chunk:
            environments, position = pool.setdefault(row["scenario"], []), used.get(row["scenario"], 0)
            if position == len(environments):
                environments.append(spec.environment(row))
            used[row["scenario"]] = position + 1
            rollouts.append(_Rollout(environments[position], row, schemas[row["scenario"]]))
        for rollout in rollouts:
            rollout.begin()
        for _ in range(turns):
            waiting = [rollout for rollout in rollouts if not rollout.is_done]
            if not waiting:
                break
            for rollout, message in zip(
                waiting, _generate_messages(model, tokenizer, waiting, temperature, new_tokens), strict=True
            ):
                rollout.act(message)
        yield from (rollout.result() for rollout in rollouts)
    model.train(was_training)


def _generate_messages(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rollouts: Sequence[_Rollout],
    temperature: float,
    max_new_tokens: int,
) -> list[dict[str, Any]]:
    """Return the next message of each rollout."""
    import torch
    from trl.chat_template_utils import parse_response

    prefixes = [
        tokenizer.apply_chat_template(
            rollout.messages, tools=rollout.tools, add_generation_prompt=True, tokenize=True, return_dict=False
        )
        for rollout in rollouts
    ]
    batch = tokenizer.pad({"input_ids": prefixes}, padding_side="left", return_tensors="pt").to(model.device)
    sampling: dict[str, Any] = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {}
    with torch.no_grad():
        generated = model.generate(
            **batch,
            max_new_tokens=max_new_tokens,
            pad_token_id=tokenizer.pad_token_id,
            **(sampling or {"do_sample": False}),
        )
    answers = generated[:, batch["input_ids"].shape[1] :].tolist()
    return [
        parse_response(tokenizer, _until_end(ids, tokenizer), prefix=prefix, tools=rollout.tools)
        for ids, prefix, rollout in zip(answers, prefixes, rollouts, strict=True)
    ]


def _until_end(ids: list[int], tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return the tokens up to and including the end of the turn."""
    end = tokenizer.eos_token_id
    return ids[: ids.index(end) + 1] if end in ids else ids
