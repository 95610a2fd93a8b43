"""Parses an export with NeMo Gym's models, and plays a task on the resources server as Gym's simple agent does."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from fastapi.testclient import TestClient
from nemo_gym.base_resources_server import BaseRunRequest
from nemo_gym.config_types import DatasetConfig, maybe_get_server_instance_config
from nemo_gym.openai_utils import NeMoGymResponse
from nemo_gym.server_utils import (
    GlobalAIOHTTPAsyncClientConfig,
    ServerClient,
    global_aiohttp_client_exit,
    set_global_aiohttp_client,
)
from nemo_gym.train_data_utils import TrainDataProcessor
from omegaconf import OmegaConf

URL = sys.argv[1]
TASKS = 6
SERVER = Path(__file__).resolve().parents[3] / "integrations" / "nemo-gym" / "resources_servers" / "companyos"
CALLS = (
    ("ticketdesk_list_tickets", {"limit": 1}),
    ("nope", {}),
    ("finish", {"outcome": "impossible", "summary": "Nothing more to see."}),
)
ANSWER = {
    "id": "1",
    "created_at": 0,
    "model": "stub",
    "object": "response",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}


def settings():
    """Return the servers of the exported configuration, parsed by Gym's models."""
    config = OmegaConf.load(SERVER / "configs" / "companyos.yaml")
    OmegaConf.resolve(config)
    read = {name: maybe_get_server_instance_config(name, one) for name, one in config.items()}
    assert all(parsed is not None for parsed, _ in read.values()), read
    return {name: parsed for name, (parsed, _) in read.items()}


def play(row, resources, calls):
    """Play calls in one session as `simple_agent` does, and return the verifier's response."""
    spec = importlib.util.spec_from_file_location("companyos_app", SERVER / "app.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    config = module.CompanyOSConfig(name="companyos_resources_server", host="127.0.0.1", port=1, **resources)
    server = module.CompanyOSResourcesServer(
        config=config, server_client=ServerClient.model_construct(head_server_config=None, global_config_dict=None)
    )
    with TestClient(server.setup_webserver()) as client:

        async def open_client():
            set_global_aiohttp_client(GlobalAIOHTTPAsyncClientConfig())

        client.portal.call(open_client)
        assert client.post("/ticketdesk_list_tickets", json={}).status_code == 409
        assert client.post("/seed_session", json=row).raise_for_status()
        results = [client.post(f"/{tool}", json=arguments).raise_for_status().json() for tool, arguments in calls]
        if results[-1]["done"]:
            late = client.post("/ticketdesk_list_tickets", json={}).raise_for_status().json()
            assert late == {"error": {"error_type": "episode-done", "message": "Episode has ended"}}, late
        verdict = client.post("/verify", json=row | {"response": ANSWER}).raise_for_status().json()
        assert client.post("/verify", json=row | {"response": ANSWER}).status_code == 502
    global_aiohttp_client_exit()
    assert [result["done"] for result in results] == [False, False, True][: len(calls)], results
    assert results[0]["result"]["items"], results
    assert results[1]["error"]["error_type"] == "tool_not_found", results
    assert "reward" not in json.dumps(results)
    return verdict


servers = settings()
resources = dict(servers["companyos_resources_server"].get_inner_run_server_config_dict()) | {"url": URL}
with tempfile.TemporaryDirectory() as out:
    command = [os.environ["COMPANYOS"], "tasks", "export", "--format", "nemo-gym", "--split", "test"]
    subprocess.run([*command, "-n", str(TASKS), "--out", out, "--url", URL], capture_output=True, check=True)
    written = Path(out) / "test.jsonl"
    rows = [json.loads(line) for line in written.read_bytes().splitlines()]
    assert len(rows) == TASKS
    dataset = DatasetConfig(name="test", type="example", jsonl_fpath=str(written))
    state = TrainDataProcessor()._validate_samples_and_aggregate_metrics_single_dataset(dataset)
    assert state.offending_example_idxs == [], state.offending_example_idxs
for row in rows:
    read = BaseRunRequest.model_validate(row).responses_create_params
    assert [message.role for message in read.input] == ["developer", "user"]
    assert row["agent_ref"]["name"] in servers
NeMoGymResponse.model_validate(ANSWER)
verdict = play(rows[0], resources, CALLS)
assert verdict["success"] == 0.0, verdict
assert -1 <= verdict["reward"] < 0, verdict
assert verdict["steps"] == len(CALLS), verdict
cut_off = play(rows[0], resources, CALLS[:-1])
scores = ("reward", "success", "steps")
assert [cut_off[name] for name in scores] == [verdict[name] for name in scores], (cut_off, verdict)
print(json.dumps({"version": version("nemo-gym"), "episodes": 2, "steps": 2 * len(CALLS)}))
