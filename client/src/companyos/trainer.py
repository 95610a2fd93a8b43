"""HTTP client of the trainer API: episodes, snapshots, forks, diffs, databases and quarantine."""

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
from companyos.errors import ApiError, first_validation_error
from companyos.schemas import QuarantineItem

TIMEOUT_S = 30.0
UNEXPECTED_RESPONSE = "unexpected-response"
"""Error code of this client for a response that is not from this version of CompanyOS."""

T = TypeVar("T")

_NOT_READY = 503


def bearer(token: str | None) -> dict[str, str]:
    """Return the Authorization header of a token; empty without a token."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


class Trainer:
    """Client of one server's trainer API, bound to one event loop; `aclose` closes its connections.

    Every method raises ApiError if the server rejects the request, ConnectionError if it is unreachable, and
    TimeoutError after 30 seconds without a response.
    """

    def __init__(self, base_url: str, *, headers: Mapping[str, str] | None = None) -> None:
        self._base_url = base_url.replace("ws", "http", 1) if base_url.startswith("ws") else base_url
        self._http = httpx.AsyncClient(
            headers=dict(headers or {}),
            timeout=TIMEOUT_S,
            trust_env=not is_loopback(self._base_url),
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
        """Return the scenarios by name."""
        return await self._read(list[ScenarioInfo], "GET", "/v1/scenarios")

    async def splits(self) -> list[SplitInfo]:
        """Return the splits of the task set."""
        return await self._read(list[SplitInfo], "GET", f"/{ENVIRONMENT}/splits")

    async def num_tasks(self, split: str) -> int:
        """Return the number of tasks of a split."""
        kind, path = dict[Literal["num_tasks"], int], f"/{ENVIRONMENT}/num_tasks"
        return (await self._read(kind, "POST", path, {"split": split}))["num_tasks"]

    async def task(self, split: str, index: int) -> TaskInfo:
        """Return one task with its brief."""
        kind, path = dict[Literal["task"], TaskInfo], f"/{ENVIRONMENT}/task"
        return (await self._read(kind, "POST", path, {"split": split, "index": index}))["task"]

    async def tasks(self, split: str, start: int | None = None, stop: int | None = None) -> list[TaskInfo]:
        """Return the tasks from start to stop (exclusive, like a slice) without their briefs."""
        body = {"split": split, "start": start, "stop": stop}
        kind, path = dict[Literal["tasks"], list[TaskInfo]], f"/{ENVIRONMENT}/task_range"
        return (await self._read(kind, "POST", path, body))["tasks"]

    async def services(self) -> list[str]:
        """Return the names of the services in order, ready or not."""
        response = await self._request("GET", "/readyz", accepted_status=_NOT_READY)
        return sorted(self._parse(dict[str, Any], "/readyz", response).get("services", ()))

    async def episodes(self) -> list[CompanyOSState]:
        """Return the states of the live episodes."""
        return await self._read(list[CompanyOSState], "GET", "/v1/episodes")

    async def episode(self, episode_id: str) -> CompanyOSState:
        """Return the state of an episode."""
        return await self._read(CompanyOSState, "GET", f"/v1/episodes/{_path_segment(episode_id)}")

    async def drop(self, episode_id: str) -> None:
        """End an episode and free its resources."""
        await self._request("DELETE", f"/v1/episodes/{_path_segment(episode_id)}")

    async def evidence(self, episode_id: str) -> dict[str, Any]:
        """Return the evidence of an episode's verdict."""
        return await self._read(dict[str, Any], "GET", f"/v1/episodes/{_path_segment(episode_id)}/evidence")

    async def service_urls(self, episode_id: str) -> dict[str, str]:
        """Return the URLs of an episode's services by name, for REST requests; each request is a step."""
        return await self._read(dict[str, str], "POST", f"/v1/episodes/{_path_segment(episode_id)}/service-urls")

    async def steps(self, episode_id: str) -> list[dict[str, Any]]:
        """Return the steps of an episode in the viewer's format, from all clients."""
        path = f"/console/episodes/{_path_segment(episode_id)}/document"
        document = await self._read(dict[str, Any], "GET", path)
        return TypeAdapter(list[dict[str, Any]]).validate_python(document.get("steps", []))

    async def snapshot(self, episode_id: str) -> SnapshotInfo:
        """Save the current state of an episode."""
        return await self._read(SnapshotInfo, "POST", f"/v1/episodes/{_path_segment(episode_id)}/snapshots")

    async def restore(self, episode_id: str, snapshot: str | SnapshotInfo) -> CompanyOSState:
        """Restore an episode to a snapshot of its lineage."""
        path = f"/v1/episodes/{_path_segment(episode_id)}/restore"
        return await self._read(CompanyOSState, "POST", path, {"snapshot": _snapshot_id(snapshot)})

    async def snapshots(self) -> list[SnapshotInfo]:
        """Return the snapshots on the server."""
        return await self._read(list[SnapshotInfo], "GET", "/v1/snapshots")

    async def fork(self, snapshot: str | SnapshotInfo, count: int = 1) -> list[OpenedEpisode]:
        """Create new episodes from a snapshot, all or none; they expire like other episodes stepped over HTTP."""
        path = f"/v1/snapshots/{_path_segment(_snapshot_id(snapshot))}/fork"
        return await self._read(list[OpenedEpisode], "POST", path, {"count": count})

    async def delete_snapshot(self, snapshot: str | SnapshotInfo) -> None:
        """Delete a snapshot; episodes that started from it continue."""
        await self._request("DELETE", f"/v1/snapshots/{_path_segment(_snapshot_id(snapshot))}")

    async def quarantine(self) -> list[QuarantineItem]:
        """Return the items in quarantine."""
        return await self._read(list[QuarantineItem], "GET", "/v1/quarantine")

    async def restore_from_quarantine(self, item_id: str) -> QuarantineItem:
        """Move an item out of quarantine; the next start of the server reads it again."""
        return await self._read(QuarantineItem, "POST", f"/v1/quarantine/{_path_segment(item_id)}/restore")

    async def remove_from_quarantine(self, item_id: str) -> None:
        """Delete a quarantine item permanently."""
        await self._request("DELETE", f"/v1/quarantine/{_path_segment(item_id)}")

    async def diff(self, episode_id: str, *, from_: int = 0, to: int | None = None) -> EpisodeDiff:
        """Return the rows that differ between two steps of an episode; `to` defaults to the last step."""
        query = f"?from={from_}" + ("" if to is None else f"&to={to}")
        return await self._read(EpisodeDiff, "GET", f"/v1/episodes/{_path_segment(episode_id)}/diff{query}")

    async def database(self, episode_id: str, service: str) -> bytes:
        """Return a consistent copy of a service's database of an episode as a SQLite file."""
        response = await self._request(
            "GET", f"/v1/episodes/{_path_segment(episode_id)}/databases/{_path_segment(service)}"
        )
        return response.content

    async def _read(self, kind: type[T], method: str, path: str, body: Mapping[str, Any] | None = None) -> T:
        return self._parse(kind, path, await self._request(method, path, body))

    def _parse(self, kind: type[T], path: str, response: httpx.Response) -> T:
        try:
            return TypeAdapter(kind).validate_json(response.content)
        except ValidationError as error:
            address, reason = f"{self._base_url}{path}", first_validation_error(error)
            text = f"{UNEXPECTED_RESPONSE}: unexpected response from {address}: {reason}"
            raise ApiError(text, UNEXPECTED_RESPONSE, response.status_code) from None

    async def _request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, accepted_status: int | None = None
    ) -> httpx.Response:
        """Return the response if it is successful or has the accepted status."""
        try:
            response = await self._http.request(method, self._base_url + path, json=body)
        except httpx.TimeoutException:
            raise TimeoutError(f"{self._base_url} did not respond within {TIMEOUT_S:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConnectionError(
                f"Failed to connect to {self._base_url}: {str(error) or type(error).__name__}"
            ) from None
        if not response.is_success and response.status_code != accepted_status:
            raise error_from_response(self._base_url + path, response.status_code, response.content)
        return response


def error_from_response(url: str, status: int, body: bytes) -> ApiError:
    """Return the error of the HTTP response of a URL, with the CompanyOS code if it has one."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    match problem:
        case {"code": str(code), "title": str(title)}:
            return ApiError(f"{code}: {problem.get('detail') or title}", code, status)
    code = f"http-{status}"
    text = f"{code}: {url} returned status {status} without a problem document; is it a CompanyOS server?"
    return ApiError(text, code, status)


def _snapshot_id(snapshot: str | SnapshotInfo) -> str:
    return snapshot.id if isinstance(snapshot, SnapshotInfo) else snapshot


def _path_segment(name: str) -> str:
    """Return a name as a URL path segment. Raises ApiError for an invalid name."""
    if not name or "/" in name:
        raise ApiError(f"not-found: Invalid name {name!r}.", "not-found")
    return name.replace(".", "%2E") if name in (".", "..") else quote(name, safe="")


def is_loopback(url: str) -> bool:
    """Return whether a server is on this machine; such requests bypass any proxy."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
