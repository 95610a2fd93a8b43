"""Names, docstrings and texts use standard terms: no metaphors, no docstrings without a subject."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

NAME = re.compile(
    r"bends|chassis|cheating|clearing|crew|deskwork|doors?|errands?|fulfilment|glass|happenings?|hindsight|houses?|knowing"
    r"|legs|lookers?|looking|minefields?|misfits?|mouth|narration|news|obeying|planes|playhouse|premises|seat|shelf"
    r"|shelves|sight|sitting|staged|stations?|strangers|striking|telling|told|understudy|unrest|whoever"
)
"""Words that no identifier of Python contains: metaphors, and participles in place of nouns."""

TEST_NAME = re.compile(
    r"anew|anybody|asked|brings|brought|elsewhere|hands|heard|hears|lies?|nobodys?|nowhere|said|somebody|speaks|spoken"
    r"|stands|stood|strikes|struck|tells|whatever"
)
"""Further words that the name of a test does not contain."""

RIDDLE = re.compile(r"^test_(what|who|whom|whose)_|(?<!_there)_(is|are)_no_(?!longer_)")
"""Parts of the name of a test that hide its subject or its verb."""

TEXT = re.compile(
    r"\b(the house|a house|houses|doors?|shelf|shelves|strangers?|crew|chassis|premises|hindsight|happenings?|deskwork"
    r"|errands?|minefields?|misfits?|lookers|understudy|narration|whoever|laws of the world|stands still|stood still"
    r"|(?<!there )is no (?!longer\b)|are no (?!longer\b))\b",
    re.IGNORECASE,
)
"""Words of docstrings, comments, messages and documents."""

HEADLESS = re.compile(
    r'(?:\A(?:#[^\n]*\n)*|:(?:  #[^\n]*)?\n\s+)"""\s*'
    r"(?:What|Who|Whose|Whom|Where|Which|How|When|Whether|Whoever|Whatever|Nobody|Somebody|So)\b"
)
"""Openings of the docstrings of modules, classes and functions that name no subject and no verb."""

CONTENT = re.compile(r"gateway/src/companyos_gateway/(scenarios/.*\.(toml|md)|world/.*\.toml)$")
"""Texts inside the simulated company."""

SUFFIXES = frozenset({".py", ".md", ".html", ".js", ".css", ".toml", ".yaml", ".yml", ".sh", ""})
SKIPPED = ("uv.lock", "LICENSE", "results/", "docs/screenshots/", "tests/architecture/test_words.py", "docs/adr/")


def files(*prefixes: str) -> list[Path]:
    """Return the tracked text files below the prefixes, all of them without a prefix."""
    names = subprocess.run(["git", "ls-files", *prefixes], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [
        ROOT / name
        for name in names.splitlines()
        if Path(name).suffix in SUFFIXES and not name.startswith(SKIPPED) and "static/swagger" not in name
        if (ROOT / name).is_file()
    ]


def words_of(names: str) -> set[str]:
    """Return the lower-case words of identifiers, split at underscores and at capitals."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", names)}


@cache
def is_name_forbidden(name: str) -> bool:
    """Return whether an identifier contains a forbidden word."""
    is_of_test = name.startswith("test_")
    if is_of_test and RIDDLE.search(name):
        return True
    return any(NAME.fullmatch(word) or (is_of_test and TEST_NAME.fullmatch(word)) for word in words_of(name))


def forbidden_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each forbidden identifier of a Python file."""
    if not any(is_name_forbidden(name) for name in set(re.findall(r"\w+", text))):  # few have one, and tokens take time
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and is_name_forbidden(token.string):
            yield token.start[0], token.string


def violations(path: Path, text: str) -> Iterator[str]:
    """Yield each forbidden word of a file with its line."""
    name = path.relative_to(ROOT).as_posix()
    if not CONTENT.search(name):
        for number, line in enumerate(text.splitlines(), 1):
            yield from (f"{name}:{number}: {found[0].strip()}" for found in TEXT.finditer(line))
    if path.suffix != ".py":
        return
    yield from (f"{name}:{line}: the name {found}" for line, found in forbidden_names(text))
    for found in HEADLESS.finditer(text):
        yield f"{name}:{text.count(chr(10), 0, found.end()) + 1}: a docstring without a subject"


def test_names_and_texts_use_the_terms_of_the_field() -> None:
    assert not [found for path in files() for found in violations(path, path.read_text())]


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".py", "told = 1"),
        (".py", "class OpenHouse:\n    pass"),
        (".py", "HTTP_DOORS = ()"),
        (".py", "def test_a_full_house_says_so() -> None:\n    pass"),
        (".py", "def test_nobody_else_may() -> None:\n    pass"),
        (".py", "def test_a_chain_is_no_circle() -> None:\n    pass"),
        (".py", '"""What a step is."""'),
        (".py", '#!/usr/bin/env python3\n"""What a step is."""'),
        (".py", 'def step(\n    count: int,\n) -> None:  # slow\n    """How a step is taken."""'),
        (".py", "# an answer is no step"),
        (".md", "The gateway has two doors."),
    ],
)
def test_a_forbidden_word_is_found(suffix: str, text: str) -> None:
    assert list(violations(ROOT / f"planted{suffix}", text))


CONSTANT = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
EXTERNAL = frozenset({"SQLITE_INNOCUOUS"})


@pytest.mark.matrix
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
