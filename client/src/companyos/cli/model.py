"""Which model `eval` asks, and the dry run that asks none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from companyos.cli.terminal import MISUSED, OUT, fail, shown

if TYPE_CHECKING:
    from companyos.policies import Policy
    from companyos.policies.llm import LlmPolicy, LlmSettings
    from companyos.policies.llm.stub import Asked
    from companyos.runner.batch import PolicyMaker

POLICY = "llm"
REHEARSAL = "llm-dry-run"
"""What the episodes of a dry run are stored as: no model played them."""

UNDERSTUDIES = ("oracle", "grounded")
"""Who plays the model's part in a dry run: the first of them that is installed."""

_TEXT_SHOWN = 600


@dataclass(frozen=True, kw_only=True)
class Asking:
    """What the options say of the model."""

    model: str | None
    base_url: str | None
    temperature: float | None
    max_output_tokens: int | None
    context_limit: int | None
    price_in: float | None
    price_out: float | None
    timeout_s: float
    retries: int
    extra_body: str | None
    dry_run: bool

    def check_is_asked(self, policies: list[str]) -> None:
        """End the command where a model is spoken of and none plays, or the other way round."""
        if POLICY in policies and self.model is None:
            fail("--policy llm needs --model NAME", MISUSED)
        if POLICY not in policies and (self.model is not None or self.dry_run):
            fail("--model and --dry-run belong to --policy llm", MISUSED)

    def settings(self) -> LlmSettings:
        """Return the settings of the policy; what no endpoint can be asked with ends the command."""
        from companyos.policies.llm import DEFAULT_BASE_URL, LlmSettings, UnfitSettings
        from companyos.policies.llm.settings import key_from_environment

        try:
            return LlmSettings(
                model=self.model or "",
                base_url=self.base_url or DEFAULT_BASE_URL,
                temperature=self.temperature,
                max_output_tokens=self.max_output_tokens,
                context_limit=self.context_limit,
                price_in=self.price_in,
                price_out=self.price_out,
                timeout_s=self.timeout_s,
                retries=self.retries,
                extra_body=_object(self.extra_body),
                api_key=None if self.dry_run else key_from_environment(),
                is_rehearsal=self.dry_run,
            )
        except UnfitSettings as unfit:
            fail(str(unfit), MISUSED)


class Cast:
    """Who plays: the policies by their names, the model as it was asked for."""

    def __init__(self, make_policy: PolicyMaker, note: str | None = None, asked: list[Asked] | None = None) -> None:
        self.make_policy = make_policy
        self.note = note
        """What is written below the results of a dry run."""
        self._asked = asked

    def names(self, policies: list[str]) -> list[str]:
        """Return what the episodes of each policy are stored as: those of a dry run are no model's."""
        rehearsed = {POLICY: REHEARSAL} if self.note is not None else {}
        return [rehearsed.get(name, name) for name in dict.fromkeys(policies)]

    def print_note(self) -> None:
        """Say what a dry run would have sent, and that nothing of it was."""
        if self.note is not None:
            OUT.print(f"\n{self.note}", soft_wrap=True)
        if self._asked:
            _print_request(self._asked[0].body)


@contextmanager
def cast_of(policies: list[str], asking: Asking) -> Iterator[Cast]:
    """Give what makes the policies; in a dry run with a server of its own in the place of the endpoint."""
    from companyos.policies import load_policy

    if POLICY not in policies:
        yield Cast(load_policy)
        return
    from companyos.policies.llm import LlmPolicy

    settings = asking.settings()
    if not asking.dry_run:
        yield Cast(lambda name: LlmPolicy(settings) if name == POLICY else load_policy(name))
        return
    from companyos.policies import policy_names
    from companyos.policies.llm.stub import TOKEN_CHARS, StubServer
    from companyos.policies.llm.understudy import Understudy

    understudy = next(name for name in UNDERSTUDIES if name in policy_names())
    with StubServer(Understudy(lambda: load_policy(understudy))) as stub:

        def rehearse() -> LlmPolicy:
            return LlmPolicy(settings, address=lambda task: f"{stub.url}/{task.scenario}")

        def make(name: str) -> Policy:
            return rehearse() if name == REHEARSAL else load_policy(name)

        note = (
            f"[bold yellow]dry run:[/] no model was asked. The policy [cyan]{understudy}[/] answered in its place, and "
            f"{TOKEN_CHARS} characters count as one token.\n"
            f"The first request to [cyan]{shown(settings.base_url)}[/] would be:"
        )
        yield Cast(make, note, stub.asked)


def _print_request(body: dict[str, Any]) -> None:
    """Print a request: everything but the tools, which are many."""
    asked = {name: value for name, value in body.items() if name not in ("messages", "tools")}
    OUT.print(f"\n  [dim]POST /chat/completions[/] {shown(json.dumps(asked))}", soft_wrap=True)
    for message in body["messages"]:
        text = str(message["content"])
        OUT.print(f"\n  [bold]{message['role']}[/]")
        cut = text[:_TEXT_SHOWN] + (" ..." if len(text) > _TEXT_SHOWN else "")
        for line in cut.splitlines():
            OUT.print(f"    {shown(line)}", soft_wrap=True)
    size = len(json.dumps(body["tools"], ensure_ascii=False))
    OUT.print(
        f"\n  [bold]tools[/]\n    [dim]{len(body['tools'])} tools, {size:,} characters; companyos tools lists them[/]"
    )


def _object(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except ValueError as error:
        fail(f"--extra-body is no JSON: {error}", MISUSED)
    if not isinstance(found, dict):
        fail("--extra-body is no JSON object", MISUSED)
    return found
