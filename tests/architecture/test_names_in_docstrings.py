"""Docstrings name constants that exist."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.matrix

ROOT = Path(__file__).parents[2]
CONSTANT = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
EXTERNAL = frozenset({"SQLITE_INNOCUOUS"})


def test_every_constant_named_in_a_docstring_exists() -> None:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    trees = {name: ast.parse((ROOT / name).read_text()) for name in listed.stdout.split() if (ROOT / name).exists()}
    named = {(name, word) for name, tree in trees.items() for text in _documentation(tree) for word in text}
    known = EXTERNAL.union(*(_words_of_code(tree) for tree in trees.values()))
    assert not sorted(f"{name}: {word}" for name, word in named if word not in known)


def _documentation(tree: ast.Module) -> Iterator[list[str]]:
    """Return the constants in docstrings and in strings that document an assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield CONSTANT.findall(node.value.value)


def _words_of_code(tree: ast.Module) -> set[str]:
    """Return the constants in names and in strings other than documentation, such as names of settings."""
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    words: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Attribute):
            words.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            words.update(CONSTANT.findall(node.value))
    return words
