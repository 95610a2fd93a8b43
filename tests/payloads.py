"""Texts that are harmful if interpreted as anything but text; every place that shows text is tested with them."""

from __future__ import annotations

PAYLOADS = {
    "script": "<script>alert(1)</script>",
    "closed script": "</script><script>alert(1)</script>",
    "closed title": "</title></style></textarea><svg onload=alert(1)>",
    "image": "<img src=x onerror=alert(1)>",
    "double quoted attribute": '" onmouseover="alert(1)" x="',
    "single quoted attribute": "' onmouseover='alert(1)' x='",
    "attribute without quotes": "x onfocus=alert(1) autofocus",
    "element in an attribute": '"><iframe srcdoc="<b>x</b>"></iframe>',
    "template": "{{7*7}}${7*7}#{7*7}<%= 7*7 %>{% raw %}",
    "javascript link": "javascript:alert(document.domain)",
    "mixed case link": "JaVaScRiPt:alert(1)",
    "data address": "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    "svg": '<svg><script href="data:,alert(1)"/></svg>',
    "mathml": '<math><mtext></mtext><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    "entity": "&lt;b&gt; &#60;b&#62; &amp;lt;",
    "comment": "<!-- --!> <![CDATA[ x ]]>",
    "markdown": "[click](javascript:alert(1)) ![x](https://example.invalid/x.png) **bold** `code`",
    "html": '<form action="/"><input name="x"><button>Send</button></form><base href="//example.invalid/">',
    "formula": '=HYPERLINK("https://example.invalid","click")',
    "plus formula": "+1+cmd|' /C calc'!A0",
    "terminal colours": "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m",
    "terminal link": "\x1b]8;;https://example.invalid\x1b\\click\x1b]8;;\x1b\\",
    "carriage return": "nobody reads\rthis",
    "backspaces": "wrong\x08\x08\x08\x08\x08right",
    "right to left": "invoice \u202egnp.exe\u202c \u2066isolate\u2069",
    "zero width": "pay\u200bpal\u200c\u200d\ufeff\u2060",
    "null": "before\x00after",
    "separators": "one\u2028two\u2029three\u0085four",
    "combining": "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d",
    "one long word": "W" * 400,
    "rich markup": "[bold red]x[/] [link=https://example.invalid]y[/link] \\[",
    "jinja set": "{% set x = 1 %}{{ config }}{{ ''.__class__ }}",
    "path": "../../etc/passwd?x=1#y",
    "sql": "'; DROP TABLE tickets; --",
    "json": '{"__proto__": {"x": 1}}',
    "odd blanks": "\u3000\u00a0tabs\tand\u2003spaces",
}
"""Payloads by the kind of attack."""

CONTROL_SIGNS = frozenset(map(chr, [*range(0x20), *range(0x7F, 0xA0)])) - {"\n"}
"""Characters that control a terminal."""


EXECUTED = frozenset({"img", "iframe", "math", "mglyph", "mtext", "base", "style", "object", "embed"})
"""Elements of payloads that no page of the product has."""

STARTED = frozenset({"srcdoc", "autofocus", "style", "formaction", "http-equiv"})
"""Attributes of payloads that no page of the product has."""


def marked(number: int, payload: str) -> str:
    """Return a payload that starts with a mark, by which a page can be searched for it."""
    return f"mark{number:04}. {payload}"
