"""One episode over plain HTTP: `python examples/http/episode.py [URL]`, with `companyos up` running."""

import os
import sys

import httpx

CALLS = [
    ("ticketdesk_list_tickets", {"limit": 3}),
    ("datahub_list_sources", {}),
    ("finish", {"outcome": "done", "summary": "Looked around."}),
]


def main(url: str) -> None:
    token = os.environ.get("COMPANYOS_TRAINER_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with httpx.Client(base_url=url, headers=headers) as http:
        started = http.post("/v1/episodes", json={"scenario": "vendor_onboarding", "seed": 7, "chaos": 1})
        started.raise_for_status()
        episode = started.headers["Location"]
        print(started.json()["observation"]["brief"])

        tools = http.get(f"{episode}/tools", params={"format": "openai"}).json()
        print(len(tools), "tools, the first is", tools[0]["function"]["name"])

        for number, (tool, arguments) in enumerate(CALLS, start=1):
            action = {"tool_name": tool, "arguments": arguments}
            step = http.post(f"{episode}/step", json={"action": action, "step": number}).raise_for_status().json()
            print(number, tool, step["reward"], "done" if step["done"] else "")

        action = {"tool_name": "wait", "arguments": {"minutes": 5}}
        rejected = http.post(f"{episode}/step", json={"action": action})
        print(rejected.status_code, rejected.json()["code"])

        state = http.get(f"{episode}/state").json()
        print(state["outcome"], "after", state["step_count"], "steps, return", state["return"])
        print(http.get(f"{episode}/render", params={"format": "text"}).text)
        http.delete(episode).raise_for_status()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000")
