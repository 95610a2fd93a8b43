"""The Gradio page of the playground: task, tool form, last result and rewards."""

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
from companyos_gateway.api.openenv_environment import reset_options
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import GatewayError, NotResetError
from companyos_gateway.engine.toolbox import Tool
from companyos_gateway.runtime import GatewayRuntime
from companyos_gateway.ui.playground.form_fields import (
    FieldKind,
    FormField,
    InvalidFieldError,
    parse_arguments,
    parse_fields,
)
from companyos_gateway.viewer.rendering.html_page import (
    episode_css,
    render_last_call,
    render_steps_table,
    render_task_card,
)
from companyos_gateway.viewer.rendering.summary import describe_episode

TITLE = "CompanyOS"
_CHAOS_LEVELS = [("0 calm", 0), ("1 light", 1), ("2 moderate", 2), ("3 heavy", 3), ("4 storm", 4)]
_PAGE_CSS = Path(__file__).with_name("page.css")
_SEED_FIELD = FormField("seed", FieldKind.NUMBER, required=False, schema={"type": "integer"})
_SYSTEM_FONTS = ("system-ui", "sans-serif")
_EVENT_OPTIONS: dict[str, Any] = {"concurrency_limit": None, "trigger_mode": "once", "api_visibility": "private"}
"""No queue: calls of one visitor do not delay others."""

EpisodeHtml = tuple[str, str]


def create_playground_app(runtime: GatewayRuntime, path: str) -> FastAPI:
    """Return an app with the page at `path`, which loads nothing from other hosts.

    Set the event `state.end_of_streams` of the app to close the event streams of open pages.
    """
    app = FastAPI(openapi_url=None)
    app.add_middleware(CORSMiddleware)  # keeps Gradio from allowing cross-origin requests
    theme = gr.themes.Base(font=_SYSTEM_FONTS, font_mono=("ui-monospace", "monospace"))
    css = f"{_PAGE_CSS.read_text(encoding='utf-8')}\n.episode {{\n{episode_css()}}}\n"
    page = build_blocks(runtime, Visitors(runtime))
    gr.mount_gradio_app(app, page, path=path, theme=theme, css=css, footer_links=[], run_history=False, ssr_mode=False)
    mounted = app.routes[-1]
    assert isinstance(mounted, Mount)
    assert isinstance(mounted.app, App)
    app.state.end_of_streams = mounted.app.stop_event
    return app


def build_blocks(runtime: GatewayRuntime, visitors: Visitors) -> gr.Blocks:
    """Return the page of a gateway, with a separate episode for each visitor."""
    controller = _PageController(runtime, visitors)
    page = gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True)
    with page:
        gr.HTML(
            "<h1>CompanyOS</h1><p>Solve an office task in a simulated company by calling tools. Each call takes one "
            "step and a few simulated minutes. At the end, the state of the databases is evaluated.</p>",
            elem_id="head",
        )
        episode_state = gr.State("")
        with gr.Row(equal_height=False):
            with gr.Column(scale=2, min_width=340):
                with gr.Accordion("Start a new episode", open=False):
                    names = sorted(runtime.engine().scenarios)
                    first = DEFAULT_SCENARIO if DEFAULT_SCENARIO in names else names[0]
                    scenario = gr.Dropdown(names, value=first, label="Scenario")
                    chaos = gr.Dropdown(_CHAOS_LEVELS, value=DEFAULT_CHAOS, label="Chaos")
                    seed = gr.Textbox(label="Seed", placeholder="random")
                    begin = gr.Button("Start episode", variant="secondary")
                tools = [tool.name for tool in runtime.engine().tools(None)]
                tool = gr.Dropdown(tools, value=None, label="Tool", filterable=True)
                form = gr.Column()
            with gr.Column(scale=3, min_width=380):
                task, steps = (gr.HTML(elem_classes="episode") for _ in range(2))
        outputs = [task, steps]

        def show_form(name: str | None, request: gr.Request) -> None:
            tool = controller.tool(name, request)
            if tool is not None:
                _render_form(tool, partial(controller.step, tool.name), outputs)

        with form:
            gr.render([tool], [tool.change, episode_state.change], concurrency_limit=None)(show_form)
        options = [scenario, chaos, seed]
        page.load(controller.begin, inputs=options, outputs=[episode_state, tool, *outputs], **_EVENT_OPTIONS)
        begin.click(controller.begin, inputs=options, outputs=[episode_state, tool, *outputs], **_EVENT_OPTIONS)
        page.unload(controller.leave)
    return page


