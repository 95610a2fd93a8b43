#!/usr/bin/env python3
"""Shell client for the company's tools: `company tools` lists them, `company call NAME '{"argument": 1}'` calls one."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

ADDRESS = os.environ.get("COMPANY_MCP", "http://companyos:8000/mcp")
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
USAGE = "company tools | company call NAME ['JSON OBJECT']"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one request; exit with the message of an error."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    request = urllib.request.Request(ADDRESS, json.dumps(message).encode(), HEADERS)  # noqa: S310
    try:
        with OPENER.open(request, timeout=120) as reply:
            response: dict[str, Any] = json.load(reply)
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code}: {error.read().decode(errors='replace')}")
    except OSError as error:
        sys.exit(f"cannot connect to the company: {error}")
    if "error" in response:
        sys.exit(response["error"]["message"])
    result: dict[str, Any] = response["result"]
    return result


def main(words: list[str]) -> None:
    """Run the command."""
    if words == ["tools"]:
        for tool in ask("tools/list", {})["tools"]:
            description = {name: tool.get(name) for name in ("name", "description", "inputSchema")}
            sys.stdout.write(json.dumps(description, ensure_ascii=False) + "\n")
        return
    if len(words) not in (2, 3) or words[0] != "call":
        sys.exit(USAGE)
    try:
        arguments = json.loads(words[2]) if len(words) == 3 else {}
    except ValueError as error:
        sys.exit(f"the arguments must be valid JSON: {error}")
    if not isinstance(arguments, dict):
        sys.exit("the arguments must be a JSON object")
    for part in ask("tools/call", {"name": words[1], "arguments": arguments})["content"]:
        sys.stdout.write(part["text"] + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
