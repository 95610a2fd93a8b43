"""Docstrings name constants that exist."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.matrix

ROOT = Path(__file__).parents[2]
CONSTANT = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
EXTERNAL = frozenset({"SQLITE_INNOCUOUS"})


def test_every_constant_named_in_a_docstring_exists() -> None:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    named, known = set[tuple[str, str]](), set(EXTERNAL)
    for name in listed.stdout.split():
        if (ROOT / name).exists():
            documented, used = _constants(ast.parse((ROOT / name).read_text()))
            named.update((name, word) for word in documented)
            known |= used
    assert not sorted(f"{name}: {word}" for name, word in named if word not in known)


def _constants(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the constants in documentation, and those in names and in other strings, such as names of settings.

    Documentation is a docstring, or a string that documents an assignment.
    """
    documented, used, statements = set[str](), set[str](), set[int]()
    for node in ast.walk(tree):  # parents first
        if isinstance(node, ast.Expr):
            statements.add(id(node.value))
        elif isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            (documented if id(node) in statements else used).update(CONSTANT.findall(node.value))
    return documented, used
