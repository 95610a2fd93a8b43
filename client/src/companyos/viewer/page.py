"""The viewer's page: with scripts and style from a server, or as one self-contained file."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from companyos.viewer.document import EpisodeDocument, RunDocument

SCRIPTS = (
    "elements.js",
    "source.js",
    "texts.js",
    "changes.js",
    "step.js",
    "timeline.js",
    "cases.js",
    "screenshots.js",
    "overview.js",
    "heatmap.js",
    "runs.js",
    "align.js",
    "compare.js",
    "viewer.js",
)
"""Scripts in loading order."""

STYLE = "viewer.css"
SERVER_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""Content-Security-Policy of the served page."""

_STATIC = Path(__file__).with_name("static")
_ICON = '<link rel="icon" href="data:,">'


@cache
def static_file(name: str) -> str:
    """Return a script or the style sheet. Raises KeyError for another name."""
    if name not in (*SCRIPTS, STYLE):
        raise KeyError(name)
    return (_STATIC / name).read_text(encoding="utf-8")


def server_page(title: str, *, static: str, source: Mapping[str, Any], links: Sequence[tuple[str, str]] = ()) -> str:
    """Return the page that loads the files below `static` and the `source`: `run`, or `episode` and `events`.

    `links` are navigation links, by title and URL; they work without scripts.
    """
    head = f'<link rel="stylesheet" href="{escape(static)}/{STYLE}">'
    scripts = "".join(f'<script src="{escape(static)}/{name}" defer></script>\n' for name in SCRIPTS)
    return _page(title, head, _data_block("viewer-source", source), scripts, links)


def export_page(run: RunDocument, episodes: Iterable[EpisodeDocument], *, report: str = "") -> str:
    """Return the page as one file without network access; only its own scripts can run.

    `report` is HTML above the list of episodes.
    """
    scripts, style = [static_file(name) for name in SCRIPTS], static_file(STYLE)
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_csp_hash, scripts))}; style-src {_csp_hash(style)}; img-src "
        f"data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    blocks = [_data_block("viewer-run", run.model_dump(mode="json"))]
    blocks += [
        _data_block("viewer-episode", episode.model_dump(mode="json"), name=episode.facts.name) for episode in episodes
    ]
    return _page(
        run.title, head, "".join(blocks), "".join(f"<script>{script}</script>\n" for script in scripts), report=report
    )


def _page(
    title: str, head: str, data: str, scripts: str, links: Sequence[tuple[str, str]] = (), *, report: str = ""
) -> str:
    nav_links = "".join(f'<a href="{escape(address)}">{escape(name)}</a>\n' for name, address in links)
    navigation = f'<nav class="site-nav" aria-label="Elsewhere">{nav_links}</nav>\n' if links else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n{_ICON}\n{head}\n</head>\n<body>\n{navigation}{report}"
        '<main id="viewer" tabindex="-1"><p class="quiet">Loading ...</p><noscript>This page needs JavaScript; '
        "<code>companyos view RUN --terminal</code> works without it.</noscript></main>\n"
        f"{data}{scripts}</body>\n</html>\n"
    )


def _data_block(kind: str, value: Any, *, name: str | None = None) -> str:
    """Return a data block with JSON that cannot end the block or start another."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for char, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(char, escaped)
    name_attribute = "" if name is None else f' data-name="{escape(name)}"'
    return f'<script type="application/json" class="{kind}"{name_attribute}>{text}</script>\n'


def _csp_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
