"""Checks of the usage of a model against the stored messages, the steps and the prices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from companyos.errors import first_validation_error
from companyos.policies.llm.calls import tool_calls
from companyos.policies.llm.settings import token_cost
from companyos.runner.episode import GIVE_UP
from companyos.schemas import AgentUsage

_LATENCY_DIGITS_S = 0.001
_COST_TOLERANCE = 1e-6


class _Answer(BaseModel):
    """A line of the messages with an answer of the model."""

    model_config = ConfigDict(strict=True)

    message: dict[str, Any]
    prompt_tokens: int | None = Field(None, ge=0)
    completion_tokens: int | None = Field(None, ge=0)
    cached_tokens: int = Field(0, ge=0)
    cache_write_tokens: int = Field(0, ge=0)
    latency_s: float = Field(0.0, ge=0, allow_inf_nan=False)


def usage_faults(
    usage: AgentUsage | None, messages: Path, steps: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the contradictions between the usage of an episode, its messages and its steps.

    The tokens must equal those of the model's answers, and the steps must be their tool calls in order. If the settings
    of the policy contain prices, the cost must equal tokens times prices.
    """
    if usage is None:
        if messages.exists():
            yield f"usage is missing, but {messages.parent.name}/{messages.name} exists"
        return
    try:
        answers = _read_answers(messages)
    except (OSError, ValueError) as error:
        yield f"{messages.parent.name}/{messages.name}{error if isinstance(error, ValueError) else ': missing'}"
        return
    stated = {
        "prompt_tokens": (usage.prompt_tokens, sum(answer.prompt_tokens or 0 for answer in answers)),
        "completion_tokens": (usage.completion_tokens, sum(answer.completion_tokens or 0 for answer in answers)),
        "cached_tokens": (usage.cached_tokens, sum(answer.cached_tokens for answer in answers)),
        "cache_write_tokens": (usage.cache_write_tokens, sum(answer.cache_write_tokens for answer in answers)),
        "unmetered": (usage.unmetered, sum(None in (one.prompt_tokens, one.completion_tokens) for one in answers)),
    }
    for name, (got, counted) in stated.items():
        if got != counted:
            yield f"usage.{name} is {got}; the messages add up to {counted}"
    waited = sum(answer.latency_s for answer in answers)
    if usage.latency_s < waited - _LATENCY_DIGITS_S * (len(answers) + 1):
        yield f"usage.latency_s is {usage.latency_s:g}; the messages add up to {waited:g}"
    if usage.requests < len(answers):
        yield f"usage.requests is {usage.requests}; the messages have {len(answers)} answers"
    yield from _cost_faults(usage, settings)
    yield from _call_faults(answers, steps)


def _read_answers(file: Path) -> list[_Answer]:
    """Return the answers of the model. Raises OSError, and ValueError whose text starts with `:` and the line."""
    answers = []
    for number, text in enumerate(file.read_bytes().splitlines(), start=1):
        try:
            line = json.loads(text)
            if line["kind"] == "answer":
                answers.append(_Answer.model_validate(line))
        except ValidationError as error:
            raise ValueError(f":{number}: {first_validation_error(error)}") from None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(f":{number}: {type(error).__name__}: {error}") from None
    return answers


def _cost_faults(usage: AgentUsage, settings: Mapping[str, Any]) -> Iterator[str]:
    match settings:
        case {"price_in": int() | float() as price_in, "price_out": int() | float() as price_out}:
            counts = (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.cache_write_tokens)
            cached_prices = (_price(settings, "price_cached"), _price(settings, "price_cache_write"))
            cost = token_cost((price_in, price_out), cached_prices, *counts)
            if usage.cost is None or not isclose(usage.cost, cost, abs_tol=_COST_TOLERANCE):
                yield f"usage.cost is {usage.cost}; tokens and prices give {cost:g}"


def _price(settings: Mapping[str, Any], name: str) -> float | None:
    price = settings.get(name)
    return price if isinstance(price, int | float) else None


def _call_faults(answers: Sequence[_Answer], steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the first step that is neither the model's next tool call nor the runner's end of an abandoned episode."""
    calls = iter([call for answer in answers for call in tool_calls(answer.message)])
    for number, step in enumerate(steps, start=1):
        call = next(calls, None)
        taken = (step["tool"], step["arguments"])
        is_given_up = number == len(steps) and taken == ("finish", GIVE_UP)
        if (call is None or taken != (call.tool, call.arguments)) and not is_given_up:
            yield f"step {number} is a call of {step['tool']} that the messages do not contain"
            return
