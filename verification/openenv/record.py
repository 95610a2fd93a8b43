"""`python -m verification.openenv.record`: writes the runtime plan, the canaries and the manifest's
generated fields.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import asdict
from typing import Any

from companyos.client import CompanyOSEnv, ResetArguments
from companyos.contract import RewardScale, Shaping
from companyos.enterprise import Enterprise
from companyos.policies import EpisodeOverError, StepView, TaskView
from companyos.runner.episode import step_view
from companyos_players.player import Player
from companyos_players.registry import adversaries_of, fair_player
from companyos_shared.streams import Stream
from verification.openenv.manifest import CANARIES, MANIFEST, PLAN, Canary

SCENARIO, SEED, CHAOS = "vendor_onboarding", 4_200_011, 1
OPTIONS: ResetArguments = {
    "scenario": SCENARIO,
    "chaos": CHAOS,
    "shaping": Shaping.NONE,
    "reward_scale": RewardScale.UNIT,
}
CHEATS = ("skip_refresh", "fabricate", "repeat_farm")
"""Adversaries of the scenario that take a shortcut in every instance."""

Actions = list[dict[str, Any]]


def main() -> None:
    """Write all three files."""
    with Enterprise(alone=True) as enterprise:
        asyncio.run(_write(enterprise.url))


async def _write(url: str) -> None:
    async with CompanyOSEnv(base_url=url) as env:
        oracle = await _actions(env, fair_player(SCENARIO))
        reset = {"episode_id": "runtime-plan", "seed": SEED, "options": OPTIONS}
        _write_json(PLAN, {"plan_schema_version": "1", "reset": reset, "actions": oracle})
        _write_json(
            CANARIES, [asdict(item) for item in [*_IDLE_CANARIES, *[await _cheat(env, name) for name in CHEATS]]]
        )
        tools = [tool.name for tool in await env.list_tools()]
        splits = await env.list_splits()
    text = MANIFEST.read_text(encoding="utf-8")
    counts = ", ".join(f"{split.name}: {split.num_tasks}" for split in splits)
    text = re.sub(r'(\n +dataset_version:) ".*"', rf'\1 "{splits[0].version}"', text)
    text = re.sub(r"(\n +declared_task_count:).*", rf"\1 {{{counts}}}", text)
    listed = "".join(f"\n      - {name}" for name in sorted(tools))
    text = re.sub(r"(\n +declared_tools:)(?: \[\]|(?:\n +- .*)+)", rf"\1{listed}", text)
    MANIFEST.write_text(text, encoding="utf-8")


async def _cheat(env: CompanyOSEnv, name: str) -> Canary:
    player = adversaries_of(SCENARIO).players[name]
    does = (player.__doc__ or name).strip().splitlines()[0]
    return Canary(name=name, does=does, reset=dict(_RESET), actions=await _actions(env, player))


async def _actions(env: CompanyOSEnv, player: Player) -> Actions:
    """Play an episode and return its calls."""
    taken: Actions = []
    is_over = False
    first = (await env.reset(**_RESET)).observation

    async def call(tool: str, arguments: dict[str, Any], /) -> StepView:
        nonlocal is_over
        if is_over:
            raise EpisodeOverError
        result = await env.call_tool(tool, **arguments)
        taken.append({"type": "call_tool", "tool_name": tool, "arguments": arguments})
        is_over = result.done
        return step_view(result)

    stream = Stream("validation", SCENARIO, str(SEED))
    task = TaskView.from_observation(first, scenario=SCENARIO, tools=await env.list_tools(), stream=stream)
    try:
        await player(task, call)
    except EpisodeOverError:
        return taken
    if not is_over:
        await call("finish", _FINISH_ARGUMENTS)
    return taken


_FINISH_ARGUMENTS = {"outcome": "done", "summary": "Done."}
_LOOK = {"type": "call_tool", "tool_name": "ticketdesk_list_tickets", "arguments": {}}
_FINISH = {"type": "call_tool", "tool_name": "finish", "arguments": _FINISH_ARGUMENTS}
_RESET: ResetArguments = {**OPTIONS, "seed": SEED}
_IDLE_CANARIES = (
    Canary(name="nothing", does="Declares the work done without doing any.", reset=dict(_RESET), actions=[_FINISH]),
    Canary(
        name="looking",
        does="Reads a few rows and declares the work done.",
        reset=dict(_RESET),
        actions=[*[_LOOK] * 5, _FINISH],
    ),
)


def _write_json(path: Any, content: Any) -> None:
    path.write_text(_lines(content), encoding="utf-8")


def _lines(content: Any) -> str:
    """Return JSON with one action per line."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    return (
        re.sub(r'^( *)(\{\n +"type": "call_tool".*?^\1\})', _on_one_line, text, flags=re.DOTALL | re.MULTILINE) + "\n"
    )


def _on_one_line(match: re.Match[str]) -> str:
    return match[1] + json.dumps(json.loads(match[2]), ensure_ascii=False)


if __name__ == "__main__":
    main()
