"""The code under test: it reports incidents to TicketDesk and tries again after a failure."""

import time
from collections.abc import Callable

import httpx

ATTEMPTS = 3
RETRIED = frozenset({429, 503, 504})


def report_incident(
    url: str, title: str, *, team: str, key: str, sleep: Callable[[float], object] = time.sleep
) -> dict[str, object]:
    """Create one ticket and return it. `key` identifies the incident, so that a retry creates no second ticket."""
    body = {"title": title, "type": "incident", "team_id": team}
    for _ in range(ATTEMPTS):
        response = httpx.post(f"{url}/tickets", json=body, headers={"Idempotency-Key": key}, trust_env=False)
        if response.status_code not in RETRIED:
            break
        sleep(float(response.headers.get("Retry-After", "1")))
    ticket: dict[str, object] = response.raise_for_status().json()
    return ticket
