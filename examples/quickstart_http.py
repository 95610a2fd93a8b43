"""Play a few steps over plain HTTP: `python examples/quickstart_http.py [URL]`, with `companyos up` running."""

import sys

import requests


def main(url: str) -> None:
    http = requests.Session()
    first = http.post(f"{url}/reset", json={"scenario": "vendor_onboarding", "seed": 7, "chaos": 1}).json()
    print(first["observation"]["brief"])

    finish = {"outcome": "done", "summary": "Looked around."}
    for tool, arguments in [("ticketdesk_list_tickets", {}), ("finish", finish)]:
        action = {"tool_name": tool, "arguments": arguments}
        step = http.post(f"{url}/step", json={"episode_id": first["episode_id"], "action": action}).json()
        print(tool, step["reward"], step["done"])

    state = http.get(f"{url}/state", params={"episode_id": first["episode_id"]}).json()
    print(state["outcome"], state["return"])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")
