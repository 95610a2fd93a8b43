"""A model plays over each API: real HTTP to a scripted endpoint, in a tiny environment behind OpenEnv's server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from companyos.contract import Outcome
from companyos.policies import PolicyUnavailableError
from companyos.policies.llm import LlmPolicy
from companyos.policies.llm.apis import APIS
from companyos.policies.llm.policy import CONTEXT_FULL, NO_CALLS, REMINDERS
from companyos.policies.llm.prompt import REMINDER
from companyos.policies.llm.stub import Reply, Script, StubServer, completion, error_reply
from companyos.runner import EpisodePlan, PlayedEpisode, play_all
from tests.client.llm_scripts import AT_ONCE, ScriptedReplies, a_model, text_message, texts, tool_call_message

ADD_1, ADD_2 = ("add", {"amount": 1}), ("add", {"amount": 2})
PLAN = EpisodePlan(scenario="tiny", seed=3, chaos=1, policy="llm")
TOO_LONG = error_reply(400, "This model's maximum context length is 9 tokens.", code="context_length_exceeded")

Player = Callable[..., Any]


@pytest.fixture(params=list(APIS))
def api(request: pytest.FixtureRequest) -> str:
    """Give each API in turn."""
    return str(request.param)


@pytest.fixture
def played(tiny_url: str, api: str) -> Player:
    """Provide a function that plays an episode by a script over an API, and returns it with the stub server."""

    async def play(script: Script, **settings: Any) -> tuple[PlayedEpisode, StubServer]:
        with StubServer(script) as stub:
            received = a_model(stub.url, api=api, **settings)
            [episode] = await play_all(tiny_url, [PLAN], make_policy=lambda _name: LlmPolicy(received))
        return episode, stub

    return play


def kinds(played: PlayedEpisode) -> list[str]:
    """Return the kinds of the transcript's lines."""
    return [line["kind"] for line in played.messages]


FIELDS = {
    "chat": {"messages"},
    "responses": {"instructions", "input", "store", "include"},
    "anthropic": {"system", "messages", "max_tokens", "cache_control"},
}


async def test_calls_in_one_message_are_made_in_order_and_each_is_a_step(played: Player, api: str) -> None:
    episode, stub = await played(ScriptedReplies(tool_call_message(ADD_1, ("fly", {}), ADD_2)))
    assert (episode.record.success, episode.record.steps) == (True, 3)
    assert [line.tool for line in episode.steps] == ["add", "fly", "add"]
    [received] = stub.received
    assert [function["name"] for function in received.functions] == ["add", "finish"]
    assert set(received.body) == {"model", "tools"} | FIELDS[api]
    assert "Add up to the number of T-1." in received.messages[1]["content"]


async def test_calls_after_the_last_step_of_an_episode_are_not_made(played: Player) -> None:
    episode, _ = await played(ScriptedReplies(tool_call_message(ADD_1, ADD_2, ADD_2)))
    assert (episode.record.success, episode.record.steps, episode.trouble) == (True, 2, None)


