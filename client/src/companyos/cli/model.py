"""Options of `eval` for models, and the dry run without a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def check_policies(policies: list[str], model: str | None, *, dry_run: bool) -> None:
    """End the command if the model options and the policies do not match."""
    if POLICY in policies and model is None:
        fail("--policy llm needs --model NAME", USAGE_ERROR)
    if POLICY not in policies and (model is not None or dry_run):
        fail("--model and --dry-run need --policy llm", USAGE_ERROR)


def read_settings(
    *, api: str, base_url: str | None, retries: int, extra_body: str | None, is_dry_run: bool, **others: Any
) -> LlmSettings:
    """Return the settings of the policy from the options; end the command if they are invalid."""
    from companyos.policies.llm import InvalidSettingsError, LlmSettings
    from companyos.policies.llm.settings import provider_of

    try:
        provider = provider_of(api)
        return LlmSettings(
            api=api,
            base_url=base_url or provider.base_url_from_environment(),
            retries=0 if is_dry_run else retries,
            extra_body=_parse_json_object(extra_body),
            api_key=None if is_dry_run else provider.key_from_environment(),
            is_dry_run=is_dry_run,
            **others,
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
def select_policies(policies: list[str], find_settings: Callable[[], LlmSettings]) -> Iterator[PolicySelection]:
    """Yield the policy factories; a dry run starts a stub server in place of the endpoint."""
    from companyos.policies import load_policy

    if POLICY not in policies:
        yield PolicySelection(load_policy)
        return
    from companyos.policies.llm import LlmPolicy

    settings = find_settings()
    if not settings.is_dry_run:
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


def _option(name: str, **settings: Any) -> Any:
    return typer.Option(name, rich_help_panel=PANEL, **settings)


ModelOption = Annotated[str | None, _option("--model", metavar="NAME", help="Model name of the endpoint.")]
ApiOption = Annotated[
    str,
    _option(
        "--api",
        metavar="chat|responses|anthropic",
        help="API of the endpoint: OpenAI's chat completions, which most servers have, OpenAI's Responses, or "
        "Anthropic's Messages.",
    ),
]
BaseUrlOption = Annotated[
    str | None,
    _option(
        "--base-url",
        metavar="URL",
        help="Base URL of the endpoint. Default: OPENAI_BASE_URL or OpenAI, and with --api anthropic "
        "ANTHROPIC_BASE_URL or Anthropic. The API key is read from OPENAI_API_KEY or ANTHROPIC_API_KEY.",
    ),
]
TemperatureOption = Annotated[
    float | None, _option("--temperature", min=0.0, help="Sampling temperature. Default: the endpoint's own.")
]
MaxOutputOption = Annotated[int | None, _option("--max-output-tokens", min=1, help="Maximum tokens per response.")]
ContextLimitOption = Annotated[
    int | None,
    _option(
        "--context-limit",
        min=1000,
        metavar="TOKENS",
        help="Maximum tokens of request and response. Beyond it the oldest tool results are dropped, then the oldest "
        "turns; system message, task and last turn stay. Default: drop when the endpoint reports an overflow.",
    ),
]
PriceInOption = Annotated[
    float | None,
    _option("--price-in", min=0.0, help="Price per million prompt tokens; without prices the cost is not computed."),
]
PriceCachedOption = Annotated[
    float | None,
    _option(
        "--price-cached",
        min=0.0,
        help="Price per million prompt tokens that the endpoint read from its cache. Default: --price-in.",
    ),
]
PriceCacheWriteOption = Annotated[
    float | None,
    _option(
        "--price-cache-write",
        min=0.0,
        help="Price per million prompt tokens that the endpoint wrote to its cache. Default: --price-in.",
    ),
]
PriceOutOption = Annotated[float | None, _option("--price-out", min=0.0, help="Price per million completion tokens.")]
TimeoutOption = Annotated[
    float,
    _option("--request-timeout", min=0.1, metavar="SECONDS", help="Timeout of one request in seconds."),
]
RetriesOption = Annotated[
    int,
    _option(
        "--retries",
        min=0,
        help="Maximum retries after 408, 409, 429, 5xx or a connection error. The delay is 0.5 to 8 s, or the value of "
        "Retry-After up to 2 minutes.",
    ),
]
ExtraBodyOption = Annotated[
    str | None,
    _option(
        "--extra-body",
        metavar="JSON",
        help='Additional request fields, for example \'{"reasoning_effort": "low"}\'.',
    ),
]
DryRunOption = Annotated[
    bool,
    _option(
        "--dry-run",
        help="Send nothing to a model: an installed policy answers over HTTP on this machine. Prints the first request "
        "and an estimate of the tokens.",
    ),
]
