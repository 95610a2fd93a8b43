"""The trainer's view of an episode played on pages: its end, its reward, and the pages that a browser may open."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from companyos.enterprise import Enterprise
from companyos.errors import ApiError
from companyos.integrations.page_episode import MAX_SUMMARY_CHARACTERS, HttpTrainer, PageEpisode, seeded_options

pytestmark = pytest.mark.integration

TOKEN = "of-the-trainer-alone"
GOAL = [{"role": "assistant", "message": "Hi!"}, {"role": "user", "message": "the brief"}]
DONE = {"role": "assistant", "message": "Done."}
INFEASIBLE = {"role": "infeasible", "message": "No such vendor."}


@pytest.fixture(scope="module")
def trainer() -> Iterator[HttpTrainer]:
    """Give the trainer of an enterprise that asks for its token."""
    with Enterprise(settings={"COMPANYOS_TRAINER_TOKEN": TOKEN}, alone=True) as enterprise:
        trainer = HttpTrainer(enterprise.url, TOKEN)
        yield trainer
        trainer.close()


@pytest.fixture
def episode(trainer: HttpTrainer) -> Iterator[PageEpisode]:
    """Provide an episode of a vendor onboarding."""
    episode = PageEpisode(trainer, {"scenario": "vendor_onboarding", "seed": 7, "chaos": 0})
    yield episode
    episode.close()


def _submit(browser: httpx.Client, episode: PageEpisode, form: str, **fields: str) -> httpx.Response:
    pages = episode.start_url.partition("?")[0]
    return browser.post(f"{pages}/-/{form}", data={"_form": form, "_page": "", **fields})


@pytest.fixture
def browser(episode: PageEpisode) -> Iterator[httpx.Client]:
    """Provide a client with the cookie of the start page, like the agent's browser."""
    with httpx.Client(follow_redirects=True, timeout=60, trust_env=False) as browser:
        start = browser.get(episode.start_url).raise_for_status().text
        assert episode.brief in html.unescape(re.sub(r"<[^>]+>", "", start))  # without the links of its IDs
        yield browser


def test_a_submitted_form_pays_once_and_the_form_on_the_start_page_ends_the_episode(
    episode: PageEpisode, browser: httpx.Client
) -> None:
    assert episode.advance(GOAL)[0] == 0
    _submit(browser, episode, "wait", **{"minutes:int": "5"}).raise_for_status()
    assert [episode.advance(GOAL)[0] for _ in range(2)] == [pytest.approx(-0.1), 0]
    _submit(browser, episode, "finish", outcome="impossible", summary="It cannot be done.").raise_for_status()
    reward, state = episode.advance(GOAL)
    assert (state.done, state.success, state.step_count) == (True, False, 2)
    assert reward == pytest.approx(state.return_ + 0.1)


@pytest.mark.parametrize("message", [DONE, INFEASIBLE, DONE | {"message": "\ud800" * (MAX_SUMMARY_CHARACTERS + 1)}])
def test_a_final_message_to_the_user_is_a_finish(episode: PageEpisode, message: dict[str, Any]) -> None:
    reward, state = episode.advance([*GOAL, message])
    assert (state.done, state.success, state.step_count) == (True, False, 1)
    assert reward == pytest.approx(state.return_)
    assert episode.advance([*GOAL, message, DONE]) == (0, state)


def test_a_message_followed_by_a_user_message_ends_nothing(episode: PageEpisode) -> None:
    assert not episode.advance([*GOAL, DONE, {"role": "user", "message": "Not yet."}])[1].done


def test_the_browser_cannot_open_trainer_routes(
    trainer: HttpTrainer, episode: PageEpisode, browser: httpx.Client
) -> None:
    pages = episode.start_url.partition("?")[0]
    assert TOKEN not in episode.start_url
    assert "REWARD" not in browser.get(pages).text.upper()
    own = [pages, f"{pages}/ticketdesk/?words=a", episode.start_url, f"{trainer.url}/static/pages/pages.css"]
    foreign = [
        *(f"{trainer.url}{path}" for path in ("/", "/console", "/state", f"/v1/episodes/{episode.id}/state")),
        *(f"{pages}x", pages[:-1], "file:///etc/passwd", "https://example.org/", f"https://example.org/?{pages}"),
        pages.replace(episode.id, "another"),
    ]
    assert [address for address in own if episode.foreign_addresses.search(address)] == []
    assert [address for address in foreign if not episode.foreign_addresses.search(address)] == []
    assert browser.get(f"{trainer.url}/v1/episodes/{episode.id}/state").status_code == 401


def test_an_ended_episode_is_deleted_and_may_be_closed_again(trainer: HttpTrainer, episode: PageEpisode) -> None:
    episode.close()
    with pytest.raises(ApiError, match="unknown-episode"):
        episode.advance(GOAL)
    episode.close()


def test_the_seed_selects_a_task_of_the_split(trainer: HttpTrainer) -> None:
    tasks = trainer.tasks("validation", scenario="vendor_onboarding")
    assert {task.split(".")[1] for task in tasks} == {"vendor_onboarding"}
    chosen = [
        seeded_options(trainer, {"split": "validation", "scenario": "vendor_onboarding", "toolset": "task"}, seed)
        for seed in (0, 1, len(tasks))
    ]
    assert chosen[0] == chosen[2] == {"task_id": tasks[0], "toolset": "task"} != chosen[1]
    assert seeded_options(trainer, {"task_id": tasks[2]}, 5) == {"task_id": tasks[2]}
    assert seeded_options(trainer, {"scenario": "expense_report"}, 5) == {"scenario": "expense_report", "seed": 5}
    with pytest.raises(ApiError, match="named 'nope'"):
        trainer.tasks("validation", scenario="nope")
    with pytest.raises(ValueError, match="split validation has no task with scenario=shift-day and chaos=7"):
        trainer.tasks("validation", scenario="shift-day", chaos=7)
    assert trainer.tasks("validation", scenario="shift-day", chaos=0)[0] == "validation.shift-day.0.00"


def test_the_errors_name_the_server_and_the_option(trainer: HttpTrainer) -> None:
    with pytest.raises(ApiError, match="colour"):
        PageEpisode(trainer, {"colour": "blue"})  # type: ignore[typeddict-unknown-key]
    with closing(HttpTrainer(trainer.url)) as unauthenticated, pytest.raises(ApiError, match="token-required"):
        unauthenticated.scenarios()
    with closing(HttpTrainer("http://127.0.0.1:1")) as lost, pytest.raises(ConnectionError, match=r"127\.0\.0\.1:1"):
        lost.scenarios()
