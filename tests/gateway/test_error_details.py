"""Problem details of the gateway's errors: each says more than its title."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import companyos_gateway
from companyos_gateway.engine.errors import GatewayError

ROOT = Path(companyos_gateway.__file__).parent


def _raised_without_detail() -> Iterator[tuple[str, str]]:
    """Yield module and name of each class that is raised without an argument.

    Modules for browsers and Gradio need packages that are not always installed.
    """
    for path in sorted(ROOT.rglob("*.py")):
        if path.parent.name in ("browser", "playground"):
            continue
        module = ".".join(("companyos_gateway", *path.relative_to(ROOT).with_suffix("").parts))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name) and node.exc.id.endswith("Error"):
                yield module, node.exc.id


def test_every_error_that_is_raised_without_a_detail_has_a_default_one() -> None:
    classes = {getattr(import_module(module), name, None) for module, name in set(_raised_without_detail())}
    errors = [one for one in classes if isinstance(one, type) and issubclass(one, GatewayError)]
    assert len(errors) > 10
    assert [one.__name__ for one in errors if one().body().detail is None] == []
