"""The images, the compose file and the Makefile are consistent with the code and with each other."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi import FastAPI
from pydantic import AliasChoices
from pydantic_settings import BaseSettings

from companyos_gateway.middleware.drain import DRAIN_DEADLINE_S
from companyos_gateway.process.uvicorn_options import UVICORN_OPTIONS
from companyos_gateway.settings import Settings
from companyos_shared import failpoints
from companyos_shared.framework import ServiceSettings
from companyos_shared.telemetry.logs import TelemetrySettings
from tests.architecture.sources import DOCUMENTS, ROOT, SERVICES, sources

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
CONTAINERS: dict[str, dict[str, Any]] = COMPOSE["services"]
_INTERPOLATION = re.compile(r"\$\{(\w+):-([^}]*)\}")
SETTINGS = (Settings, ServiceSettings, TelemetrySettings)
DOCKERFILES = [ROOT / "gateway" / "Dockerfile", *sorted(ROOT.glob("deploy/*/Dockerfile"))]


def test_the_container_of_a_service_runs_that_service() -> None:
    for service in SERVICES:
        names = [name for name in CONTAINERS if name.removesuffix("-sandbox") == service]
        assert len(names) == 2
        assert {CONTAINERS[name]["build"]["args"]["SERVICE"] for name in names} == {service}
        assert {CONTAINERS[name]["image"] for name in names} == {f"companyos-{service}"}


def test_makefile_and_images_install_the_same_uv() -> None:
    version = re.search(r"^UV_VERSION := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert version is not None
    assert {re.search(r" uv==(\S+)", path.read_text())[1] for path in DOCKERFILES} == {version[1]}  # type: ignore[index]


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)
def test_an_image_is_based_on_the_given_base_only(dockerfile: Any) -> None:
    bases = re.findall(r"^FROM (\S+)", dockerfile.read_text(), re.MULTILINE)
    assert set(bases) == {"${BASE}"}


def test_every_variable_that_is_set_or_documented_is_read() -> None:
    read = {failpoints.VARIABLE} | _of_the_client() | _of_compose()
    read |= {name for model in SETTINGS for name in _variables(model)}
    written = [ROOT / "docker-compose.yml", *DOCKERFILES, *DOCUMENTS]
    written += [
        source.path
        for source in sources("shared/src", "services", "gateway/src", "client/src", "verification/benchmarks")
    ]
    unread = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in written
        for name in re.findall(r"\bCOMPANYOS_[A-Z_]+[A-Z]\b", path.read_text())
        if name not in read
    }
    assert not unread


def test_every_variable_that_is_read_is_documented_for_operators() -> None:
    explained = set(re.findall(r"`([A-Z][A-Z_]+[A-Z])(?:=[^`]*)?`", (ROOT / "docs" / "operations.md").read_text()))
    assert not {name for model in SETTINGS for name in _variables(model)} - explained
    assert {failpoints.VARIABLE} | _of_the_client() | _of_compose() <= explained


def _of_the_client() -> set[str]:
    """Return the environment variables that command-line options read."""
    texts = [source.path.read_text() for source in sources("client/src")]
    return {name for text in texts for name in re.findall(r'envvar="(\w+)"', text)}


def _variables(model: type[BaseSettings]) -> set[str]:
    """Return the environment variables that a settings model reads."""
    names: set[str] = set()
    for name, found in model.model_fields.items():
        match found.validation_alias:
            case AliasChoices(choices=choices):
                names |= {str(choice) for choice in choices if str(choice).isupper()}
            case str(alias):
                names.add(alias)
            case _:
                names.add(f"COMPANYOS_{name.upper()}")
    return names


def test_the_gateway_is_configured_with_the_address_of_every_service() -> None:
    addresses = CONTAINERS["gateway"]["environment"]["COMPANYOS_SERVICES"].split(",")
    assert addresses == [f"{name}=http://{name}:8000" for name in ("ticketdesk", "datahub", "approvalflow")]


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_has_no_unneeded_privileges(name: str) -> None:
    container = CONTAINERS[name]
    assert container["read_only"] is True
    assert container["cap_drop"] == ["ALL"]
    assert container["security_opt"] == ["no-new-privileges:true"]
    assert container["pids_limit"] <= 256
    assert container["mem_limit"]
    assert container["init"] is True
    assert not {"privileged", "cap_add", "user"} & set(container)


def test_a_container_has_time_to_drain() -> None:
    assert DRAIN_DEADLINE_S + UVICORN_OPTIONS["timeout_graceful_shutdown"] <= 10
    for name, container in CONTAINERS.items():
        assert int(container["stop_grace_period"].removesuffix("s")) >= 12, name


def test_only_the_gateway_is_published_and_only_to_this_machine() -> None:
    assert _ports({}) == {
        "gateway": ["127.0.0.1:8000:8000"],
        "ticketdesk-sandbox": ["127.0.0.1:8001:8000"],
        "datahub-sandbox": ["127.0.0.1:8002:8000"],
        "approvalflow-sandbox": ["127.0.0.1:8003:8000"],
    }
    ports = _ports({})
    assert {name for name, container in CONTAINERS.items() if container.get("profiles")} == set(ports) - {"gateway"}


def test_address_and_ports_are_read_from_the_environment() -> None:
    settings = {"COMPANYOS_BIND": "0.0.0.0", "COMPANYOS_PORT": "9000", "COMPANYOS_TICKETDESK_PORT": "9001"}
    settings |= {"COMPANYOS_DATAHUB_PORT": "9002", "COMPANYOS_APPROVALFLOW_PORT": "9003"}
    assert sorted(port for ports in _ports(settings).values() for port in ports) == [
        f"0.0.0.0:{port}:8000" for port in (9000, 9001, 9002, 9003)
    ]
    assert set(settings) == _of_compose()


def _ports(environment: dict[str, str]) -> dict[str, list[str]]:
    """Return the published ports by container, with environment variables interpolated as in Compose."""
    return {
        name: [
            _INTERPOLATION.sub(lambda found: environment.get(found[1], found[2]), port) for port in container["ports"]
        ]
        for name, container in CONTAINERS.items()
        if "ports" in container
    }


def _of_compose() -> set[str]:
    """Return the variables that Compose interpolates."""
    return {name for name, _default in _INTERPOLATION.findall((ROOT / "docker-compose.yml").read_text())}


def test_all_members_have_the_same_version() -> None:
    members = [
        *ROOT.glob("services/*"),
        *(
            ROOT / name
            for name in ("shared", "gateway", "client", "players", "verification", "integrations/openenv-companyos")
        ),
        ROOT,
    ]
    projects = [tomllib.loads((member / "pyproject.toml").read_text())["project"] for member in members]
    assert len({project["version"] for project in projects}) == 1
    assert {project["requires-python"] for project in projects} == {">=3.11"}


def test_every_app_that_a_manifest_names_exists() -> None:
    manifests = [ROOT / "openenv.yaml", *ROOT.glob("services/*/pyproject.toml")]
    named = {path: re.findall(r"\bcompanyos_\w+\.main:app\b", path.read_text()) for path in manifests}
    assert all(named.values())
    for app in {app for apps in named.values() for app in apps}:
        module, _, attribute = app.partition(":")
        assert isinstance(getattr(import_module(module), attribute), FastAPI)


DISTRIBUTIONS = [
    path
    for path in sorted(ROOT.rglob("pyproject.toml"))
    if path.parent != ROOT
    and not {"tests", "build", "runs", "templates", "examples"} & set(path.relative_to(ROOT).parts)
    if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
]


def test_every_distribution_is_checked() -> None:
    names = {path.parent.relative_to(ROOT).as_posix() for path in DISTRIBUTIONS}
    assert names >= {
        "shared",
        "gateway",
        "client",
        "players",
        "verification",
        *(f"services/{name}" for name in SERVICES),
    }
    assert {f"integrations/{name}" for name in ("openenv-companyos", "verifiers")} <= names


@pytest.mark.parametrize("path", DISTRIBUTIONS, ids=lambda path: path.parent.name)
def test_a_distribution_carries_its_license_readme_and_classifiers(path: Path) -> None:
    project = tomllib.loads(path.read_text())["project"]
    assert project["license"] == "MIT"
    assert project["license-files"] == ["LICENSE"]
    assert (path.parent / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert (path.parent / project["readme"]).read_text().startswith("# ")
    assert project["description"]
    classifiers = project["classifiers"]
    assert {"Programming Language :: Python :: 3", "Operating System :: POSIX"} <= set(classifiers)
    assert any(classifier.startswith("Development Status :: ") for classifier in classifiers)
    assert not any(classifier.startswith("License :: ") for classifier in classifiers), "PEP 639 forbids both"


def test_distributions_name_the_same_project_urls() -> None:
    root = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls", {})
    assert [path for path in DISTRIBUTIONS if tomllib.loads(path.read_text())["project"].get("urls", {}) != root] == []
    assert not [url for url in root.values() if "example" in url or "<" in url]


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
    assert {variable["name"] for variable in container["env"]} - {"POD_INDEX"} <= _variables(Settings)
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
