"""The trainer's routes of a running CompanyOS over plain HTTP: episodes, snapshots, forks, differences, databases."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import Mapping
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlsplit

import httpx
from pydantic import TypeAdapter, ValidationError

from companyos.contract import (
    ENVIRONMENT,
    CompanyOSState,
    EpisodeDiff,
    OpenedEpisode,
    ScenarioInfo,
    SnapshotInfo,
    SplitInfo,
    TaskInfo,
)
from companyos.errors import ApiError
from companyos.schemas import QuarantineItem

TIMEOUT_S = 30.0
UNEXPECTED_RESPONSE = "unexpected-answer"
"""The one code of the client's own: what answers is no CompanyOS, or another version of it."""

T = TypeVar("T")

_NOT_READY = 503

_STATE = TypeAdapter(CompanyOSState)
_STATES = TypeAdapter(list[CompanyOSState])
_SNAPSHOT = TypeAdapter(SnapshotInfo)
_SNAPSHOTS = TypeAdapter(list[SnapshotInfo])
_OPENED = TypeAdapter(list[OpenedEpisode])
_DIFF = TypeAdapter(EpisodeDiff)
_ITEM = TypeAdapter(QuarantineItem)
_ITEMS = TypeAdapter(list[QuarantineItem])
_SCENARIOS = TypeAdapter(list[ScenarioInfo])
_SPLITS = TypeAdapter(list[SplitInfo])
_TASK = TypeAdapter(dict[Literal["task"], TaskInfo])
_TASKS = TypeAdapter(dict[Literal["tasks"], list[TaskInfo]])
_COUNT = TypeAdapter(dict[Literal["num_tasks"], int])
_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_LINES: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(list[dict[str, Any]])


