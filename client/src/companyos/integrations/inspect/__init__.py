"""CompanyOS for Inspect AI: `inspect eval companyos/tasks --model ... -T split=test`."""

from companyos.extras import require_extra

with require_extra("inspect_ai", "inspect"):
    import inspect_ai  # noqa: F401

from companyos.integrations.inspect.task import PlayedSample, play, score_episode, tasks

__all__ = ["PlayedSample", "play", "score_episode", "tasks"]
