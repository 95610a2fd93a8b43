"""The little of Markdown that scenarios are told in, as markup: strong words, code, links that lead nowhere."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_STRONG = re.compile(r"\*\*(.+?)\*\*", re.S)
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\[\]]+)\]\([^()]*\)")


def marked(paragraph: str) -> Markup:
    """Return a paragraph as markup; whatever else stands in it is text."""
    text = str(escape(" ".join(paragraph.split()) if not paragraph.lstrip().startswith("- ") else paragraph))
    text = _LINK.sub(r"\1", _CODE.sub(r"<code>\1</code>", _STRONG.sub(r"<strong>\1</strong>", text)))
    return Markup(text)  # noqa: S704  # every sign of the paragraph was escaped before
