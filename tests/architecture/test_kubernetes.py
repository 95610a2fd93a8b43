"""The manifests of deploy/k8s: all references exist, and a pod has only the rights that it needs."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from companyos_gateway.settings import Settings
from tests.architecture.sources import ROOT

FOLDER = ROOT / "deploy" / "k8s"
KINDS = {("v1", "Service"), ("apps/v1", "StatefulSet"), ("policy/v1", "PodDisruptionBudget")}


@pytest.fixture
def objects() -> list[dict[str, Any]]:
    return [one for path in sorted(FOLDER.glob("*.yaml")) for one in yaml.safe_load_all(path.read_text())]


@pytest.fixture
def stateful(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = (one["spec"] for one in objects if one["kind"] == "StatefulSet")
    return dict(found)


def _paths(container: dict[str, Any]) -> set[str]:
    return {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")}


def test_every_selector_matches_the_pods(objects: list[dict[str, Any]], stateful: dict[str, Any]) -> None:
    labels = stateful["template"]["metadata"]["labels"]
    assert {(one["apiVersion"], one["kind"]) for one in objects} == KINDS
    for one in objects:
        selector = one["spec"]["selector"]
        assert selector.get("matchLabels", selector) == labels, one["metadata"]["name"]


def test_the_stateful_set_uses_the_headless_service_and_updates_one_pod_at_a_time(
    objects: list[dict[str, Any]], stateful: dict[str, Any]
) -> None:
    headless = [one["metadata"]["name"] for one in objects if one["spec"].get("clusterIP") == "None"]
    assert headless == [stateful["serviceName"]]
    (budget,) = (one["spec"] for one in objects if one["kind"] == "PodDisruptionBudget")
    assert budget["maxUnavailable"] == 1


def test_the_probes_and_variables_of_a_pod_exist(stateful: dict[str, Any]) -> None:
    (container,) = stateful["template"]["spec"]["containers"]
    served = "".join(path.read_text() for path in (ROOT / "gateway" / "src" / "companyos_gateway" / "api").glob("*.py"))
    assert _paths(container) == {"/readyz", "/livez"}
    assert all(f'"{path}"' in served for path in _paths(container))
    settings = {
        str(alias).upper()
        for name, field in Settings.model_fields.items()
        for alias in (f"COMPANYOS_{name}", *getattr(field.validation_alias, "choices", ()))
    }
    output = {variable["name"] for variable in container["env"]} - {"POD_INDEX"}
    assert output <= settings
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    claims = {claim["metadata"]["name"] for claim in stateful["volumeClaimTemplates"]}
    assert mounts == claims | {volume["name"] for volume in stateful["template"]["spec"]["volumes"]}


def test_a_pod_has_time_to_shut_down_and_no_privileges(stateful: dict[str, Any]) -> None:
    pod = stateful["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["terminationGracePeriodSeconds"] >= 12