class _PageController:
    """Handlers of the page's events. Gradio's session hash identifies the visitor."""

    def __init__(self, runtime: GatewayRuntime, visitors: Visitors) -> None:
        self._runtime = runtime
        self._visitors = visitors

    async def begin(self, scenario: str, chaos: int, seed: str | None, request: gr.Request) -> Any:
        """Start an episode and show it with its tools."""
        try:
            options = {"scenario": scenario, "chaos": chaos, **parse_arguments([_SEED_FIELD], (seed,))}
            episode = await self._visitors.reset(_visitor_id(request), options)
        except (GatewayError, InvalidFieldError) as error:
            return _warn(error)
        return episode.internal_id, self._runtime.engine().tools(episode)[0].name, *_render_episode(episode)

    async def step(self, name: str, fields: list[FormField], request: gr.Request, *raw: str | None) -> Any:
        """Call a tool with the arguments of the form and show the result."""
        try:
            episode = self._visitors.episode(_visitor_id(request))
            await self._runtime.engine().step(episode, name, parse_arguments(fields, raw))
        except (GatewayError, InvalidFieldError) as error:
            return _warn(error)
        return _render_episode(episode)

    def tool(self, name: str | None, request: gr.Request) -> Tool | None:
        """Return a tool of the visitor's episode, None if it does not exist."""
        try:
            tools = self._runtime.engine().tools(self._visitors.episode(_visitor_id(request)))
        except GatewayError:
            return None
        return next((tool for tool in tools if tool.name == name), None)

    def leave(self, request: gr.Request) -> None:
        """End the visitor's episode."""
        self._runtime.call_soon(partial(self._visitors.leave, _visitor_id(request)))


def _render_form(tool: Tool, on_submit: Callable[..., Coroutine[Any, Any, Any]], outputs: list[gr.HTML]) -> None:
    gr.Markdown(tool.description)
    fields = parse_fields(tool.input_schema)
    inputs = [_build_input(field) for field in fields]
    call = gr.Button(f"Call {tool.name}", variant="primary")

    async def on_call(request: gr.Request, *raw: str | None) -> Any:
        return await on_submit(fields, request, *raw)

    call.click(on_call, inputs=inputs, outputs=outputs, **_EVENT_OPTIONS)


def _build_input(field: FormField) -> gr.Dropdown | gr.Textbox:
    if field.kind in (FieldKind.CHOICE, FieldKind.BOOLEAN):
        choices = field.choices if field.required else ["", *field.choices]
        return gr.Dropdown(choices, value=choices[0], label=field.label, info=field.hint)
    return gr.Textbox("", label=field.label, info=field.hint, placeholder=field.placeholder, lines=field.lines)


def _render_episode(episode: Episode) -> EpisodeHtml:
    summary = describe_episode(episode)
    return render_task_card(summary), render_last_call(summary.last) + render_steps_table(summary.steps)


def _warn(error: GatewayError | InvalidFieldError) -> Any:
    """Show an error and leave the page unchanged."""
    if isinstance(error, InvalidFieldError):
        gr.Warning(str(error), title="Invalid input")
    else:
        gr.Warning(error.detail or error.code, title=error.title)
    return gr.skip()


def _visitor_id(request: gr.Request) -> str:
    assert request.session_hash is not None
    return request.session_hash


class Visitors:
    """The episodes of visitors by session hash."""

    def __init__(self, runtime: GatewayRuntime) -> None:
        self._runtime = runtime
        self._episodes: dict[str, Episode] = {}

    async def reset(self, visitor: str, options: dict[str, Any]) -> Episode:
        """Replace the episode of a visitor; raises the errors of `GatewayRuntime.reset`."""
        previous = self._episodes.get(visitor)
        episode = await self._runtime.reset(reset_options(options))
        self._forget_closed()
        self._episodes[visitor] = episode
        if previous is not None:
            self._runtime.engine().store.free(previous)
        return episode

    def episode(self, visitor: str) -> Episode:
        """Return the episode of a visitor; raises NotResetError (409) if there is none."""
        episode = self._episodes.get(visitor)
        if episode is None:
            raise NotResetError
        return episode

    def leave(self, visitor: str) -> None:
        """Free the episode of a visitor whose page was closed."""
        episode = self._episodes.pop(visitor, None)
        if episode is not None:
            self._runtime.engine().store.free(episode)

    def _forget_closed(self) -> None:
        self._episodes = {name: episode for name, episode in self._episodes.items() if not episode.closed}
