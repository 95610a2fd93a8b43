"""Prompts of exported tasks, identical to those of `companyos eval --policy llm`."""

from __future__ import annotations

from companyos.exports.task_rows import TaskWithTools
from companyos.policies import TaskView
from companyos.policies.llm.prompt import system_text, task_text
from companyos_shared.streams import Stream


def prompt_texts(offered: TaskWithTools) -> tuple[str, str]:
    """Return the system prompt and the initial task text."""
    row = offered.row
    view = TaskView(
        scenario=row.scenario,
        brief=row.brief,
        company=row.company,
        acting_as=row.acting_as,
        now=row.now,
        steps_left=row.max_steps,
        tools=offered.tools,
        stream=Stream("export", row.id),
    )
    return system_text(view), task_text(view)
