"""Clients that die, hang, repeat requests, or leave an episode to another client during a step."""

from __future__ import annotations

import asyncio
from functools import partial

from verification.faults.cells.kills import restart_victims
from verification.faults.deployment import GATEWAY
from verification.faults.gateway_client import Kind
from verification.faults.misbehaving_clients import RawClient, WebSocketClient, WebSocketRequestError
from verification.faults.player import Player
from verification.faults.step_script import MAX_STEPS, RESET, normalize
from verification.faults.trial import Cell, Trial

SOON_S = 0.002
RESUME_TIMEOUT_S = 10.0
HUNG = 8


async def die_in_mid_step(trial: Trial) -> None:
    """Send a step and break the connection; a retry must return the stored response."""
    for player in await trial.open_players(3):
        for _ in range(3):
            client = await RawClient.connect(trial.deployment.client)
            await client.send("/step", player.next_request(), share=trial.rng.choice((0.3, 0.9, 1.0, 1.0)))
            await asyncio.sleep(trial.rng.uniform(0.0, SOON_S))
            client.die()
            await player.step()
    await trial.judge()


async def hang_half_open(trial: Trial) -> None:
    """Leave requests incomplete while others play, and complete one of them at the end."""
    players = await trial.open_players(2)
    hanging = [await RawClient.connect(trial.deployment.client) for _ in range(HUNG)]
    for nth, client in enumerate(hanging):
        await client.send("/step", players[nth % 2].next_request(), share=trial.rng.uniform(0.1, 0.9))
    for player in players:
        for _ in range(6):
            await player.step()
    for client in hanging:
        client.die()
    await trial.judge()


async def ask_twice_at_once(trial: Trial) -> None:
    """Send a step over several connections at once, and then an earlier step."""
    for player in await trial.open_players(2):
        for _ in range(4):
            request = player.next_request()
            answers = await asyncio.gather(
                *(trial.deployment.client.request("POST", "/step", request) for _ in range(4))
            )
            if {normalize(response.body) for response in answers if response.is_done} != {normalize(answers[0].body)}:
                trial.findings.torn.append(f"{player.name}: one step got two different responses")
            trial.findings.unclear += [
                f"{player.name}: a concurrent duplicate got {one}" for one in answers if not one.is_done
            ]
            player.acknowledge(answers[0].body)
            old = await trial.deployment.client.request(
                "POST", "/step", request | {"step": max(1, request["step"] - 1)}
            )
            if request["step"] > 1 and (old.kind is not Kind.REFUSED or old.code != "step-conflict"):
                trial.findings.doubled.append(f"{player.name}: an old step number got {old}")
    await trial.judge()


async def hand_over(trial: Trial, *, dying: str) -> None:
    """Send a step over the WebSocket, kill client, socket or gateway, and resume over another WebSocket by token."""
    player = trial.player()
    client = await WebSocketClient.connect(trial.deployment.client)
    await client.reset(**RESET, seed=player.seed, episode_id=player.name)
    player.is_open = True
    for _ in range(trial.rng.randint(1, 6)):
        player.acknowledge(await client.step(player.plan().body))
    token = (await client.state())["token"]
    for _ in range(3):
        await client.send("step", {"type": "call_tool", **player.plan().body})
        await asyncio.sleep(trial.rng.uniform(0.0, SOON_S))
        if dying == "client":
            client.die()
        elif dying == "gateway":
            await restart_victims(trial, [GATEWAY])
        client = await _resume(trial, player, token)
        if player.step_count < MAX_STEPS:
            player.acknowledge(await client.step(player.plan().body))
    await client.close()
    await trial.judge()


async def reset_over_again(trial: Trial) -> None:
    """Kill the gateway while a WebSocket resets its episode; either the old or the new epoch must be complete."""
    player = trial.player()
    client = await WebSocketClient.connect(trial.deployment.client)
    options = RESET | {"seed": player.seed, "episode_id": player.name}
    await client.reset(**options)
    player.is_open = True
    for _ in range(trial.rng.randint(1, 6)):
        player.acknowledge(await client.step(player.plan().body))
    state = await client.state()
    await client.send("reset", options)
    await asyncio.sleep(trial.rng.uniform(0.0, SOON_S))
    await restart_victims(trial, [GATEWAY])
    client = await WebSocketClient.connect(trial.deployment.client)
    await client.reset(resume=state["token"])
    resumed = await client.state()
    if resumed["epoch"] != state["epoch"]:
        player.actions, player.replay_number = [], player.replay_number + 1
    for _ in range(3):
        player.acknowledge(await client.step(player.plan().body))
    await client.close()
    await trial.judge()


async def _resume(trial: Trial, player: Player, token: str) -> WebSocketClient:
    """Resume by token over a new WebSocket; acknowledge the pending step if the state counts it."""
    clock = asyncio.get_running_loop().time
    give_up_at = clock() + RESUME_TIMEOUT_S
    while True:
        client = await WebSocketClient.connect(trial.deployment.client)
        try:
            response = await client.reset(resume=token)
            break
        except WebSocketRequestError as refusal:
            await client.close()
            if clock() > give_up_at:
                raise
            trial.findings.slowest_s = max(trial.findings.slowest_s, RESUME_TIMEOUT_S - (give_up_at - clock()))
            if "episode-taken-over" not in str(refusal):
                raise
            await asyncio.sleep(0.05)
    if (await client.state())["step_count"] > player.step_count:
        player.acknowledge(response)
    return client


CELLS = [
    Cell("client dies in mid step", die_in_mid_step, full=20),
    Cell("clients hang half-open", hang_half_open, full=10),
    Cell("client sends a step twice at once", ask_twice_at_once, full=20),
    Cell("client dies in mid step, another resumes", partial(hand_over, dying="client"), full=20),
    Cell("client hangs in mid step, another resumes", partial(hand_over, dying="nobody"), full=20),
    Cell("kill -9 gateway in mid step of a socket, resumed", partial(hand_over, dying="gateway"), full=10),
    Cell("kill -9 gateway in mid reset of a socket, resumed", reset_over_again, full=20),
]
