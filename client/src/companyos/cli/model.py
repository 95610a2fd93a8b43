"""Which model `eval` asks, and the dry run that asks none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from companyos.cli.terminal import OUT, USAGE_ERROR, fail, sanitize

if TYPE_CHECKING:
    from companyos.policies import Policy
    from companyos.policies.llm import LlmPolicy, LlmSettings
    from companyos.policies.llm.stub import StubRequest
    from companyos.runner.batch import PolicyFactory


POLICY = "llm"
DRY_RUN_POLICY = "llm-dry-run"
"""What the episodes of a dry run are stored as: no model played them."""

STUB_POLICIES = ("oracle", "grounded")
"""Who plays the model's part in a dry run: the first of them that is installed."""

_TEXT_SHOWN = 600


@dataclass(frozen=True, kw_only=True)
class LlmOptions:
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

    def check_policies(self, policies: list[str]) -> None:
        """End the command where a model is spoken of and none plays, or the other way round."""
        if POLICY in policies and self.model is None:
            fail("--policy llm needs --model NAME", USAGE_ERROR)
        if POLICY not in policies and (self.model is not None or self.dry_run):
            fail("--model and --dry-run belong to --policy llm", USAGE_ERROR)

    def settings(self) -> LlmSettings:
        """Return the settings of the policy; what no endpoint can be asked with ends the command."""
        from companyos.policies.llm import DEFAULT_BASE_URL, InvalidSettingsError, LlmSettings
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
                extra_body=_parse_json_object(self.extra_body),
                api_key=None if self.dry_run else key_from_environment(),
                is_dry_run=self.dry_run,
            )
        except InvalidSettingsError as error:
            fail(str(error), USAGE_ERROR)


class PolicySelection:
    """Who plays: the policies by their names, the model as it was asked for."""

    def __init__(
        self, make_policy: PolicyFactory, note: str | None = None, received: list[StubRequest] | None = None
    ) -> None:
        self.make_policy = make_policy
        self.note = note
        """What is written below the results of a dry run."""
        self._requests = received

    def names(self, policies: list[str]) -> list[str]:
        """Return what the episodes of each policy are stored as: those of a dry run are no model's."""
        stored_names = {POLICY: DRY_RUN_POLICY} if self.note is not None else {}
        return [stored_names.get(name, name) for name in dict.fromkeys(policies)]

    def print_note(self) -> None:
        """Say what a dry run would have sent, and that nothing of it was."""
        if self.note is not None:
            OUT.print(f"\n{self.note}", soft_wrap=True)
        if self._requests:
            _print_request(self._requests[0].body)


@contextmanager
def select_policies(policies: list[str], llm_options: LlmOptions) -> Iterator[PolicySelection]:
    """Give what makes the policies; in a dry run with a server of its own in the place of the endpoint."""
    from companyos.policies import load_policy

    if POLICY not in policies:
        yield PolicySelection(load_policy)
        return
    from companyos.policies.llm import LlmPolicy

    settings = llm_options.settings()
    if not llm_options.dry_run:
        yield PolicySelection(lambda name: LlmPolicy(settings) if name == POLICY else load_policy(name))
        return
    from companyos.policies import policy_names
    from companyos.policies.llm.policy_backed_stub import PolicyBackedStub
    from companyos.policies.llm.stub import TOKEN_CHARS, StubServer

    stub_policy = next(name for name in STUB_POLICIES if name in policy_names())
    with StubServer(PolicyBackedStub(lambda: load_policy(stub_policy))) as stub:

        def make_dry_run_policy() -> LlmPolicy:
            return LlmPolicy(settings, address=lambda task: f"{stub.url}/{task.scenario}")

        def make(name: str) -> Policy:
            return make_dry_run_policy() if name == DRY_RUN_POLICY else load_policy(name)

        note = (
            f"[bold yellow]dry run:[/] no model was asked. The policy [cyan]{stub_policy}[/] answered in its place, "
            f"and "
            f"{TOKEN_CHARS} characters count as one token.\n"
            f"The first request to [cyan]{sanitize(settings.base_url)}[/] would be:"
        )
        yield PolicySelection(make, note, stub.received)


def _print_request(body: dict[str, Any]) -> None:
    """Print a request: everything but the tools, which are many."""
    received = {name: value for name, value in body.items() if name not in ("messages", "tools")}
    OUT.print(f"\n  [dim]POST /chat/completions[/] {sanitize(json.dumps(received))}", soft_wrap=True)
    for message in body["messages"]:
        text = str(message["content"])
        OUT.print(f"\n  [bold]{message['role']}[/]")
        cut = text[:_TEXT_SHOWN] + (" ..." if len(text) > _TEXT_SHOWN else "")
        for line in cut.splitlines():
            OUT.print(f"    {sanitize(line)}", soft_wrap=True)
    size = len(json.dumps(body["tools"], ensure_ascii=False))
    OUT.print(
        f"\n  [bold]tools[/]\n    [dim]{len(body['tools'])} tools, {size:,} characters; companyos tools lists them[/]"
    )


def _parse_json_object(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        parsed = json.loads(text)
    except ValueError as error:
        fail(f"--extra-body is no JSON: {error}", USAGE_ERROR)
    if not isinstance(parsed, dict):
        fail("--extra-body is no JSON object", USAGE_ERROR)
    return parsed


PANEL = "A model: --policy llm"

ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="The model, as its endpoint calls it.", rich_help_panel=PANEL),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        envvar="OPENAI_BASE_URL",
        help="An endpoint of chat completions; OpenAI's own when not given. Its key is read from OPENAI_API_KEY.",
        rich_help_panel=PANEL,
    ),
]
TemperatureOption = Annotated[
    float | None,
    typer.Option("--temperature", min=0.0, help="The endpoint's own when not given.", rich_help_panel=PANEL),
]
MaxOutputOption = Annotated[
    int | None,
    typer.Option("--max-output-tokens", min=1, help="Tokens of one answer at most.", rich_help_panel=PANEL),
]
ContextLimitOption = Annotated[
    int | None,
    typer.Option(
        "--context-limit",
        min=1000,
        metavar="TOKENS",
        help="Request and answer together at most: beyond it the oldest results of tools are dropped, then the oldest "
        "turns; system message, task and last turn stay. Not given: once the endpoint says that it is too much.",
        rich_help_panel=PANEL,
    ),
]
PriceInOption = Annotated[
    float | None,
    typer.Option(
        "--price-in",
        min=0.0,
        help="Price of a million prompt tokens; without prices only tokens are counted.",
        rich_help_panel=PANEL,
    ),
]
PriceOutOption = Annotated[
    float | None,
    typer.Option("--price-out", min=0.0, help="Price of a million completion tokens.", rich_help_panel=PANEL),
]
TimeoutOption = Annotated[
    float,
    typer.Option("--request-timeout", min=0.1, metavar="SECONDS", help="Of one request.", rich_help_panel=PANEL),
]
RetriesOption = Annotated[
    int,
    typer.Option(
        "--retries",
        min=0,
        help="How often a request is sent again after 408, 409, 429, 5xx or no answer: after 0.5 to 8 s, or as long as "
        "Retry-After says, up to 2 minutes.",
        rich_help_panel=PANEL,
    ),
]
ExtraBodyOption = Annotated[
    str | None,
    typer.Option(
        "--extra-body",
        metavar="JSON",
        help='Further fields of every request, such as \'{"reasoning_effort": "low"}\'.',
        rich_help_panel=PANEL,
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Ask no model: an installed policy answers in its place, over HTTP on this machine. Shows what would be "
        "sent, and about how many tokens.",
        rich_help_panel=PANEL,
    ),
]
