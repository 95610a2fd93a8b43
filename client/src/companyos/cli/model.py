"""Options of `eval` for models, and the dry run without a model."""

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
"""Stored policy name of dry-run episodes."""

STUB_POLICIES = ("oracle", "grounded")
"""Policies that can stand in for the model in a dry run; the first installed one is used."""

_TEXT_SHOWN = 600


@dataclass(frozen=True, kw_only=True)
class LlmOptions:
    """Values of the model options."""

    model: str | None
    api: str
    base_url: str | None
    temperature: float | None
    max_output_tokens: int | None
    context_limit: int | None
    price_in: float | None
    price_cached: float | None
    price_cache_write: float | None
    price_out: float | None
    max_tokens: int | None
    max_cost: float | None
    timeout_s: float
    retries: int
    extra_body: str | None
    dry_run: bool

    def check_policies(self, policies: list[str]) -> None:
        """End the command if the model options and the policies do not match."""
        if POLICY in policies and self.model is None:
            fail("--policy llm needs --model NAME", USAGE_ERROR)
        if POLICY not in policies and (self.model is not None or self.dry_run):
            fail("--model and --dry-run need --policy llm", USAGE_ERROR)

    def settings(self) -> LlmSettings:
        """Return the settings of the policy; end the command if they are invalid."""
        from companyos.policies.llm import InvalidSettingsError, LlmSettings
        from companyos.policies.llm.settings import provider_of

        try:
            provider = provider_of(self.api)
            return LlmSettings(
                model=self.model or "",
                api=self.api,
                base_url=self.base_url or provider.base_url_from_environment(),
                temperature=self.temperature,
                max_output_tokens=self.max_output_tokens,
                context_limit=self.context_limit,
                price_in=self.price_in,
                price_cached=self.price_cached,
                price_cache_write=self.price_cache_write,
                price_out=self.price_out,
                max_tokens=self.max_tokens,
                max_cost=self.max_cost,
                timeout_s=self.timeout_s,
                retries=0 if self.dry_run else self.retries,
                extra_body=_parse_json_object(self.extra_body),
                api_key=None if self.dry_run else provider.key_from_environment(),
                is_dry_run=self.dry_run,
            )
        except InvalidSettingsError as error:
            fail(str(error), USAGE_ERROR)


class PolicySelection:
    """The selected policies and the model options."""

    def __init__(
        self, make_policy: PolicyFactory, note: str | None = None, received: list[StubRequest] | None = None
    ) -> None:
        self.make_policy = make_policy
        self.note = note
        """Note that is printed below the results of a dry run."""
        self._requests = received

    def names(self, policies: list[str]) -> list[str]:
        """Return the stored name of each policy; dry-run episodes get a name of their own."""
        stored_names = {POLICY: DRY_RUN_POLICY} if self.note is not None else {}
        return [stored_names.get(name, name) for name in dict.fromkeys(policies)]

    def print_note(self) -> None:
        """Print a note that the dry run sent no requests to the endpoint."""
        if self.note is not None:
            OUT.print(f"\n{self.note}", soft_wrap=True)
        if self._requests:
            _print_request(self._requests[0])


@contextmanager
def select_policies(policies: list[str], llm_options: LlmOptions) -> Iterator[PolicySelection]:
    """Yield the policy factories; a dry run starts a stub server in place of the endpoint."""
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
            f"[bold yellow]dry run:[/] no model was called. The policy [cyan]{stub_policy}[/] answered in its place, "
            f"and "
            f"token counts assume {TOKEN_CHARS} characters per token.\n"
            f"The first request to [cyan]{sanitize(settings.base_url)}[/] would be:"
        )
        yield PolicySelection(make, note, stub.received)


def _print_request(request: StubRequest) -> None:
    """Print a request without its tools."""
    shown = ("input", "instructions", "messages", "system", "tools")
    others = {name: value for name, value in request.body.items() if name not in shown}
    OUT.print(f"\n  [dim]POST {request.api_path}[/] {sanitize(json.dumps(others))}", soft_wrap=True)
    for message in request.messages:
        text = str(message["content"])
        OUT.print(f"\n  [bold]{message['role']}[/]")
        cut = text[:_TEXT_SHOWN] + (" ..." if len(text) > _TEXT_SHOWN else "")
        for line in cut.splitlines():
            OUT.print(f"    {sanitize(line)}", soft_wrap=True)
    tools = request.body["tools"]
    size = len(json.dumps(tools, ensure_ascii=False))
    OUT.print(f"\n  [bold]tools[/]\n    [dim]{len(tools)} tools, {size:,} characters; companyos tools lists them[/]")


