"""CompanyOS for Inspect AI: `inspect eval companyos/tasks --model ... -T split=test`."""

from companyos.integrations.missing import needs

with needs("inspect_ai", "inspect"):
    import inspect_ai  # noqa: F401

from companyos.integrations.inspect.scoring import score_episode
from companyos.integrations.inspect.solving import PlayedSample, play
from companyos.integrations.inspect.tasks import tasks

__all__ = ["PlayedSample", "play", "score_episode", "tasks"]
