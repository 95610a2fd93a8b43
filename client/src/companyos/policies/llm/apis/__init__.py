"""The formats of model APIs. A conversation is stored as chat completions messages; each module translates them."""

from __future__ import annotations

from collections.abc import Mapping

from companyos.policies.llm.apis import anthropic, chat, responses
from companyos.policies.llm.apis.api import Answer, Api, Tokens, UnusableAnswerError

APIS: Mapping[str, Api] = {"chat": chat, "responses": responses, "anthropic": anthropic}

__all__ = ["APIS", "Answer", "Api", "Tokens", "UnusableAnswerError"]
