"""What an agent that asks a model has taken: requests, tokens, time and money."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class AgentUsage(BaseModel):
    """The account of one episode. Tokens are those that the endpoint told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    requests: int = Field(ge=0, description="HTTP requests that were sent, those sent again included.")
    retries: int = Field(ge=0, description="Requests that were sent again.")
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    unmetered: int = Field(ge=0, description="Answers that told no tokens: these figures are too low by them.")
    latency_s: float = Field(ge=0, description="Seconds spent waiting for answers, pauses between retries included.")
    cost: float | None = Field(None, description="In the currency of the prices; null where no prices were given.")
    stopped: str | None = Field(None, description="Why the agent gave up, where it did.")