def bearer(token: str | None) -> dict[str, str]:
    """Return the header that carries a token; nothing for none."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


class Trainer:
    """One server as its trainer speaks to it. It serves one event loop; `aclose` ends its connections.

    Every method raises ApiError with our code when the server refuses, ConnectionError when it cannot be reached
    and TimeoutError when it does not answer within `timeout_s`.
    """

    def __init__(
        self, base_url: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._base_url = base_url.replace("ws", "http", 1) if base_url.startswith("ws") else base_url
        self._timeout_s = timeout_s
        self._http = httpx.AsyncClient(
            headers=dict(headers or {}),
            timeout=timeout_s,
            trust_env=not _is_loopback(self._base_url),
            verify=self._base_url.startswith("https"),
        )
        self.loop = asyncio.get_running_loop()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Trainer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def scenarios(self) -> list[ScenarioInfo]:
        """Return the scenarios, by name."""
        return await self._read(_SCENARIOS, "GET", "/v1/scenarios")

    async def splits(self) -> list[SplitInfo]:
        """Return the splits of the task set."""
        return await self._read(_SPLITS, "GET", f"/{ENVIRONMENT}/splits")

    async def num_tasks(self, split: str) -> int:
        """Return how many tasks a split has."""
        response = await self._read(_COUNT, "POST", f"/{ENVIRONMENT}/num_tasks", {"split": split})
        return response["num_tasks"]

    async def task(self, split: str, index: int) -> TaskInfo:
        """Return one task with its brief."""
        response = await self._read(_TASK, "POST", f"/{ENVIRONMENT}/task", {"split": split, "index": index})
        return response["task"]

    async def tasks(self, split: str, start: int | None = None, stop: int | None = None) -> list[TaskInfo]:
        """Return the tasks from start to before stop, as Python slices, without their briefs."""
        body = {"split": split, "start": start, "stop": stop}
        return (await self._read(_TASKS, "POST", f"/{ENVIRONMENT}/task_range", body))["tasks"]

    async def services(self) -> list[str]:
        """Return the names of the services behind the server, in order, whether it is ready or not."""
        response = await self._request("GET", "/readyz", accepted_status=_NOT_READY)
        return sorted(self._parse(_OBJECT, "/readyz", response).get("services", ()))

    async def episodes(self) -> list[CompanyOSState]:
        """Return the live episodes as their trainer sees them."""
        return await self._read(_STATES, "GET", "/v1/episodes")

    async def episode(self, episode_id: str) -> CompanyOSState:
        """Return where an episode stands."""
        return await self._read(_STATE, "GET", f"/v1/episodes/{_path_segment(episode_id)}")

    async def drop(self, episode_id: str) -> None:
        """End an episode and free what it holds."""
        await self._request("DELETE", f"/v1/episodes/{_path_segment(episode_id)}")

    async def evidence(self, episode_id: str) -> dict[str, Any]:
        """Return what an episode is judged by."""
        return await self._read(_OBJECT, "GET", f"/v1/episodes/{_path_segment(episode_id)}/evidence")

    async def steps(self, episode_id: str) -> list[dict[str, Any]]:
        """Return the steps of an episode as the viewer tells them, whoever has taken them."""
        path = f"/console/episodes/{_path_segment(episode_id)}/document"
        return _LINES.validate_python((await self._read(_OBJECT, "GET", path)).get("steps", []))

    async def snapshot(self, episode_id: str) -> SnapshotInfo:
        """Keep an episode as it stands now."""
        return await self._read(_SNAPSHOT, "POST", f"/v1/episodes/{_path_segment(episode_id)}/snapshots")

    async def restore(self, episode_id: str, snapshot_id: str) -> CompanyOSState:
        """Put an episode back to a snapshot of its own lineage."""
        path = f"/v1/episodes/{_path_segment(episode_id)}/restore"
        return await self._read(_STATE, "POST", path, {"snapshot": snapshot_id})

    async def snapshots(self) -> list[SnapshotInfo]:
        """Return the snapshots that the server keeps."""
        return await self._read(_SNAPSHOTS, "GET", "/v1/snapshots")

    async def snapshot_info(self, snapshot_id: str) -> SnapshotInfo:
        """Return what a snapshot holds."""
        return await self._read(_SNAPSHOT, "GET", f"/v1/snapshots/{_path_segment(snapshot_id)}")

    async def fork(self, snapshot_id: str, count: int = 1) -> list[OpenedEpisode]:
        """Open a snapshot as new episodes, all or none; each lives as long as any that is stepped over plain HTTP."""
        return await self._read(_OPENED, "POST", f"/v1/snapshots/{_path_segment(snapshot_id)}/fork", {"count": count})

    async def delete_snapshot(self, snapshot_id: str) -> None:
        """Forget a snapshot; episodes that were begun from it live on."""
        await self._request("DELETE", f"/v1/snapshots/{_path_segment(snapshot_id)}")

    async def quarantine(self) -> list[QuarantineItem]:
        """Return what the server could not read and moved aside."""
        return await self._read(_ITEMS, "GET", "/v1/quarantine")

    async def restore_from_quarantine(self, item_id: str) -> QuarantineItem:
        """Move an item of the quarantine back; the server's next start reads it again."""
        return await self._read(_ITEM, "POST", f"/v1/quarantine/{_path_segment(item_id)}/restore")

    async def remove_from_quarantine(self, item_id: str) -> None:
        """Delete an item of the quarantine for good."""
        await self._request("DELETE", f"/v1/quarantine/{_path_segment(item_id)}")

    async def diff(self, episode_id: str, *, from_: int = 0, to: int | None = None) -> EpisodeDiff:
        """Return the rows that differ between two steps of an episode; `to` left out is its last one."""
        query = f"?from={from_}" + ("" if to is None else f"&to={to}")
        return await self._read(_DIFF, "GET", f"/v1/episodes/{_path_segment(episode_id)}/diff{query}")

    async def database(self, episode_id: str, service: str) -> bytes:
        """Return a consistent copy of what a service holds of an episode, as the bytes of a SQLite file."""
        response = await self._request(
            "GET", f"/v1/episodes/{_path_segment(episode_id)}/databases/{_path_segment(service)}"
        )
        return response.content

    async def _read(self, adapter: TypeAdapter[T], method: str, path: str, body: Mapping[str, Any] | None = None) -> T:
        return self._parse(adapter, path, await self._request(method, path, body))

    def _parse(self, adapter: TypeAdapter[T], path: str, response: httpx.Response) -> T:
        try:
            return adapter.validate_json(response.content)
        except ValidationError as error:
            address, reason = f"{self._base_url}{path}", _first_validation_error(error)
            text = f"{UNEXPECTED_RESPONSE}: {address} does not answer as this version does: {reason}"
            raise ApiError(text, UNEXPECTED_RESPONSE, response.status_code) from None

    async def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, accepted_status: int | None = None
    ) -> httpx.Response:
        """Return the answer where it is a success, or has the status that is wanted also."""
        try:
            response = await self._http.request(method, self._base_url + path, json=body)
        except httpx.TimeoutException:
            raise TimeoutError(f"{self._base_url} did not answer within {self._timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConnectionError(
                f"Failed to connect to {self._base_url}: {str(error) or type(error).__name__}"
            ) from None
        if not response.is_success and response.status_code != accepted_status:
            raise error_from_response(response.status_code, response.content)
        return response


def error_from_response(status: int, body: bytes) -> ApiError:
    """Return the refusal that an HTTP answer carries, with our code where it is one of ours."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    match problem:
        case {"code": str(code), "title": str(title)}:
            return ApiError(f"{code}: {problem.get('detail') or title}", code, status)
    code = f"http-{status}"
    return ApiError(f"{code}: The server answered with status {status} and no word of ours.", code, status)


def _first_validation_error(error: ValidationError) -> str:
    """Say where an answer does not fit."""
    first_error = error.errors(include_input=False, include_url=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first_error["loc"])), first_error["msg"])))


def _path_segment(name: str) -> str:
    """Return a name as one segment of a path; raises ApiError for one that can be none."""
    if not name or "/" in name:
        raise ApiError(f"not-found: Nothing is called {name!r}.", "not-found")
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")


def _is_loopback(url: str) -> bool:
    """Say whether a server is on this machine, which is never asked for through a proxy."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
