"""Gymnasium ids of the scenarios of a server."""

from __future__ import annotations

import gymnasium
from browsergym.core.registration import register_task

from companyos.integrations.browsergym.task import CompanyOSTask, local_server
from companyos.integrations.page_episode import HttpTrainer


def register_scenarios(url: str | None = None, *, token: str | None = None) -> list[str]:
    """Register `browsergym/companyos.NAME` for every scenario of a server, by default the local one; return the ids.

    Each id accepts the arguments of CompanyOSTask except `scenario`; `url` and `token` default to those given here.
    Raises ApiError and ConnectionError.
    """
    trainer = HttpTrainer(*((url, token) if url is not None else local_server()))
    try:
        names = trainer.scenarios()
    finally:
        trainer.close()
    tasks = {f"{CompanyOSTask.get_task_id()}.{name}": name for name in names}
    for task_id, name in tasks.items():
        gymnasium.registry.pop(f"browsergym/{task_id}", None)
        register_task(task_id, CompanyOSTask, {"scenario": name}, default_task_kwargs={"url": url, "token": token})
    return [f"browsergym/{task_id}" for task_id in tasks]
