"""Containers of the standalone services and of a gateway with its services, for testcontainers.

They start the images that `docker compose build` creates.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from companyos.extras import require_extra
from companyos.services import StandaloneServices

with require_extra("testcontainers", "testcontainers"):
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.network import Network
    from testcontainers.core.wait_strategies import HealthcheckWaitStrategy

IMAGES = "companyos-{name}"
"""Template of image names; `{name}` is the name of a service, or `gateway`."""

SERVICES = ("ticketdesk", "datahub", "approvalflow")
PORT = 8000
START_TIMEOUT_S = 120


class CompanyOSContainer(DockerContainer):
    """Container of one server, ready once its health check succeeds. `name` is a standalone service or `gateway`.

    `images` is the name of the images with the placeholder `{name}`, such as `registry.example/companyos-{name}:1.0`.
    `options` are those of DockerContainer.
    """

    def __init__(self, name: str, *, images: str = IMAGES, **options: Any) -> None:
        wait_strategy = HealthcheckWaitStrategy().with_startup_timeout(START_TIMEOUT_S)
        super().__init__(images.format(name=name), ports=[PORT], _wait_strategy=wait_strategy, **options)

    @property
    def url(self) -> str:
        """URL of the server on this machine."""
        return f"http://{self.get_container_host_ip()}:{self.get_exposed_port(PORT)}"


@contextmanager
def service_containers(*names: str, images: str = IMAGES) -> Iterator[StandaloneServices]:
    """Run standalone services, by default all, for the duration of a `with` block."""
    with ExitStack() as stack:
        containers = {name: CompanyOSContainer(name, images=images) for name in names or SERVICES}
        urls = {name: stack.enter_context(container).url for name, container in containers.items()}
        services = StandaloneServices(urls)
        stack.callback(services.close)
        yield services


@contextmanager
def gateway_container(*, images: str = IMAGES, token: str | None = None) -> Iterator[CompanyOSContainer]:
    """Run a gateway and its services for the duration of a `with` block; yield the gateway's container.

    `token` is the trainer token that the gateway requires, of at least 16 characters.
    """
    key = {"COMPANYOS_SERVICE_KEY": secrets.token_hex(32)}
    addresses = {"COMPANYOS_SERVICES": ",".join(f"{name}=http://{name}:{PORT}" for name in SERVICES)}
    secret = {} if token is None else {"COMPANYOS_TRAINER_TOKEN": token}
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        for name in SERVICES:
            service = CompanyOSContainer(name, images=images, env=key, network=network, network_aliases=[name])
            stack.enter_context(service)
        gateway = CompanyOSContainer("gateway", images=images, env=key | addresses | secret, network=network)
        yield stack.enter_context(gateway)