async def test_the_next_request_contains_the_result_of_each_call(played: Player) -> None:
    _, stub = await played(ScriptedReplies(tool_call_message(ADD_1, ("fly", {})), tool_call_message(ADD_2)))
    results = [message for message in stub.received[1].messages if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == ["call_0", "call_1"]
    assert results[0]["content"] == '{"result":{"total":1},"now":"2026-03-02T09:16:00Z","steps_left":19}'
    assert "No tool is called 'fly'." in results[1]["content"]


async def test_a_message_without_a_call_gets_a_reminder(played: Player) -> None:
    episode, stub = await played(
        ScriptedReplies(
            text_message("Shall I?"), tool_call_message(ADD_1), text_message("Now?"), tool_call_message(ADD_2)
        )
    )
    assert (episode.record.success, episode.record.steps) == (True, 2)
    assert texts(stub.received[1].messages, "user")[1:] == [REMINDER]
    assert texts(stub.received[3].messages, "user")[1:] == [REMINDER] * 2


async def test_a_model_that_makes_no_more_calls_gives_up(played: Player) -> None:
    episode, stub = await played(ScriptedReplies(tool_call_message(ADD_1), text_message("I am done.")))
    assert len(stub.received) == 1 + REMINDERS + 1
    assert (episode.record.outcome, episode.steps[-1].tool, episode.trouble) == (Outcome.FAILED, "finish", None)
    assert episode.record.usage is not None
    assert episode.record.usage.stopped == NO_CALLS
    assert episode.messages[-1] == {"kind": "stopped", "why": NO_CALLS}


async def test_tokens_requests_and_cost_are_recorded(played: Player) -> None:
    passing = error_reply(503, "Later.", headers=AT_ONCE)
    episode, stub = await played(
        ScriptedReplies(tool_call_message(ADD_1), passing, tool_call_message(ADD_2)), price_in=2.0, price_out=8.0
    )
    usage = episode.record.usage
    answers = [line for line in episode.messages if line["kind"] == "answer"]
    assert (usage.model, usage.requests, usage.retries, usage.unmetered) == ("m-1", 3, 1, 0)
    assert usage.prompt_tokens == sum(answer["prompt_tokens"] for answer in answers) > 100
    assert usage.completion_tokens == sum(answer["completion_tokens"] for answer in answers) > 10
    assert usage.cost == pytest.approx((2 * usage.prompt_tokens + 8 * usage.completion_tokens) / 1e6)
    assert usage.latency_s > 0
    assert len(stub.received) == 3


async def test_a_response_without_token_counts_is_counted_as_unmetered(played: Player) -> None:
    script = ScriptedReplies(tool_call_message(ADD_1), tool_call_message(ADD_2))

    class Silent:
        async def reply(self, received: Any) -> Reply:
            reply = await script.reply(received)
            return Reply(body={name: value for name, value in reply.body.items() if name != "usage"})

    usage = (await played(Silent()))[0].record.usage
    assert (usage.unmetered, usage.prompt_tokens, usage.cost) == (2, 0, None)


async def test_the_transcript_contains_all_messages(played: Player, api: str) -> None:
    episode, _ = await played(ScriptedReplies(tool_call_message(ADD_1), text_message("Hm."), tool_call_message(ADD_2)))
    assert kinds(episode) == [
        "settings",
        *["message"] * 2,
        "answer",
        "message",
        "answer",
        "message",
        "answer",
        "message",
    ]
    assert (episode.messages[0]["model"], episode.messages[0]["api"]) == ("m-1", api)
    assert episode.messages[0]["tools"][0]["function"]["name"] == "add"


async def test_an_endpoint_error_during_an_episode_is_an_infra_error_with_its_usage(played: Player) -> None:
    episode, stub = await played(ScriptedReplies(tool_call_message(ADD_1), error_reply(500, "Down.", headers=AT_ONCE)))
    assert (episode.record.outcome, episode.record.success, episode.record.steps) == (Outcome.INFRA_ERROR, False, 1)
    assert episode.trouble is not None
    assert "the model's endpoint failed: the endpoint returned 500" in episode.trouble
    assert "(3 attempts)" in episode.trouble
    assert (episode.record.usage.requests, episode.record.usage.retries) == (4, 2)
    assert len(stub.received) == 4
    assert kinds(episode)[-1] == "failed"


@pytest.mark.parametrize("status", [408, 429, 500, 529])
async def test_a_temporary_endpoint_error_fails_only_its_episode(played: Player, status: int) -> None:
    episode, _ = await played(ScriptedReplies(error_reply(status, "Later.", headers=AT_ONCE)), retries=1)
    assert (episode.record.outcome, episode.record.steps) == (Outcome.INFRA_ERROR, 0)
    assert f"returned {status}" in str(episode.trouble)


@pytest.mark.parametrize(("status", "word"), [(400, "bad"), (401, "key"), (403, "no"), (404, "model")])
async def test_an_endpoint_that_rejects_the_first_request_stops_the_run(played: Player, status: int, word: str) -> None:
    with pytest.raises(PolicyUnavailableError, match=f"the endpoint returned {status}: .*{word}"):
        await played(ScriptedReplies(error_reply(status, word)))


async def test_an_unreachable_endpoint_stops_the_run(tiny_url: str) -> None:
    model = a_model("http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(PolicyUnavailableError, match=r"Failed to connect to http://127\.0\.0\.1:9/v1"):
        await play_all(tiny_url, [PLAN], make_policy=lambda _name: LlmPolicy(model))


async def test_a_policy_without_a_model_stops_the_run(tiny_url: str) -> None:
    with pytest.raises(PolicyUnavailableError, match="needs a model"):
        await play_all(tiny_url, [PLAN])


async def test_an_endpoint_that_is_too_slow_is_an_infra_error(played: Player) -> None:
    episode, _ = await played(ScriptedReplies(tool_call_message(ADD_1), pause_s=0.5), timeout_s=0.05, retries=0)
    assert episode.trouble == "the model's endpoint failed: no response within 0.05 s"


INVALID = [
    b"<html>",
    [],
    "Hi.",
    {"error": "No."},
    {"choices": []},
    {"choices": [{"message": "Hi."}]},
    {"output": None},
    {"output": ["Hi."]},
    {"content": "Hi."},
    {"content": [["Hi."]]},
]


@pytest.mark.parametrize("body", INVALID, ids=str)
async def test_an_invalid_response_is_an_infra_error(played: Player, api: str, body: Any) -> None:
    episode, _ = await played(ScriptedReplies(Reply(body=body)))
    assert f"the endpoint returned an invalid {APIS[api].NAME}: " in str(episode.trouble)


async def test_truncated_arguments_are_an_invalid_step_and_are_sent_back_as_json(played: Player) -> None:
    episode, stub = await played(
        ScriptedReplies(tool_call_message(ADD_1, ("fly", '{"amount": 2')), tool_call_message(ADD_2))
    )
    assert (episode.record.success, episode.record.steps) == (True, 3)
    assert list(episode.steps[1].arguments) == ["malformed_json"]
    calls, results = stub.received[1].messages[2], stub.received[1].messages[3:]
    assert list(json.loads(calls["tool_calls"][1]["function"]["arguments"])) == ["malformed_json"]
    assert "The arguments must be a JSON object" in results[1]["content"]
    assert [result["tool_call_id"] for result in results] == ["call_0", "call_1"]


async def test_an_empty_message_gets_a_reminder(played: Player) -> None:
    episode, stub = await played(
        ScriptedReplies(tool_call_message(ADD_1), text_message(""), text_message(" \n"), tool_call_message(ADD_2))
    )
    assert (episode.record.success, len(stub.received)) == (True, 4)
    assert "".join(texts(stub.received[3].messages, "user")).count(REMINDER) == 2


async def test_the_key_is_sent_to_the_endpoint_only(tiny_url: str, api: str, tmp_path: Path) -> None:
    script = ScriptedReplies(tool_call_message(ADD_1), error_reply(400, "Incorrect API key provided: sk-secret-1."))
    with StubServer(script) as stub:
        model = a_model(stub.url, api=api, api_key="sk-secret-1")
        [episode] = await play_all(tiny_url, [PLAN], out=tmp_path, make_policy=lambda _name: LlmPolicy(model))
    sent = {name: value for name, value in stub.received[0].headers.items() if "sk-secret-1" in value}
    assert sent == ({"x-api-key": "sk-secret-1"} if api == "anthropic" else {"authorization": "Bearer sk-secret-1"})
    assert "provided: ***" in str(episode.trouble)
    assert "sk-secret-1" not in repr(model)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) == 5
    assert not [file for file in files if b"sk-secret-1" in file.read_bytes()]


async def test_without_a_key_no_key_is_sent(played: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-somebody")
    _, stub = await played(ScriptedReplies(tool_call_message(ADD_1, ADD_2)))
    assert not {"authorization", "x-api-key"} & set(stub.received[0].headers)


async def test_no_openai_account_headers_are_sent_to_anthropic(tiny_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    with StubServer(ScriptedReplies(tool_call_message(ADD_1, ADD_2))) as stub:
        model = a_model(stub.url, api="anthropic", api_key="sk-1")
        await play_all(tiny_url, [PLAN], make_policy=lambda _name: LlmPolicy(model))
    headers = stub.received[0].headers
    assert headers["anthropic-version"] == "2023-06-01"
    assert not {"openai-organization", "openai-project"} & set(headers)


LIMIT_FIELDS = {"chat": "max_completion_tokens", "responses": "max_output_tokens", "anthropic": "max_tokens"}


async def test_a_request_contains_the_configured_parameters(played: Player, api: str) -> None:
    _, stub = await played(
        ScriptedReplies(tool_call_message(ADD_1, ADD_2)),
        temperature=0.3,
        max_output_tokens=99,
        extra_body={"reasoning_effort": "low"},
    )
    output = {name: stub.received[0].body[name] for name in ("model", "temperature", LIMIT_FIELDS[api])}
    assert output == {"model": "m-1", "temperature": 0.3, LIMIT_FIELDS[api]: 99}
    assert stub.received[0].body["reasoning_effort"] == "low"


async def test_a_conversation_over_its_limit_drops_the_oldest_results(played: Player) -> None:
    quiet = [tool_call_message(("add", {"amount": 0})) for _ in range(12)]
    episode, stub = await played(ScriptedReplies(*quiet, tool_call_message(ADD_1, ADD_2)), context_limit=1_200)
    assert episode.record.success
    assert "dropped" in kinds(episode)
    sizes = [answer["prompt_tokens"] for answer in episode.messages if answer["kind"] == "answer"]
    assert max(sizes) <= 1_200
    answers = [line["kind"] for line in episode.messages if line["kind"] in ("answer", "dropped")]
    assert episode.record.usage.first_drop == answers.index("dropped") + 1
    assert episode.record.usage.dropped_results == sum(line.get("results", 0) for line in episode.messages)
    assert stub.received[-1].messages[1]["content"].startswith("Add up to the number of T-1.")


async def test_a_request_that_the_endpoint_finds_too_long_is_shortened_and_sent_again(played: Player) -> None:
    quiet = [tool_call_message(("add", {"amount": 0})) for _ in range(6)]
    episode, stub = await played(ScriptedReplies(*quiet, TOO_LONG, tool_call_message(ADD_1, ADD_2)))
    assert (episode.record.success, len(stub.received)) == (True, 8)
    refused, accepted = (len(received.messages) for received in stub.received[-2:])
    assert accepted < refused


async def test_an_episode_whose_conversation_cannot_be_shortened_is_given_up(played: Player) -> None:
    episode, _ = await played(ScriptedReplies(tool_call_message(ADD_1), TOO_LONG))
    assert (episode.record.outcome, episode.trouble) == (Outcome.FAILED, None)
    assert episode.record.usage.stopped == CONTEXT_FULL


async def test_many_episodes_are_played_at_once_with_separate_usage(tiny_url: str) -> None:
    plans = [EpisodePlan(scenario="tiny", seed=3, chaos=level, policy="llm") for level in range(6)]

    class Slow(ScriptedReplies):
        async def reply(self, received: Any) -> Reply:
            await super().reply(received)
            return completion(tool_call_message(ADD_1, ADD_2), received)

    with StubServer(Slow(text_message(""), pause_s=0.05)) as stub:
        model = a_model(stub.url)
        episodes = await play_all(tiny_url, plans, parallel=4, make_policy=lambda _name: LlmPolicy(model))
    assert [episode.record.usage.requests for episode in episodes if episode.record.usage] == [1] * 6
    assert all(episode.record.success for episode in episodes)
