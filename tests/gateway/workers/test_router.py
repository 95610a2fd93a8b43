"""The router over HTTP, in front of workers that are sockets of this process with given responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from companyos_gateway.workers.pool import WorkerPool
from companyos_gateway.workers.router import Router

PROBLEM = "X-CompanyOS-Problem"


@dataclass
class Answering:
    """A worker: the status and header of its responses by request, and the requests that it has received."""

    answers: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Respond to one request and close; a request without a given response gets none."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        request = " ".join(head.split(" ")[:2])
        self.seen.append(request)
        status, _, header = self.answers.get(request, "").partition(" ")
        if status:
            lines = [f"HTTP/1.1 {status} Reason", "Connection: close", "Content-Length: 2", *filter(None, [header])]
            writer.write(("\r\n".join(lines) + "\r\n\r\n{}").encode())
        writer.close()


class _Pool(WorkerPool):
    """Workers that the test runs itself."""

    async def __aenter__(self) -> _Pool:
        return self

    async def stop(self) -> None:
        """Do nothing; the test ends the workers."""


@asynccontextmanager
async def _routed(folder: Path, *workers: Answering) -> AsyncIterator[httpx.AsyncClient]:
    pool = _Pool(len(workers), folder / "data", folder)
    servers = [
        await asyncio.start_unix_server(worker.serve, str(one.socket))
        for worker, one in zip(workers, pool.workers, strict=True)
    ]
    router = Router(pool, None)
    async with router._running(), httpx.AsyncClient(transport=httpx.ASGITransport(router), base_url="http://r") as http:
        yield http
    for server in servers:
        server.close()


@pytest.fixture
def workers() -> tuple[Answering, Answering]:
    return Answering(), Answering()


async def test_the_worker_of_a_name_is_looked_up_once_and_remembered(
    tmp_path: Path, workers: tuple[Answering, Answering]
) -> None:
    for worker, answer in zip(workers, (f"404 {PROBLEM}: unknown-episode", "200"), strict=True):
        worker.answers["GET /v1/episodes/a"] = worker.answers["GET /v1/episodes/b"] = answer
    async with _routed(tmp_path, *workers) as http:
        for name in "ab" * 3:
            assert (await http.get(f"/v1/episodes/{name}")).status_code == 200
    assert len(workers[1].seen) == 6
    assert len(workers[0].seen) <= 2


async def test_a_404_of_a_service_is_returned_without_trying_other_workers(
    tmp_path: Path, workers: tuple[Answering, Answering]
) -> None:
    for worker in workers:
        worker.answers["GET /v1/episodes/a/services/x/tickets/OPS-1"] = "404"
    async with _routed(tmp_path, *workers) as http:
        assert (await http.get("/v1/episodes/a/services/x/tickets/OPS-1")).status_code == 404
    assert len(workers[0].seen) + len(workers[1].seen) == 1


async def test_if_no_worker_knows_the_name_404_takes_precedence_over_401(
    tmp_path: Path, workers: tuple[Answering, Answering]
) -> None:
    for worker, answer in zip(workers, ("401 {}: unknown-token", "404 {}: unknown-episode"), strict=True):
        worker.answers["GET /v1/episodes/a"] = worker.answers["GET /v1/episodes/b"] = answer.format(PROBLEM)
    async with _routed(tmp_path, *workers) as http:
        assert [(await http.get(f"/v1/episodes/{name}")).status_code for name in "ab"] == [404, 404]


@pytest.mark.parametrize("path", ["/metrics", "/v1/episodes", "/v1/snapshots", "/v1/quarantine"])
async def test_the_refusal_of_the_worker_that_knows_an_episode_token_takes_precedence(
    tmp_path: Path, workers: tuple[Answering, Answering], path: str
) -> None:
    for worker, answer in zip(workers, ("401 {}: unknown-token", "403 {}: trainer-token-required"), strict=True):
        worker.answers[f"GET {path}"] = answer.format(PROBLEM)
    async with _routed(tmp_path, *workers) as http:
        refused = await http.get(path)
    assert (refused.status_code, refused.headers[PROBLEM]) == (403, "trainer-token-required")


async def test_a_request_whose_worker_exits_gets_no_response(
    tmp_path: Path, workers: tuple[Answering, Answering]
) -> None:
    async with _routed(tmp_path, *workers) as http:
        answer = await http.post("/step", json={"episode_id": "a"})
    assert (answer.status_code, answer.json()["code"]) == (504, "unanswered")
    assert len(workers[0].seen) + len(workers[1].seen) == 1


async def test_a_rejected_request_does_not_assign_an_episode_to_a_worker(
    tmp_path: Path, workers: tuple[Answering, Answering]
) -> None:
    for worker in workers:
        worker.answers |= {"PUT /v1/episodes/p": "405", "POST /v1/episodes": "409"}
    workers[0].answers["GET /v1/episodes/p"] = f"404 {PROBLEM}: unknown-episode"
    workers[1].answers["GET /v1/episodes/p"] = "200"
    async with _routed(tmp_path, *workers) as http:
        for _ in range(2):
            await http.put("/v1/episodes/p")
            await http.post("/v1/episodes", json={"episode_id": "p"})
    assert "POST /v1/episodes" not in workers[0].seen
    assert workers[1].seen.count("POST /v1/episodes") == 2
