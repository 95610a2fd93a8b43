"""The manifest's oracle: plays the runtime plan on a running CompanyOS and prints the last reward.

`python3 oracle.py [URL]` exits with 0 if that reward is the manifest's maximum. It uses only the standard library,
because the validator runs it in the sandbox.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

PLAN = Path(__file__).parent / "runtime.json"
GREATEST_REWARD = 1.0
TIMEOUT_S = 30.0


def main(url: str) -> int:
    """Play the plan over plain HTTP."""
    plan = json.loads(PLAN.read_text(encoding="utf-8"))
    reset = _post(url, "/reset", {**plan["reset"]["options"], "seed": plan["reset"]["seed"]})
    response = reset
    for action in plan["actions"]:
        response = _post(url, "/step", {"episode_id": reset["episode_id"], "action": action})
    print(f"reward {response['reward']:g}, done {response['done']}")
    return 0 if response["done"] and response["reward"] >= GREATEST_REWARD else 1


def _post(url: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(  # the URL comes from the command line
        url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=TIMEOUT_S) as reply:
        response: dict[str, Any] = json.load(reply)
    return response


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"))
