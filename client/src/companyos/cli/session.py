"""Where a command's server is: the address that the user gave, or an enterprise of the command's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from companyos.cli.terminal import ERR

UrlOption = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="A running enterprise; without it, one is started for this command."),
]


@contextmanager
def enterprise_url(url: str | None) -> Iterator[str]:
    """Give the address of a running enterprise, started and stopped here when none is given."""
    from companyos.light_openenv import import_light_openenv

    if url is not None:
        import_light_openenv()
        yield (url if "://" in url else f"http://{url}").rstrip("/")
        return
    from companyos.enterprise import Enterprise

    enterprise = Enterprise()
    try:
        with ERR.status("Starting the enterprise: a gateway and its three services ..."):
            enterprise.start()
            import_light_openenv()
            enterprise.wait_until_ready()
        yield enterprise.url
    finally:
        enterprise.stop()
