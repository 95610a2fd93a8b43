"""The verdict on an episode, from what databases and gateway say: is it whole, is all there, is it there once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from faults.answers import Answer
from faults.databases import audited_twice, canaries_in
from faults.house import SERVICES
from faults.player import INFRA_ERROR, Player
from faults.script import CANARY


async def judge(player: Player) -> None:
    """Look at an episode, play one more step, end it and free it; what is wrong goes to the player's findings.

    The files are read last: the epoch of a fork or a restore is opened by the first call that reaches it.
    """
    if not player.is_open:
        return
    state = await _read(player, f"/v1/episodes/{player.name}")
    if state is not None:
        _count_steps(player, state)
        if not player.ended:
            await _go_on(player)
        evidence = await _read(player, f"/v1/episodes/{player.name}/evidence")
        if evidence is not None:
            for service in SERVICES:
                _compare(player, service, evidence=evidence, epoch=state["epoch"])
    await player.close()


async def _read(player: Player, path: str) -> dict[str, Any] | None:
    answer = await player.house.door.ask("GET", path)
    if answer.is_done:
        return dict(answer.body)
    player.findings.lost.append(f"{player.name}: GET {path} is answered {answer}")
    return None


def _count_steps(player: Player, state: dict[str, Any]) -> None:
    told, known = state["step_count"], player.step_count
    if player.ended:
        if state["outcome"] != "infra_error":
            player.findings.torn.append(f"{player.name}: ended as infra_error, but the state says {state['outcome']}")
    elif told < known:
        player.findings.lost.append(f"{player.name}: {known} steps were acknowledged, {told} are counted")
    elif told > known + (player.pending is not None):
        player.findings.doubled.append(f"{player.name}: {known} steps were acknowledged, {told} are counted")


def _compare(player: Player, service: str, *, evidence: dict[str, Any], epoch: int) -> None:
    """Compare the notebook with a service's rows, and these with what the gateway holds as evidence."""
    data, folder = player.house.data, evidence["folder"]
    found = canaries_in(data, service, episode=folder, epoch=epoch)
    if found is None:
        if player.ended or not any(action.service == service for action in player.actions):
            return
        found = Counter()
    wanted = Counter(str(action.canary) for action in player.actions if action.service == service)
    pending = player.pending
    if pending is not None and pending.service == service and found[str(pending.canary)]:
        wanted[str(pending.canary)] = 1
    findings, where = player.findings, f"{player.name}, {service}"
    for canary in sorted(wanted - found):
        findings.lost.append(f"{where}: {canary} is gone")
    for canary in sorted(found - wanted):
        if canary in wanted:
            findings.doubled.append(f"{where}: {canary} is there {found[canary]} times")
        else:
            findings.torn.append(f"{where}: {canary} should not be there")
    for step in audited_twice(data, service, episode=folder, epoch=epoch):
        findings.doubled.append(f"{where}: step {step} was audited twice")
    shown = Counter(CANARY.findall(repr([change["after"] for change in evidence["changes"].get(service, ())])))
    if set(shown) != set(found) and not player.ended:
        findings.torn.append(f"{where}: rows and evidence differ in {sorted(set(shown) ^ set(found))}")


async def _go_on(player: Player) -> None:
    """Step on until every service was written to, and finish: the gateway then holds its evidence against all digests.

    An epoch that a restore or a fork began is opened by this at the latest.
    """
    reached: set[str | None] = set()
    while not reached.issuperset(SERVICES):
        if not await player.step():
            break
        reached.add(player.actions[-1].service)
    if player.ended:
        player.findings.torn.append(f"{player.name}: a step after it all ends as infra_error")
        return
    finish = {"tool_name": "finish", "arguments": {"outcome": "done", "summary": "Looked after."}}
    asked = {"episode_id": player.name, "action": finish, "step": player.step_count + 1}
    answer: Answer = await player.house.door.ask("POST", "/step", asked)
    if not answer.is_done:
        player.findings.lost.append(f"{player.name}: finish is answered {answer}")
    elif INFRA_ERROR in str(answer.body["observation"].get("error")):
        player.findings.torn.append(f"{player.name}: the evidence does not fold to what the services hold")
