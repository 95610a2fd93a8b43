"""The policy that asks a model: any endpoint that speaks OpenAI's chat completions with tools."""

from companyos.policies.llm.policy import LlmPolicy
from companyos.policies.llm.settings import DEFAULT_BASE_URL, InvalidSettingsError, LlmSettings

__all__ = ["DEFAULT_BASE_URL", "InvalidSettingsError", "LlmPolicy", "LlmSettings"]
