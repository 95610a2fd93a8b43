"""The options of `eval` that say which model is asked, and how."""

from __future__ import annotations

from typing import Annotated

import typer

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
