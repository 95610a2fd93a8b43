"""The body of every refusal: application/problem+json (RFC 9457) with a stable code."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

PROBLEM_MEDIA_TYPE = "application/problem+json"


class ProblemBody(BaseModel):
    """A refusal. `code` is the contract; `detail` states the fact and never the remedy."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field("about:blank", description="A URI of the kind of problem.")
    title: str = Field(description="The kind of problem in a few words.")
    status: int = Field(ge=400, le=599, description="The HTTP status.")
    code: str = Field(description="The stable code of the problem.")
    detail: str | None = Field(None, description="What is so in this case.")
    errors: list[dict[str, Any]] | None = Field(None, description="The places that do not fit, for invalid input.")
