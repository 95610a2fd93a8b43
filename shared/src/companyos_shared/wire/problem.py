"""Body of error responses: application/problem+json (RFC 9457) with a stable code."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

PROBLEM_MEDIA_TYPE = "application/problem+json"


class ProblemBody(BaseModel):
    """An error response. Clients may rely on `code`; `detail` states facts, never a remedy."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field("about:blank", description="URI of the problem type.")
    title: str = Field(description="Short summary of the problem type.")
    status: int = Field(ge=400, le=599, description="HTTP status.")
    code: str = Field(description="Stable problem code.")
    detail: str | None = Field(None, description="Facts about this occurrence.")
    errors: list[dict[str, Any]] | None = Field(None, description="Invalid fields with their reasons.")
