"""Clients that die, hang, repeat themselves, or leave in the middle of a step to somebody else."""

from __future__ import annotations

import asyncio
from functools import partial

from faults.answers import Kind
from faults.cells.kills import come_back
from faults.house import GATEWAY
from faults.player import Player
from faults.script import MOST_STEPS, RESET, normal
from faults.sockets import RawClient, SocketClient, SocketRefused
from faults.trial import Cell, Trial

SOON_S = 0.002
PATIENCE_S = 10.0
HUNG = 8


async def die_in_mid_step(trial: Trial) -> None:
    """Send a step and break the connection at once; whoever asks for that step again gets what was stored."""
    for player in await trial.seated(3):
        for _ in range(3):
            client = await RawClient.connect(trial.house.door)
            await client.send("/step", player.next_request(), share=trial.chance.choice((0.3, 0.9, 1.0, 1.0)))
            await asyncio.sleep(trial.chance.uniform(0.0, SOON_S))
            client.die()
            await player.step()
    await trial.judge()


async def hang_half_open(trial: Trial) -> None:
    """Leave requests half sent, for as long as everybody else plays, and send one of the other halves at last."""
    players = await trial.seated(2)
    hung = [await RawClient.connect(trial.house.door) for _ in range(HUNG)]
    for nth, client in enumerate(hung):
        await client.send("/step", players[nth % 2].next_request(), share=trial.chance.uniform(0.1, 0.9))
    for player in players:
        for _ in range(6):
            await player.step()
    for client in hung:
        client.die()
    await trial.judge()


async def ask_twice_at_once(trial: Trial) -> None:
    """Send the same step over several connections at once, and an old one behind it."""
    for player in await trial.seated(2):
        for _ in range(4):
            request = player.next_request()
            answers = await asyncio.gather(*(trial.house.door.ask("POST", "/step", request) for _ in range(4)))
            if {normal(answer.body) for answer in answers if answer.is_done} != {normal(answers[0].body)}:
                trial.findings.torn.append(f"{player.name}: one step was told in two ways")
            trial.findings.unclear += [f"{player.name}: a twin is answered {one}" for one in answers if not one.is_done]
            player.acknowledge(answers[0].body)
            old = await trial.house.door.ask("POST", "/step", request | {"step": max(1, request["step"] - 1)})
            if request["step"] > 1 and (old.kind is not Kind.REFUSED or old.code != "step-conflict"):
                trial.findings.doubled.append(f"{player.name}: an old step's number is answered {old}")
    await trial.judge()


async def change_hands(trial: Trial, *, dying: str) -> None:
    """Send a step over the WebSocket, let client, socket or gateway die, and go on over another by token."""
    player = trial.player()
    client = await SocketClient.connect(trial.house.door)
    await client.reset(**RESET, seed=player.seed, episode_id=player.name)
    player.is_open = True
    for _ in range(trial.chance.randint(1, 6)):
        player.acknowledge(await client.step(player.plan().body))
    token = (await client.state())["token"]
    for _ in range(3):
        await client.say("step", {"type": "call_tool", **player.plan().body})
        await asyncio.sleep(trial.chance.uniform(0.0, SOON_S))
        if dying == "client":
            client.die()
        elif dying == "gateway":
            await come_back(trial, [GATEWAY])
        client = await _resumed(trial, player, token)
        if player.step_count < MOST_STEPS:
            player.acknowledge(await client.step(player.plan().body))
    await client.close()
    await trial.judge()


async def reset_over_again(trial: Trial) -> None:
    """Kill the gateway while a WebSocket resets its episode: the old epoch is there whole, or the new one is."""
    player = trial.player()
    client = await SocketClient.connect(trial.house.door)
    options = RESET | {"seed": player.seed, "episode_id": player.name}
    await client.reset(**options)
    player.is_open = True
    for _ in range(trial.chance.randint(1, 6)):
        player.acknowledge(await client.step(player.plan().body))
    state = await client.state()
    await client.say("reset", options)
    await asyncio.sleep(trial.chance.uniform(0.0, SOON_S))
    await come_back(trial, [GATEWAY])
    client = await SocketClient.connect(trial.house.door)
    await client.reset(resume=state["token"])
    resumed = await client.state()
    if resumed["epoch"] != state["epoch"]:
        player.actions, player.lap = [], player.lap + 1
    for _ in range(3):
        player.acknowledge(await client.step(player.plan().body))
    await client.close()
    await trial.judge()


async def _resumed(trial: Trial, player: Player, token: str) -> SocketClient:
    """Go on by token on a fresh socket; the step in doubt counts if the state says so, and is told as it was."""
    clock = asyncio.get_running_loop().time
    give_up_at = clock() + PATIENCE_S
    while True:
        client = await SocketClient.connect(trial.house.door)
        try:
            told = await client.reset(resume=token)
            break
        except SocketRefused as refusal:
            await client.close()
            if clock() > give_up_at:
                raise
            trial.findings.slowest_s = max(trial.findings.slowest_s, PATIENCE_S - (give_up_at - clock()))
            if "episode-taken" not in str(refusal):
                raise
            await asyncio.sleep(0.05)
    if (await client.state())["step_count"] > player.step_count:
        player.acknowledge(told)
    return client


CELLS = [
    Cell("client dies in mid step", die_in_mid_step, full=20),
    Cell("clients hang half-open", hang_half_open, full=10),
    Cell("client asks twice at once", ask_twice_at_once, full=20),
    Cell("client dies in mid step, another resumes", partial(change_hands, dying="client"), full=20),
    Cell("client hangs in mid step, another resumes", partial(change_hands, dying="nobody"), full=20),
    Cell("kill -9 gateway in mid step of a socket, resumed", partial(change_hands, dying="gateway"), full=10),
    Cell("kill -9 gateway in mid reset of a socket, resumed", reset_over_again, full=20),
]
