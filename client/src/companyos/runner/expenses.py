"""What the episodes of policies that ask a model have taken together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from companyos.contract import EpisodeRecord


@dataclass(frozen=True, kw_only=True)
class Expenses:
    """Sums over the episodes that have an account; the cost is None where one of them has none."""

    model: str
    episodes: int
    requests: int
    retries: int
    prompt_tokens: int
    completion_tokens: int
    unmetered: int
    latency_s: float
    cost: float | None
    gave_up: int


def expenses(records: Sequence[EpisodeRecord]) -> list[Expenses]:
    """Return the sums of each model, in the order in which the models first come."""
    accounts = [record.usage for record in records if record.usage is not None]
    summed = []
    for model in dict.fromkeys(account.model for account in accounts):
        own = [account for account in accounts if account.model == model]
        costs = [account.cost for account in own if account.cost is not None]
        summed.append(
            Expenses(
                model=model,
                episodes=len(own),
                requests=sum(account.requests for account in own),
                retries=sum(account.retries for account in own),
                prompt_tokens=sum(account.prompt_tokens for account in own),
                completion_tokens=sum(account.completion_tokens for account in own),
                unmetered=sum(account.unmetered for account in own),
                latency_s=sum(account.latency_s for account in own),
                cost=sum(costs) if len(costs) == len(own) else None,
                gave_up=sum(account.stopped is not None for account in own),
            )
        )
    return summed
