"""Names, docstrings and texts use standard terms: no metaphors, no docstrings without a subject."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

NAMES = frozenset(
    [
        *(
            "House",
            "Stage",
            "Planes",
            "Hosts",
            "Guard",
            "Clearing",
            "TaskShelf",
            "Fulfilment",
            "Hands",
            "Knowing",
            "Staged",
        ),
        *(
            "Door",
            "Misfit",
            "house",
            "houses",
            "stage",
            "door",
            "doors",
            "planes",
            "shelf",
            "told",
            "asked",
            "asked_for",
        ),
        *("wanted", "said", "looking", "lookers", "glass", "sight", "telling", "news", "deskwork", "errand", "errands"),
        *(
            "minefields",
            "striking",
            "unrest",
            "knowing",
            "hands",
            "obeying",
            "cheating",
            "bends",
            "legs",
            "crew",
            "chassis",
        ),
        *("premises", "hindsight", "happening", "happenings", "sitting", "seat", "stations", "station", "narration"),
        *("understudy", "misfit", "misfits", "strangers", "whoever", "nobody"),
    ]
)
"""Identifiers of Python that are metaphors, or participles in place of nouns."""

TEXT = re.compile(
    r"\b(the house|a house|houses|doors?|shelf|shelves|strangers?|crew|chassis|premises|hindsight|happenings?|deskwork"
    r"|errands?|minefields?|misfits?|lookers|understudy|narration|whoever|laws of the world|stands still|stood still"
    r"|(?<!there )is no (?!longer\b)|are no (?!longer\b))\b",
    re.IGNORECASE,
)
"""Words of docstrings, comments, messages and documents."""

HEADLESS = re.compile(r"\s*(What|Who|Whose|Whom|Where|Which|How|When|Whether|Whoever|Whatever|Nobody|Somebody|So)\b")
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


def violations(path: Path, text: str) -> Iterator[str]:
    """Yield each forbidden word of a file with its line."""
    name = path.relative_to(ROOT).as_posix()
    if not CONTENT.search(name):
        for number, line in enumerate(text.splitlines(), 1):
            yield from (f"{name}:{number}: {found[0].strip()}" for found in TEXT.finditer(line))
    if path.suffix != ".py":
        return
    if any(word in NAMES for word in re.findall(r"\w+", text)):  # few files have one, and tokens take time
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME and token.string in NAMES:
                yield f"{name}:{token.start[0]}: the name {token.string}"
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if HEADLESS.match(ast.get_docstring(node) or ""):
            yield f"{name}:{node.body[0].lineno}: a docstring without a subject"


def test_names_and_texts_use_the_terms_of_the_field() -> None:
    assert not [found for path in files() for found in violations(path, path.read_text())]


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".py", "told = 1"),
        (".py", "class House:\n    pass"),
        (".py", '"""What a step is."""'),
        (".py", "# an answer is no step"),
        (".md", "The gateway has two doors."),
    ],
)
def test_a_forbidden_word_is_found(suffix: str, text: str) -> None:
    assert list(violations(ROOT / f"planted{suffix}", text))
