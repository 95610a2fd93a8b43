"""Everything that can be read at one step of an episode: responses of read tools, and pages of the apps."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from html import unescape
from itertools import product
from typing import Any

import orjson

from companyos.contract import ResetOptions
from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.engine.episode import Episode
from companyos_gateway.engine.errors import GatewayError
from companyos_gateway.engine.service_client import ServiceCall, ServiceResponse
from companyos_gateway.engine.toolbox import Tool
from companyos_gateway.ui.desk.service_pages import build_page_call
from companyos_shared.pages import Shell
from companyos_shared.wire.context import Actor
from verification.proof.episode_runner import RecordedEpisode
from verification.proof.final_states.fact_mutations import Channel
from verification.proof.players.oracles import NO_TRANSPORT_FAULTS, steps_of

_LINK = re.compile(r'href="([^"#]*)')
_ID = re.compile(r"[A-Z]{1,5}-\d+")
_MAX_PAGES = 120
"""Maximum number of pages opened per app and step."""

_MAX_ARGUMENTS = 40
"""Maximum number of generated calls per tool and step."""

_FIRST_ERROR_STATUS = 400

Values = dict[str, list[str]]
"""Text values by argument name; values under the empty name are tried for every argument."""


async def channels_at(
    engine: EpisodeEngine, oracle_run: RecordedEpisode, step: int, entities: Sequence[str]
) -> AsyncIterator[Channel]:
    """Replay an episode up to a step, and yield everything that an agent can read about some entities at that point.

    Reads are not steps here, so all of them return the state at that step.
    """
    result = oracle_run.result
    options = ResetOptions(
        scenario=oracle_run.instance.scenario,
        seed=result.seed,
        chaos=result.chaos,
        chaos_overrides=dict(NO_TRANSPORT_FAULTS),
    )
    episode = await engine.reset(options)
    try:
        for tool, arguments in steps_of(oracle_run.step_records)[:step]:
            await engine.step(episode, tool, arguments)
        async for channel in _tools(engine, episode, oracle_run, entities):
            yield channel
        for service in engine.toolbox.page_titles:
            async for channel in _pages(engine, episode, service, entities):
                yield channel
    finally:
        engine.store.free(episode)


def _known_values(oracle_run: RecordedEpisode, entities: Sequence[str]) -> Values:
    """Return text values by argument name, taken from the oracle's calls and the columns of the entities."""
    columns = [
        row for tables in oracle_run.stored["initial"].values() for rows in tables.values() for row in rows.items()
    ]
    named = [act.arguments for act in oracle_run.step_records] + [row for key, row in columns if key in entities]
    values: Values = {"": list(entities)}
    for one in named:
        for name, value in one.items():
            if isinstance(value, str) and value not in values.setdefault(name, []):
                values[name].append(value)
    return values


async def _tools(
    engine: EpisodeEngine, episode: Episode, oracle_run: RecordedEpisode, entities: Sequence[str]
) -> AsyncIterator[Channel]:
    known = _known_values(oracle_run, entities)
    for tool in engine.toolbox:
        operation = tool.operation
        if operation is None or not operation.is_read:
            continue
        own = [act.arguments for act in oracle_run.step_records if act.tool == tool.name]
        for arguments in [*own, *_arguments(tool, known)]:
            try:
                tool.check(arguments)
            except GatewayError:
                continue
            response = await _send(engine, episode, operation.service, operation.build_call(arguments))
            if response.status < _FIRST_ERROR_STATUS:
                shown = orjson.loads(response.payload) if response.payload else None
                yield Channel(_describe(tool.name, arguments), operation.service, arguments, shown)


def _describe(name: str, arguments: Collection[str]) -> str:
    return f"{name}({', '.join(sorted(set(arguments) - {'limit'}))})"


def _arguments(tool: Tool, known: Values) -> Iterator[dict[str, Any]]:
    """Yield arguments of a tool: the required ones and at most one optional one, with every value that may fit."""
    properties, required = tool.input_schema.get("properties", {}), tool.input_schema.get("required", [])
    most = {"limit": properties["limit"].get("maximum", 50)} if "limit" in properties else {}
    values = {name: _values(name, schema, known) for name, schema in properties.items() if name != "limit"}
    found = 0
    for chosen in product(*(values[name] for name in required)):
        base = {**dict(zip(required, chosen, strict=True)), **most}
        optional = [{name: value} for name in values if name not in required for value in values[name]]
        for extra in [{}, *optional]:
            found += 1
            if found <= _MAX_ARGUMENTS:
                yield {**base, **extra}


def _values(name: str, schema: dict[str, Any], known: Values) -> list[Any]:
    schemas = [schema, *schema.get("anyOf", [])]
    choices = [value for one in schemas for value in one.get("enum", [])]
    is_text = any(one.get("type") == "string" and "format" not in one for one in schemas)
    return choices or (list(dict.fromkeys([*known[""], *known.get(name, ())])) if is_text else [])


async def _pages(
    engine: EpisodeEngine, episode: Episode, service: str, entities: Sequence[str]
) -> AsyncIterator[Channel]:
    """Yield the pages of an app that its links reach, except pages of other entities."""
    shell = Shell(app=service, title=service, prefix=f"/{service}")
    waiting, seen = [""], {""}
    for number, page in enumerate(waiting):
        if number == _MAX_PAGES:
            break
        path, _, query = page.partition("?")
        response = await _send(engine, episode, service, build_page_call(path, query, shell))
        if response.status >= _FIRST_ERROR_STATUS:
            continue
        shown = [dict(one) for one in response.received_report.report.shown]
        name = f"page {service}/{_ID.sub('*', path)}"
        yield Channel(f"{name}?{query.partition('=')[0]}" if query else name, service, {}, shown, is_page=True)
        for link in _links(response, service, entities):
            if link not in seen:
                seen.add(link)
                waiting.append(link)


def _links(response: ServiceResponse, service: str, entities: Sequence[str]) -> Iterator[str]:
    """Yield the links of a page within its app. Ids of entities in links are replaced with each given entity."""
    prefix = f"/{service}/"
    for link in map(unescape, _LINK.findall(response.payload.decode())):
        if not link.startswith(prefix):
            continue
        page = link.removeprefix(prefix)
        if _ID.search(page):
            yield from (_ID.sub(entity, page) for entity in entities)
        else:
            yield page


async def _send(engine: EpisodeEngine, episode: Episode, service: str, call: ServiceCall) -> ServiceResponse:
    context = episode.context(service, Actor.AGENT)
    return await engine.service_clients.call(service, call, context, episode.seed_document(service))
