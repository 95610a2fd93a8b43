"""The policy `llm`: calls a model with tools, over chat completions, the Responses API or the Messages API."""

from companyos.policies.llm.policy import LlmPolicy
from companyos.policies.llm.settings import InvalidSettingsError, LlmSettings

__all__ = ["InvalidSettingsError", "LlmPolicy", "LlmSettings"]
