"""The policy `llm`: calls a model behind an OpenAI-compatible chat completions endpoint with tools."""

from companyos.policies.llm.policy import LlmPolicy
from companyos.policies.llm.settings import DEFAULT_BASE_URL, InvalidSettingsError, LlmSettings

__all__ = ["DEFAULT_BASE_URL", "InvalidSettingsError", "LlmPolicy", "LlmSettings"]
