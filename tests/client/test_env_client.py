"""CompanyOSEnv over OpenEnv's own WebSocket server: typed responses, errors, synchronous use and several sessions."""

from __future__ import annotations

import asyncio

import pytest
import typer
from websockets.asyncio.server import ServerConnection, serve

from companyos.cli.terminal import report_errors
from companyos.client import MESSAGE_TIMEOUT_S, ApiError, CompanyOSEnv
from companyos.contract import CallToolAction, CompanyOSObservation, CompanyOSResetObservation, CompanyOSState, Outcome


async def test_reset_step_and_state_return_typed_results(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        first = await env.reset(scenario="tiny", seed=3, chaos=1)
        assert isinstance(first.observation, CompanyOSResetObservation)
        step = await env.step(CallToolAction(tool_name="add", arguments={"amount": 3}))
        assert isinstance(step.observation, CompanyOSObservation)
        assert (step.reward, step.done, step.observation.reward) == (15.0, True, 15.0)
        state = await env.state()
        assert isinstance(state, CompanyOSState)
        assert (state.outcome, state.return_, state.step_count) == (Outcome.SUCCESS, 15.0, 1)


async def test_a_tool_may_have_arguments_named_tool_and_self(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        await env.reset(scenario="tiny", seed=3, chaos=1)
        result = await env.call_tool("add", amount=1, tool="x", self="y")
        assert result.observation.result == {"total": 1}


async def test_listing_tools_before_the_first_reset_is_not_a_step(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        assert [tool.name for tool in await env.list_tools()] == ["add", "finish"]
        assert (await env.state()).step_count == 0


async def test_a_rejected_message_raises_an_error_and_the_session_continues(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        with pytest.raises(ApiError, match="unknown-scenario") as refusal:
            await env.reset(scenario="none")
        assert refusal.value.code == "EXECUTION_ERROR"
        assert (await env.reset(scenario="tiny", seed=1, chaos=0)).done is False


async def test_two_sessions_of_one_client_are_two_episodes(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        other = await env.new_session()
        await env.reset(scenario="tiny", seed=3, chaos=1)
        await other.reset(scenario="tiny", seed=9, chaos=1)
        await env.call_tool("add", amount=2)
        assert (await other.call_tool("add", amount=1)).observation.result == {"total": 1}


async def test_concurrent_calls_are_serialized_and_each_gets_its_own_response(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        await env.reset(scenario="tiny", seed=9, chaos=1)
        output = await asyncio.gather(*(env.call_tool("add", amount=1) for _ in range(5)))
        assert [one.observation.result for one in output] == [{"total": total} for total in range(1, 6)]
        assert (await env.state()).step_count == 5


async def test_a_call_after_a_cancelled_one_reports_a_lost_connection(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        await env.reset(scenario="tiny", seed=9, chaos=1)
        given_up = asyncio.ensure_future(env.call_tool("add", amount=1))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        with pytest.raises(ConnectionError, match="resume"):
            await env.call_tool("add", amount=1)
        assert (await env.reset(scenario="tiny", seed=9, chaos=1)).done is False


async def test_a_closed_client_says_so_until_the_next_reset(tiny_url: str) -> None:
    env = CompanyOSEnv(base_url=tiny_url)
    await env.reset(scenario="tiny", seed=9, chaos=1)
    await env.close()
    with pytest.raises(ConnectionError, match="The session was closed; call resume"):
        await env.call_tool("add", amount=1)
    assert (await env.reset(scenario="tiny", seed=9, chaos=1)).done is False
    env._abort_connection()
    with pytest.raises(ConnectionError, match="The connection to the episode was lost"):
        await env.call_tool("add", amount=1)
    await env.close()


async def test_an_invalid_action_is_rejected_before_it_is_sent(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        await env.reset(scenario="tiny", seed=9, chaos=1)
        with pytest.raises(TypeError, match="got str"):
            await env.step("add")  # type: ignore[arg-type]  # what is refused
        assert (await env.state()).step_count == 0


async def test_a_message_that_is_too_large_is_rejected_and_the_session_continues(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        await env.reset(scenario="tiny", seed=9, chaos=1)
        with pytest.raises(ApiError, match=r"body-too-large: .* at most 65536 bytes; got 1100") as refusal:
            await env.call_tool("add", amount=1, note="x" * 1_100_000)
        assert refusal.value.code == "INVALID_JSON"
        assert (await env.call_tool("add", amount=1)).observation.result == {"total": 1}


def test_the_sync_client_plays_an_episode_and_lists_tasks(tiny_url: str) -> None:
    with CompanyOSEnv(base_url=tiny_url).sync() as env:
        env.reset(scenario="tiny", seed=2, chaos=1)
        assert [tool.name for tool in env.list_tools()] == ["add", "finish"]
        assert env.call_tool("add", amount=2).done
        assert env.state().success
        assert [split.name for split in env.list_splits()] == ["train", "validation", "test"]
        assert env.num_tasks("test") == len(env.list_tasks("test")) == 3
        assert env.get_task_range("test", 0, 1)[0].id == env.get_task("test", 0).id


def test_the_sync_client_calls_the_methods_of_a_subclass(tiny_url: str) -> None:
    class CountingEnv(CompanyOSEnv):
        async def num_tasks(self, split: str) -> int:
            return 1000 * await super().num_tasks(split)

    with CountingEnv(base_url=tiny_url).sync() as env:
        assert env.num_tasks("test") == 3000


def test_an_unreachable_server_is_a_connection_error_without_await_too() -> None:
    env = CompanyOSEnv(base_url="http://127.0.0.1:3")
    for _ in range(2):
        with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:3"), env.sync() as session:
            session.reset()


async def test_a_response_may_take_minutes_unless_the_caller_sets_another_limit(tiny_url: str) -> None:
    assert CompanyOSEnv(base_url=tiny_url)._message_timeout == MESSAGE_TIMEOUT_S
    async with serve(_never_respond, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with CompanyOSEnv(base_url=f"http://127.0.0.1:{port}", message_timeout_s=0.05) as env:
            with pytest.raises(TimeoutError):
                await env.reset(seed=1)


async def _never_respond(connection: ServerConnection) -> None:
    await connection.wait_closed()


def test_a_timeout_without_text_is_explained_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), report_errors():
        raise TimeoutError
    assert "error: the server did not respond in time" in capsys.readouterr().err


async def test_tasks_are_listed_and_played(tiny_url: str) -> None:
    async with CompanyOSEnv(base_url=tiny_url) as env:
        assert [split.num_tasks for split in await env.list_splits()] == [0, 0, 3]
        assert await env.num_tasks("test") == len(await env.list_tasks("test")) == 3
        assert [task.index for task in await env.get_task_range("test", 1)] == [1, 2]
        task = await env.get_task("test", 1)
        assert task.brief == (await env.reset(task_id=task.id)).observation.brief
        assert (await env.state()).task_id == task.id