def _parse_json_object(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        parsed = json.loads(text)
    except ValueError as error:
        fail(f"--extra-body must be valid JSON: {error}", USAGE_ERROR)
    if not isinstance(parsed, dict):
        fail("--extra-body must be a JSON object", USAGE_ERROR)
    return parsed


PANEL = "A model: --policy llm"

ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Model name of the endpoint.", rich_help_panel=PANEL),
]
ApiOption = Annotated[
    str,
    typer.Option(
        "--api",
        metavar="chat|responses|anthropic",
        help="API of the endpoint: OpenAI's chat completions, which most servers have, OpenAI's Responses, or "
        "Anthropic's Messages.",
        rich_help_panel=PANEL,
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="Base URL of the endpoint. Default: OPENAI_BASE_URL or OpenAI, and with --api anthropic "
        "ANTHROPIC_BASE_URL or Anthropic. The API key is read from OPENAI_API_KEY or ANTHROPIC_API_KEY.",
        rich_help_panel=PANEL,
    ),
]
TemperatureOption = Annotated[
    float | None,
    typer.Option(
        "--temperature", min=0.0, help="Sampling temperature. Default: the endpoint's own.", rich_help_panel=PANEL
    ),
]
MaxOutputOption = Annotated[
    int | None,
    typer.Option("--max-output-tokens", min=1, help="Maximum tokens per response.", rich_help_panel=PANEL),
]
ContextLimitOption = Annotated[
    int | None,
    typer.Option(
        "--context-limit",
        min=1000,
        metavar="TOKENS",
        help="Maximum tokens of request and response. Beyond it the oldest tool results are dropped, then the oldest "
        "turns; system message, task and last turn stay. Default: drop when the endpoint reports an overflow.",
        rich_help_panel=PANEL,
    ),
]
PriceInOption = Annotated[
    float | None,
    typer.Option(
        "--price-in",
        min=0.0,
        help="Price per million prompt tokens; without prices the cost is not computed.",
        rich_help_panel=PANEL,
    ),
]
PriceCachedOption = Annotated[
    float | None,
    typer.Option(
        "--price-cached",
        min=0.0,
        help="Price per million prompt tokens that the endpoint read from its cache. Default: --price-in.",
        rich_help_panel=PANEL,
    ),
]
PriceCacheWriteOption = Annotated[
    float | None,
    typer.Option(
        "--price-cache-write",
        min=0.0,
        help="Price per million prompt tokens that the endpoint wrote to its cache. Default: --price-in.",
        rich_help_panel=PANEL,
    ),
]
PriceOutOption = Annotated[
    float | None,
    typer.Option("--price-out", min=0.0, help="Price per million completion tokens.", rich_help_panel=PANEL),
]
TimeoutOption = Annotated[
    float,
    typer.Option(
        "--request-timeout",
        min=0.1,
        metavar="SECONDS",
        help="Timeout of one request in seconds.",
        rich_help_panel=PANEL,
    ),
]
RetriesOption = Annotated[
    int,
    typer.Option(
        "--retries",
        min=0,
        help="Maximum retries after 408, 409, 429, 5xx or a connection error. The delay is 0.5 to 8 s, or the value of "
        "Retry-After up to 2 minutes.",
        rich_help_panel=PANEL,
    ),
]
ExtraBodyOption = Annotated[
    str | None,
    typer.Option(
        "--extra-body",
        metavar="JSON",
        help='Additional request fields, for example \'{"reasoning_effort": "low"}\'.',
        rich_help_panel=PANEL,
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Send nothing to a model: an installed policy answers over HTTP on this machine. Prints the first request "
        "and an estimate of the tokens.",
        rich_help_panel=PANEL,
    ),
]
