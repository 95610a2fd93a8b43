"""The page itself, made of Gradio's parts: the task, a tool with a form for its arguments, the answer, the rewards."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from gradio.routes import App
from starlette.routing import Mount

from companyos.contract import DEFAULT_CHAOS, DEFAULT_SCENARIO
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import GatewayProblem
from companyos_gateway.episode.toolbox import Tool
from companyos_gateway.server.house import House
from companyos_gateway.server.rendering import last_call, rendered, steps_table, style, task_card
from companyos_gateway.server.web.door import PATH
from companyos_gateway.server.web.fields import Field, FieldMisfit, Kind, arguments_of, fields_of
from companyos_gateway.server.web.visitors import Visitors

TITLE = "CompanyOS"
_LEVELS = [("0 calm", 0), ("1 light", 1), ("2 moderate", 2), ("3 heavy", 3), ("4 storm", 4)]
_STYLE = Path(__file__).with_name("page.css")
_SEED = Field("seed", Kind.NUMBER, required=False, schema={"type": "integer"})
_SYSTEM_FONTS = ("system-ui", "sans-serif")
_BUSY: dict[str, Any] = {"concurrency_limit": None, "trigger_mode": "once", "api_visibility": "private"}
"""Every visitor waits for its own calls alone."""

Shown = tuple[str, str]


def web_app(house: House) -> FastAPI:
    """Return an app that serves the page below PATH and nothing else; nothing on it asks another host.

    Its `state.end_of_streams` is an event that ends what open pages listen to.
    """
    app = FastAPI(openapi_url=None)
    app.add_middleware(CORSMiddleware)  # without it Gradio opens its doors to the pages of other sites
    theme = gr.themes.Base(font=_SYSTEM_FONTS, font_mono=("ui-monospace", "monospace"))
    css = f"{_STYLE.read_text(encoding='utf-8')}\n.episode {{\n{style()}}}\n"
    page = build_page(house, Visitors(house))
    gr.mount_gradio_app(app, page, path=PATH, theme=theme, css=css, footer_links=[], run_history=False, ssr_mode=False)
    mounted = app.routes[-1]
    assert isinstance(mounted, Mount)
    assert isinstance(mounted.app, App)
    app.state.end_of_streams = mounted.app.stop_event
    return app


def build_page(house: House, visitors: Visitors) -> gr.Blocks:
    """Return the page of a house; each visitor plays an episode of its own."""
    play = _Play(house, visitors)
    page = gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True)
    with page:
        gr.HTML(
            "<h1>CompanyOS</h1><p>A task of office work in a company of your own. Call its tools; every call costs "
            "a step and some minutes, and what the databases hold in the end is judged.</p>",
            elem_id="head",
        )
        begun = gr.State("")
        with gr.Row(equal_height=False):
            with gr.Column(scale=2, min_width=340):
                with gr.Accordion("Begin another episode", open=False):
                    names = sorted(house.stage().scenarios)
                    first = DEFAULT_SCENARIO if DEFAULT_SCENARIO in names else names[0]
                    scenario = gr.Dropdown(names, value=first, label="Scenario")
                    chaos = gr.Dropdown(_LEVELS, value=DEFAULT_CHAOS, label="Chaos")
                    seed = gr.Textbox(label="Seed", placeholder="drawn when empty")
                    begin = gr.Button("Begin", variant="secondary")
                tools = [tool.name for tool in house.stage().tools(None)]
                tool = gr.Dropdown(tools, value=None, label="Tool", filterable=True)
                form = gr.Column()
            with gr.Column(scale=3, min_width=380):
                task, steps = (gr.HTML(elem_classes="episode") for _ in range(2))
        shown = [task, steps]

        def show_form(name: str | None, request: gr.Request) -> None:
            offered = play.tool(name, request)
            if offered is not None:
                _draw_form(offered, partial(play.step, offered.name), shown)

        with form:
            gr.render([tool], [tool.change, begun.change], concurrency_limit=None)(show_form)
        options = [scenario, chaos, seed]
        page.load(play.begin, inputs=options, outputs=[begun, tool, *shown], **_BUSY)
        begin.click(play.begin, inputs=options, outputs=[begun, tool, *shown], **_BUSY)
        page.unload(play.leave)
    return page


class _Play:
    """What the page does; the name of an open page is its visitor."""

    def __init__(self, house: House, visitors: Visitors) -> None:
        self._house = house
        self._visitors = visitors

    async def begin(self, scenario: str, chaos: int, seed: str | None, request: gr.Request) -> Any:
        """Start an episode, and show it with its tools."""
        try:
            options = {"scenario": scenario, "chaos": chaos, **arguments_of([_SEED], (seed,))}
            episode = await self._visitors.begin(_visitor(request), options)
        except (GatewayProblem, FieldMisfit) as refusal:
            return _refused(refusal)
        return episode.internal_id, self._house.stage().tools(episode)[0].name, *_shown(episode)

    async def step(self, name: str, fields: list[Field], request: gr.Request, *written: str | None) -> Any:
        """Call a tool with what its form says, and show what came of it."""
        try:
            episode = self._visitors.episode(_visitor(request))
            await self._house.stage().step(episode, name, arguments_of(fields, written))
        except (GatewayProblem, FieldMisfit) as refusal:
            return _refused(refusal)
        return _shown(episode)

    def tool(self, name: str | None, request: gr.Request) -> Tool | None:
        """Return a tool as the visitor's episode offers it."""
        try:
            offered = self._house.stage().tools(self._visitors.episode(_visitor(request)))
        except GatewayProblem:
            return None
        return next((tool for tool in offered if tool.name == name), None)

    def leave(self, request: gr.Request) -> None:
        """End what the visitor played."""
        self._house.call_soon(partial(self._visitors.leave, _visitor(request)))


def _draw_form(tool: Tool, take: Callable[..., Coroutine[Any, Any, Any]], shown: list[gr.HTML]) -> None:
    gr.Markdown(tool.description)
    fields = fields_of(tool.input_schema)
    inputs = [_input(field) for field in fields]
    call = gr.Button(f"Call {tool.name}", variant="primary")

    async def on_call(request: gr.Request, *written: str | None) -> Any:
        return await take(fields, request, *written)

    call.click(on_call, inputs=inputs, outputs=shown, **_BUSY)


def _input(field: Field) -> gr.Dropdown | gr.Textbox:
    if field.kind in (Kind.CHOICE, Kind.YES_OR_NO):
        choices = field.choices if field.required else ["", *field.choices]
        return gr.Dropdown(choices, value=choices[0], label=field.label, info=field.hint)
    return gr.Textbox("", label=field.label, info=field.hint, placeholder=field.placeholder, lines=field.lines)


def _shown(episode: Episode) -> Shown:
    seen = rendered(episode)
    return task_card(seen), last_call(seen.last) + steps_table(seen.steps)


def _refused(refusal: GatewayProblem | FieldMisfit) -> Any:
    """Tell a refusal on the page, and leave everything on it as it is."""
    if isinstance(refusal, FieldMisfit):
        gr.Warning(str(refusal), title="That does not fit")
    else:
        gr.Warning(refusal.detail or refusal.code, title=refusal.title)
    return gr.skip()


def _visitor(request: gr.Request) -> str:
    assert request.session_hash is not None
    return request.session_hash
