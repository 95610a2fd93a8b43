"""TRL environment: one rollout at a time, tools as public methods, JSON text as results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from companyos.contract import CompanyOSResetObservation, ToolSpec
from companyos.integrations.session import Ending, Session
from companyos.integrations.signatures import tool_method
from companyos.integrations.trl.language import Language
from companyos.options import ResetArguments
from companyos.policies import TaskView
from companyos.policies.llm.prompt import task_text
from companyos_shared.streams import Stream

SessionFactory = Callable[[], Session]
LanguageFactory = Callable[[], Language]

_EPISODE_COLUMNS = ("task_id", "scenario", "seed", "chaos")
"""Columns of a dataset that identify an episode."""

_CHANGED_NOTE = "\n\nSome tools are described differently here:\n{lines}"
_ABSENT_NOTE = "This tool is not available."


class CompanyOSEnvironment:
    """Plays rollouts one after another, each in its own episode; `environment_class` adds the tools.

    TRL treats every public method as a tool, so other names start with an underscore. A call after the end raises
    EpisodeOverError, which TRL passes to the model as an error.
    """

    def __init__(self) -> None:
        self._session = self._open()
        self._language = self._language_of()
        self._ending: Ending | None = None
        self._task: TaskView | None = None

    @staticmethod
    def _open() -> Session:
        raise NotImplementedError("use a class of `environment_class`")

    _offered: Sequence[ToolSpec]
    _options: ResetArguments
    _language_of: LanguageFactory

    def reset(self, **row: Any) -> str:
        """Start the episode of a dataset row and return its task, which completes the prompt."""
        episode_options = {name: row[name] for name in _EPISODE_COLUMNS if row.get(name) is not None}
        if "task_id" in episode_options:
            episode_options = {"task_id": episode_options["task_id"]}
        self._ending = None
        first = self._session.reset(**cast(ResetArguments, {**self._options, **episode_options}))
        tools = tuple(self._session.tools())
        self._task = _task_view(first, tools, row)
        return self._language.task(task_text(self._task) + self._describe_changes(tools))

    def _call(self, tool: str, arguments: dict[str, Any]) -> str:
        return self._language.answer(self._session.call(tool, self._language.decoded(arguments)))

    def _end(self) -> Ending:
        """Return the result of the episode; abandon it first if it is live."""
        if self._ending is None:
            self._ending = self._session.end()
        return self._ending

    def _describe_changes(self, tools: Sequence[ToolSpec]) -> str:
        """Describe the tools that differ from the prompt: chaos renames fields, and some tools are missing."""
        described = {tool.name: tool.description for tool in tools}
        descriptions = [(tool.name, described.get(tool.name, _ABSENT_NOTE), tool.description) for tool in self._offered]
        lines = "\n".join(f"- {name}: {here}" for name, here, known in descriptions if here != known)
        return _CHANGED_NOTE.format(lines=lines) if lines else ""


def environment_class(
    name: str,
    tools: Sequence[ToolSpec],
    *,
    open_session: SessionFactory,
    options: ResetArguments,
    language: LanguageFactory,
) -> type[CompanyOSEnvironment]:
    """Return an environment class with these reset options and tools."""
    body: dict[str, Any] = {tool.name: tool_method(tool, CompanyOSEnvironment._call) for tool in tools}
    body |= {
        "__doc__": "One rollout after another; its public methods are the tools of the company.",
        "__module__": __name__,
        "_open": staticmethod(open_session),
        "_offered": tuple(tools),
        "_options": options,
        "_language_of": staticmethod(language),
    }
    return type(name, (CompanyOSEnvironment,), body)


def _task_view(first: CompanyOSResetObservation, tools: tuple[ToolSpec, ...], row: dict[str, Any]) -> TaskView:
    stream = Stream("trl", str(row.get("task_id") or row.get("seed")))
    return TaskView.from_observation(first, scenario=str(row.get("scenario")), tools=tools, stream=stream)
