"""The viewer's page and server: hostile text is escaped, the export is self-contained, and the server is read-only."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from companyos.viewer import SCRIPTS, STYLE, export_page, server_page, static_file
from companyos.viewer.server import ViewerServer
from companyos.viewer.stored_run import StoredRun
from tests.client.stored_runs import LINES, a_line, evidence, judge, write_episode

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]> & &lt; \u2028 \u202e \x00 \x1b[31m",
    "\"'><svg/onload=alert(1)>",
    "\ud800 alone",
]


class Parts(HTMLParser):
    """Parses a page: its elements, and the contents of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style") and data.strip():
            self.texts.append((*self.tags[-1], data))

    def executed(self) -> list[str]:
        return [text for tag, about, text in self.texts if tag == "script" and "type" not in about]

    def data(self, kind: str) -> list[Any]:
        return [json.loads(text) for tag, about, text in self.texts if tag == "script" and about.get("class") == kind]


def an_export(run: Path) -> str:
    stored = StoredRun(run)
    return export_page(stored.document(), [stored.episode(name, judge) for name in stored.names])


def test_an_export_is_one_file_without_external_resources(tmp_path: Path) -> None:
    write_episode(tmp_path)
    page = an_export(tmp_path)
    parts = Parts(page)
    assert not [about for tag, about in parts.tags if tag == "script" and "src" in about]
    assert [about["href"] for tag, about in parts.tags if "href" in about] == ["data:,"]
    assert set(re.findall(r"https?://[^\s\"'`]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in page
    assert "url(" not in page


def test_only_the_scripts_and_styles_of_the_export_may_run(tmp_path: Path) -> None:
    write_episode(tmp_path)
    parts = Parts(an_export(tmp_path))
    (policy,) = [about["content"] for tag, about in parts.tags if about.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    texts = [text for tag, about, text in parts.texts if "type" not in about]
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts]
    assert len(parts.executed()) == len(SCRIPTS)
    assert {*rules["script-src"].split(), rules["style-src"]} == set(hashes)
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy


def test_hostile_text_closes_no_script_and_is_decoded_unchanged(tmp_path: Path) -> None:
    lines = [a_line(number, arguments={"text": text}, result=text) for number, text in enumerate(HOSTILE, start=1)]
    name = write_episode(tmp_path, lines=lines, stored=evidence(changes=[], audits=[], brief="".join(HOSTILE[:4])))
    parts = Parts(an_export(tmp_path))
    assert {tag for tag, _ in parts.tags} <= {
        "html",
        "head",
        "meta",
        "title",
        "link",
        "style",
        "body",
        "main",
        "p",
        "noscript",
        "code",
        "script",
    }
    (episode,) = parts.data("viewer-episode")
    assert [step["arguments"]["text"] for step in episode["steps"]] == HOSTILE
    assert episode["brief"] == "".join(HOSTILE[:4])
    assert episode["facts"]["name"] == name
    assert len(parts.executed()) == len(SCRIPTS)


def test_a_hostile_name_stays_in_its_attribute(tmp_path: Path) -> None:
    write_episode(tmp_path, policy='"><img src=x onerror=alert(1)>')
    folder = tmp_path / "<script>alert(1)<"
    folder.mkdir()
    for part in ("trajectories", "evidence", "episodes.jsonl"):
        (tmp_path / part).rename(folder / part)
    parts = Parts(an_export(folder))
    assert "img" not in {tag for tag, _ in parts.tags}
    assert len(parts.executed()) == len(SCRIPTS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_inserts_data_as_markup(name: str) -> None:
    text = static_file(name)
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "DOMParser",
    ):
        assert forbidden not in text
    assert "</script" not in text.lower()
    assert "<!--" not in text


def test_the_page_of_a_server_names_its_files_and_the_url_of_the_episode(tmp_path: Path) -> None:
    page = server_page(
        "An <episode>", static="/viewer", source={"episode": "/e?a=1&b=</script>", "events": "/e/events"}
    )
    parts = Parts(page)
    assert [about["src"] for tag, about in parts.tags if "src" in about] == [f"/viewer/{name}" for name in SCRIPTS]
    assert f"/viewer/{STYLE}" in [about.get("href") for _, about in parts.tags]
    assert parts.data("viewer-source") == [{"episode": "/e?a=1&b=</script>", "events": "/e/events"}]
    assert parts.executed() == []


def test_a_file_outside_of_the_static_folder_is_not_served() -> None:
    with pytest.raises(KeyError):
        static_file("../page.py")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_episode(tmp_path)
    return tmp_path


@pytest.fixture
def served(run: Path) -> Iterator[httpx.Client]:
    with ViewerServer(StoredRun(run), load_rescorer=lambda: judge) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with httpx.Client(base_url=server.url) as client:
            yield client
        server.shutdown()
        thread.join()


def test_a_server_serves_page_files_and_documents(served: httpx.Client) -> None:
    page = served.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in page.headers["content-security-policy"]
    for name in (*SCRIPTS, STYLE):
        assert served.get(f"/static/{name}").text == static_file(name)
    (facts,) = served.get("/run.json").json()["episodes"]
    episode = served.get(facts["document"]).json()
    assert len(episode["steps"]) == len(LINES)
    assert episode["judged"] is None
    judged = served.get(facts["judged"]).json()
    assert judged["verdict"]["success"] is True
    assert judged["steps"][-1]["turned"] == [{"id": "ticket_closed", "passed": True}]


def test_a_growing_run_is_read_again(served: httpx.Client, run: Path) -> None:
    write_episode(run, seed=7)
    assert [facts["seed"] for facts in served.get("/run.json").json()["episodes"]] == [0, 7]


@pytest.mark.parametrize(
    "path",
    ["/static/page.py", "/static/..%2fpage.py", "/episodes/..%2f..%2fetc", "/episodes/", "/nothing", "//etc/passwd"],
)
def test_other_paths_are_not_found(served: httpx.Client, path: str) -> None:
    answer = served.get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"title"}


def test_a_request_with_another_host_is_rejected(served: httpx.Client) -> None:
    assert served.get("/run.json", headers={"Host": "evil.example"}).status_code == 403
    assert served.post("/run.json").status_code == 501


def test_a_deleted_run_is_reported(served: httpx.Client, run: Path) -> None:
    (run / "episodes.jsonl").unlink()
    answer = served.get("/run.json")
    assert (answer.status_code, "episodes.jsonl is missing" in answer.json()["title"]) == (404, True)
