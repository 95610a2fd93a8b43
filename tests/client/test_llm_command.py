"""`companyos eval --policy llm`: instructive option errors, totals below the table, and resuming a stopped run."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.policies.llm.stub import Reply, StubRequest, StubServer, completion, error_reply
from tests.client.conftest import running_tiny
from tests.client.llm_scripts import EVERY_API, ScriptedReplies, text_message, tool_call_message
from tests.client.test_llm_apis import USAGES

RUNNER = CliRunner()
EVAL_LLM = ["eval", "--policy", "llm", "--model", "m-1"]
DONE = tool_call_message(("add", {"amount": 3}), ("finish", {}))


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test depend on what this machine's environment says of endpoints."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["eval", "--policy", "llm"], "--policy llm needs --model NAME"),
        (["eval", "--policy", "noop", "--model", "m-1"], "--model and --dry-run need --policy llm"),
        (["eval", "--policy", "noop", "--dry-run"], "--model and --dry-run need --policy llm"),
        (EVAL_LLM, "OPENAI_API_KEY is not set; https://api.openai.com/v1 requires a key"),
        ([*EVAL_LLM, "--api", "anthropic"], "ANTHROPIC_API_KEY is not set; https://api.anthropic.com requires a key"),
        ([*EVAL_LLM, "--api", "gemini"], "api must be one of chat, responses, anthropic; got 'gemini'"),
        ([*EVAL_LLM, "--base-url", "localhost:8080"], "base_url must be an HTTP URL"),
        ([*EVAL_LLM, "--base-url", "https://me:pass@host/v1"], "base_url must not contain credentials"),
        ([*EVAL_LLM, "--base-url", "https://host/v1?key=1"], "base_url must not contain credentials"),
        ([*EVAL_LLM, "--base-url", "http://h/v1", "--price-in", "1"], "the cost requires both prices"),
        ([*EVAL_LLM, "--base-url", "http://h/v1", "--extra-body", "{"], "--extra-body must be valid JSON:"),
        ([*EVAL_LLM, "--base-url", "http://h/v1", "--extra-body", "[]"], "--extra-body must be a JSON object"),
        ([*EVAL_LLM, "--base-url", "http://h/v1", "--extra-body", '{"tools": []}'], "tools cannot be set"),
        ([*EVAL_LLM, "--base-url", "http://h/v1", "--max-cost", "1"], "--max-cost needs --price-in and --price-out"),
        ([*EVAL_LLM, "--base-url", "http://h/v1", "--episode-max-cost", "1"], "a limit of the cost requires prices"),
        (["eval", "--policy", "noop", "--resume"], "--resume and --overwrite need --out DIR"),
    ],
)
def test_a_usage_error_is_reported_before_anything_starts(arguments: list[str], words: str) -> None:
    answer = RUNNER.invoke(app, arguments)
    assert (answer.exit_code, words in answer.stderr) == (2, True), answer.stderr


def test_the_key_has_no_option_and_the_help_names_its_variable() -> None:
    message = RUNNER.invoke(app, ["eval", "--help"], terminal_width=200).stdout
    assert "--api-key" not in message
    assert "OPENAI_API_KEY" in message
    assert "OPENAI_BASE_URL" in message
    assert "ANTHROPIC_BASE_URL" in message


@EVERY_API
def test_key_and_base_url_are_those_of_the_provider(tiny_url: str, api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = ("ANTHROPIC", "OPENAI") if api == "anthropic" else ("OPENAI", "ANTHROPIC")
    monkeypatch.setenv(f"{other}_API_KEY", "sk-other")
    monkeypatch.setenv(f"{other}_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv(f"{own}_API_KEY", "sk-own")
    with StubServer(ScriptedReplies(DONE)) as stub:
        monkeypatch.setenv(f"{own}_BASE_URL", stub.url if api == "anthropic" else f"{stub.url}/v1")
        options = ["--scenario", "tiny", "--seed", "3", "-n", "1", "--url", tiny_url, "--api", api]
        answer = RUNNER.invoke(app, [*EVAL_LLM, *options])
    assert answer.exit_code == 0, answer.output
    assert stub.received[0].headers["x-api-key" if api == "anthropic" else "authorization"].endswith("sk-own")
    assert not [value for value in stub.received[0].headers.values() if "sk-other" in value]


def test_the_base_url_of_the_messages_api_may_end_in_its_version(tiny_url: str) -> None:
    options = ["--scenario", "tiny", "--seed", "3", "-n", "1", "--url", tiny_url, "--api", "anthropic"]
    with StubServer(ScriptedReplies(DONE)) as stub:
        answers = [
            RUNNER.invoke(app, [*EVAL_LLM, *options, "--base-url", stub.url + end]) for end in ("", "/v1", "/v1/")
        ]
    assert [answer.exit_code for answer in answers] == [0, 0, 0]
    assert {received.path for received in stub.received} == {""}


@EVERY_API
def test_cached_and_reasoning_tokens_are_shown_below_the_table_and_cost_less(tiny_url: str, api: str) -> None:
    class Cached:
        async def reply(self, received: StubRequest) -> Reply:
            reply = completion(DONE, received)
            return Reply(body=reply.body | {"usage": USAGES[api]})

    options = ["--scenario", "tiny", "--seed", "3", "-n", "1", "--url", tiny_url, "--api", api]
    prices = ["--price-in", "3", "--price-out", "15", "--price-cached", "0.3", "--price-cache-write", "3.75"]
    with StubServer(Cached()) as stub:
        answer = RUNNER.invoke(app, [*EVAL_LLM, *options, *prices, "--base-url", stub.url])
    assert answer.exit_code == 0, answer.output
    assert "tokens of m-1: 60 read from the cache, 30 written to it, 8 of reasoning" in answer.stdout
    [sums] = [line.split() for line in answer.stdout.splitlines() if line.split()[:3] == ["m-1", "1", "episode"]]
    assert float(sums[-1]) == pytest.approx(0.0005)


def test_totals_and_means_are_shown_below_the_table(tiny_url: str) -> None:
    with StubServer(ScriptedReplies(DONE)) as stub:
        options = ["--scenario", "tiny", "--seed", "3", "-n", "1", "--chaos", "0", "--chaos", "1", "--url", tiny_url]
        prices = ["--price-in", "2.5", "--price-out", "10"]
        answer = RUNNER.invoke(app, [*EVAL_LLM, "--base-url", stub.url, *options, *prices])
    assert answer.exit_code == 0, answer.output
    rows = [line.split() for line in answer.stdout.splitlines()]
    [sums] = [row for row in rows if row[:3] == ["m-1", "2", "episodes"]]
    [means] = [row for row in rows if row[:1] == ["each"]]
    assert (sums[3], means[1]) == ("2", "1.0")
    assert float(sums[-1]) == pytest.approx(2 * float(means[-1]), abs=2e-4)
    assert float(sums[-1]) > 0


def test_content_dropped_from_the_context_is_reported_below_the_table(tiny_url: str) -> None:
    quiet = [tool_call_message(("add", {"amount": 0})) for _ in range(12)]
    with StubServer(ScriptedReplies(*quiet, DONE)) as stub:
        options = ["--scenario", "tiny", "--seed", "3", "-n", "1", "--context-limit", "1200", "--url", tiny_url]
        answer = RUNNER.invoke(app, [*EVAL_LLM, "--base-url", stub.url, *options])
    assert re.search(r"dropped to save context: \d+ tool results? and \d+ turns?, from request \d+ on", answer.stdout)


def test_a_model_that_gives_up_is_reported(tiny_url: str) -> None:
    with StubServer(ScriptedReplies(text_message("Hello."))) as stub:
        options = ["--scenario", "tiny", "-n", "1", "--url", tiny_url, "--base-url", stub.url]
        answer = RUNNER.invoke(app, [*EVAL_LLM, *options])
    assert answer.exit_code == 0, answer.output
    assert "note: m-1 gave up 1 of 1 episodes" in answer.stderr


def test_a_run_stopped_by_an_endpoint_error_is_reported_stored_and_can_be_resumed(
    tiny_url: str, tmp_path: Path
) -> None:
    options = ["--scenario", "tiny", "--seed", "3", "-n", "3", "--parallel", "1", "--url", tiny_url]
    kept = ["--out", str(tmp_path / "run")]
    with StubServer(ScriptedReplies(DONE, error_reply(401, "Your key has expired."), DONE)) as stub:
        received = [*EVAL_LLM, "--base-url", stub.url, *options, *kept]
        first = RUNNER.invoke(app, received)
        again = RUNNER.invoke(app, [*received, "--resume"])
    assert first.exit_code == 1, first.output
    assert "stopped after 1 of 3 episodes; continue it with --resume" in first.stderr
    assert "error: the endpoint returned 401: " in first.stderr
    assert "Your key has expired." in first.stderr
    assert again.exit_code == 0, again.output
    assert "3 episodes in" in again.stdout
    records = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert [record["seed"] for record in records] == [3, 4, 5]
    assert len(stub.received) > 3


class StoppingReplies(ScriptedReplies):
    """Returns its reply, and stops the environment before the second one."""

    def __init__(self, stop: Callable[[], None]) -> None:
        super().__init__(DONE)
        self._stop = stop
        self._received = 0

    async def reply(self, received: StubRequest) -> Reply:
        self._received += 1
        if self._received == 2:
            await asyncio.to_thread(self._stop)
        return await super().reply(received)


def test_a_run_whose_server_stops_reports_its_episodes_and_can_be_resumed(tmp_path: Path) -> None:
    with running_tiny() as (url, stop), StubServer(StoppingReplies(stop)) as stub:
        options = ["--scenario", "tiny", "-n", "5", "--parallel", "1", "--url", url, "--out", str(tmp_path / "run")]
        answer = RUNNER.invoke(app, [*EVAL_LLM, "--base-url", stub.url, *options])
    assert answer.exit_code == 1, answer.output
    assert "2 episodes in" in answer.stdout
    assert "stopped after 2 of 5 episodes; continue it with --resume" in answer.stderr
    assert "error: Failed to connect to ws:" in answer.stderr


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (["--max-tokens", "1"], "tokens"),
        (["--max-cost", "0.000001", "--price-in", "2", "--price-out", "8"], "the run has cost 0.00 of at most 0.00"),
        (["--time-limit", "0"], "of at most 0 seconds"),
    ],
)
def test_a_run_stops_at_a_limit_and_can_be_resumed_without_it(
    tiny_url: str, tmp_path: Path, limit: list[str], message: str
) -> None:
    options = ["--scenario", "tiny", "--seed", "3", "-n", "3", "--parallel", "1", "--url", tiny_url]
    prices = limit[2:]
    with StubServer(ScriptedReplies(DONE)) as stub:
        received = [*EVAL_LLM, "--base-url", stub.url, *options, "--out", str(tmp_path / "run"), *prices]
        first = RUNNER.invoke(app, [*received, *limit[:2]])
        same = RUNNER.invoke(app, [*received, *limit[:2], "--resume"])
        again = RUNNER.invoke(app, [*received, "--resume"])
    assert first.exit_code == 1, first.output
    assert "stopped after 1 of 3 episodes; continue it with --resume" in first.stderr
    assert message in first.stderr
    assert same.exit_code == 1
    assert again.exit_code == 0, again.output
    records = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert [record["seed"] for record in records] == [3, 4, 5]
    assert len(stub.received) == 3


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (["--episode-max-tokens", "1"], "of at most 1 tokens"),
        (["--episode-max-cost", "0.000001", "--price-in", "2", "--price-out", "8"], "of at most 0.0000"),
    ],
)
def test_an_episode_is_given_up_at_a_limit(tiny_url: str, tmp_path: Path, limit: list[str], message: str) -> None:
    options = ["--scenario", "tiny", "--seed", "3", "-n", "1", "--url", tiny_url, "--out", str(tmp_path / "run")]
    with StubServer(ScriptedReplies(tool_call_message(("add", {"amount": 0})))) as stub:
        answer = RUNNER.invoke(app, [*EVAL_LLM, "--base-url", stub.url, *options, *limit])
    assert answer.exit_code == 0, answer.output
    assert len(stub.received) == 1
    (record,) = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    assert message in record["usage"]["stopped"]
