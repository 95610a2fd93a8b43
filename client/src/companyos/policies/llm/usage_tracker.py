"""Tracks usage and transcript of one episode."""

from __future__ import annotations

from typing import Any

from companyos.policies.llm.apis import Answer
from companyos.policies.llm.endpoint import Endpoint
from companyos.policies.llm.settings import LlmSettings
from companyos.schemas import AgentUsage

SECONDS_DIGITS = 3
COST_DIGITS = 9


class UsageTracker:
    """Adds up the usage of responses, and stores every message in both directions."""

    def __init__(self, settings: LlmSettings) -> None:
        self.transcript: list[dict[str, Any]] = []
        self.stopped: str | None = None
        self._settings = settings
        self._prompt_tokens = 0
        self._completion_tokens = 0
        self._cached_tokens = 0
        self._cache_write_tokens = 0
        self._reasoning_tokens = 0
        self._unmetered = 0
        self._answers = 0
        self._dropped_results = 0
        self._dropped_turns = 0
        self._first_drop: int | None = None

    def begin(self, tools: list[dict[str, Any]]) -> None:
        """Record the fields that all requests of the episode share."""
        self.transcript.append({"kind": "settings", **self._settings.to_json(), "tools": tools})

    def message(self, message: dict[str, Any]) -> None:
        """Record a message to the model."""
        self.transcript.append({"kind": "message", "message": message})

    def answer(self, answer: Answer, latency_s: float) -> None:
        """Record a response of the model and its usage."""
        tokens = answer.tokens
        if tokens.prompt is None or tokens.completion is None:
            self._unmetered += 1
        self._answers += 1
        self._prompt_tokens += tokens.prompt or 0
        self._completion_tokens += tokens.completion or 0
        self._cached_tokens += tokens.cached
        self._cache_write_tokens += tokens.cache_written
        self._reasoning_tokens += tokens.reasoning
        self.transcript.append(
            {
                "kind": "answer",
                "message": answer.message,
                "finish_reason": answer.finish_reason,
                "prompt_tokens": tokens.prompt,
                "completion_tokens": tokens.completion,
                "cached_tokens": tokens.cached,
                "cache_write_tokens": tokens.cache_written,
                "reasoning_tokens": tokens.reasoning,
                "latency_s": round(latency_s, SECONDS_DIGITS),
            }
        )

    def dropped(self, results: int, turns: int) -> None:
        """Record the numbers of tool results and turns dropped from the conversation."""
        self._dropped_results += results
        self._dropped_turns += turns
        self._first_drop = self._first_drop or self._answers + 1
        self.transcript.append({"kind": "dropped", "results": results, "turns": turns})

    def failed(self, reason: str) -> None:
        """Record a failure of the endpoint."""
        self.transcript.append({"kind": "failed", "why": reason})

    def stop(self, reason: str) -> None:
        """Record that the agent abandons the episode."""
        self.stopped = reason
        self.transcript.append({"kind": "stopped", "why": reason})

    def limit_reached(self) -> str | None:
        """Return a text that names the reached limit of the episode; None if none is reached."""
        limits, tokens = self._settings, self._prompt_tokens + self._completion_tokens
        cost = self._cost()
        if limits.max_tokens is not None and tokens >= limits.max_tokens:
            return f"the episode has used {tokens:,} of at most {limits.max_tokens:,} tokens"
        if limits.max_cost is not None and cost is not None and cost >= limits.max_cost:
            return f"the episode has cost {cost:,.4f} of at most {limits.max_cost:,.4f}"
        return None

    def usage(self, endpoint: Endpoint) -> AgentUsage:
        """Return the usage so far."""
        cost = self._cost()
        return AgentUsage(
            model=self._settings.label,
            requests=endpoint.requests,
            retries=endpoint.retries,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._completion_tokens,
            cached_tokens=self._cached_tokens,
            cache_write_tokens=self._cache_write_tokens,
            reasoning_tokens=self._reasoning_tokens,
            unmetered=self._unmetered,
            latency_s=round(endpoint.latency_s, SECONDS_DIGITS),
            cost=None if cost is None else round(cost, COST_DIGITS),
            stopped=self.stopped,
            dropped_results=self._dropped_results,
            dropped_turns=self._dropped_turns,
            first_drop=self._first_drop,
        )

    def _cost(self) -> float | None:
        return self._settings.cost(
            self._prompt_tokens,
            self._completion_tokens,
            cached=self._cached_tokens,
            cache_written=self._cache_write_tokens,
        )
