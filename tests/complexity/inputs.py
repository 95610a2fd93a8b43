"""Inputs of any size on which parsers are known to be slow."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

Input = Callable[[int], bytes]
"""Returns an input of about that many bytes."""


def repeated(unit: bytes, before: bytes = b"", after: bytes = b"") -> Input:
    """Return an input that repeats one unit."""
    return lambda size: before + unit * max((size - len(before) - len(after)) // len(unit), 1) + after


def numbered(unit: str, joint: str, before: str = "", after: str = "") -> Input:
    """Return an input of many different units; `{}` is replaced by a number."""

    def made(size: int) -> bytes:
        units, left = [], size - len(before) - len(after)
        for number in count():
            units.append(unit.replace("{}", str(number)))
            left -= len(units[-1]) + len(joint)
            if left <= len(units[-1]) + len(joint):
                return (before + joint.join(units) + after).encode()
        raise AssertionError

    return made


TEXTS: dict[str, Input] = {
    name: repeated(unit)
    for name, unit in {
        "letters": b"a",
        "digits": b"9",
        "quotes": b'"',
        "backslashes": b"\\",
        "escaped quotes": b'\\"',
        "semicolons": b";",
        "quoted semicolons": b';"',
        "commas": b",",
        "equals signs": b"=",
        "spaces": b" ",
        "slashes": b"/",
        "dots": b".",
        "dots and slashes": b"../",
        "percent signs": b"%",
        "percent codes": b"%41",
        "hyphens": b"-",
        "colons": b":",
        "at signs": b"@",
        "angle brackets": b"<",
        "ampersands": b"&",
        "accents": "é".encode(),
        "emojis": "😀".encode(),
        "pairs": b"a=b; ",
        "parameters": b'; a="b"',
        "qualities": b"a/b;q=0.1, ",
    }.items()
}
"""Texts for a path, a header or a field."""

FEW_TEXTS = ("escaped quotes", "percent codes", "emojis")

QUERIES: dict[str, Input] = {
    "many names": numbered("n{}=1", "&"),
    "one name": repeated(b"a=1&"),
    "ampersands": repeated(b"&"),
    "equals signs": repeated(b"="),
    "semicolons": repeated(b"a;"),
    "percent codes": repeated(b"%41=%42&"),
    "broken codes": repeated(b"%4"),
    "plus signs": repeated(b"+"),
}

FEW_QUERIES = ("many names",)

FORMS: dict[str, Input] = {
    **QUERIES,
    "fields": numbered("fields.n{}=1", "&", "_next=x&"),
    "numbers": repeated(b"9", b"fields.amount_cents:cents="),
    "exponents": repeated(b"9", b"fields.amount:number=1e"),
    "a way": repeated(b"{a}", b"_next="),
    "multipart": repeated(b'--a\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'),
}

_ACTION = '{"action":{"tool_name":"wait","arguments":'
_RPC = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":'

BODIES: dict[str, Input] = {
    "an open string behind brackets": repeated(b'\\"', b"[" * 33 + b'"'),
    "an open string with a last backslash": repeated(b'\\"', b"[" * 33 + b'"', b"\\"),
    "quotes behind brackets": repeated(b'"', b"[" * 33),
    "backslashes behind brackets": repeated(b"\\", b"[" * 33 + b'"'),
    "quotes and backslashes behind brackets": repeated(b'"\\', b"[" * 33),
    "brackets": repeated(b"["),
    "objects in objects": repeated(b'{"a":'),
    "quotes": repeated(b'"'),
    "backslashes": repeated(b"\\"),
    "spaces": repeated(b" "),
    "line ends": repeated(b"\n"),
    "no JSON at the end": repeated(b" ", b'{"a":1}', b"x"),
    "digits": repeated(b"9", b'{"a":', b"}"),
    "digits behind a point": repeated(b"9", b'{"a":0.', b"}"),
    "an exponent": repeated(b"9", b'{"a":1e', b"}"),
    "lists": repeated(b"[],", b'{"a":[', b"0]}"),
    "objects": repeated(b'{"a":1},', b'{"a":[', b"0]}"),
    "numbers": repeated(b"0,", b'{"a":[', b"0]}"),
    "escapes": repeated(b"\\u00e9", b'{"a":"', b'"}'),
    "lone surrogates": repeated(b"\\ud800", b'{"a":"', b'"}'),
    "emojis": repeated("😀".encode(), b'{"a":"', b'"}'),
    "unknown members": numbered('"n{}":0', ",", "{", "}"),
    "one member many times": repeated(b'"a":0,', b"{", b'"a":0}'),
    "arguments": numbered('"n{}":0', ",", _ACTION + "{", "}}}"),
    "arguments of one step": numbered('"n{}":0', ",", '{"episode_id":"live",' + _ACTION[1:] + "{", "}}}"),
    "arguments in a list": repeated(b"0,", (_ACTION + "[").encode(), b"0]}}"),
    "a long name of a tool": repeated(b"a", b'{"action":{"arguments":{},"tool_name":"', b'"}}'),
    "a long name over MCP": repeated(b"a", b'{"jsonrpc":"2.0","id":1,"method":"', b'"}'),
    "a long id over MCP": repeated(b"a", b'{"jsonrpc":"2.0","method":"tools/list","id":"', b'"}'),
    "arguments over MCP": numbered('"n{}":0', ",", _RPC + "{", "}}}"),
    "parameters over MCP": numbered('"n{}":0', ",", '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{', "}}"),
}

FEW_BODIES = ("an open string behind brackets", "objects in objects", "spaces", "digits", "lists", "unknown members")

MEMBERS: dict[str, tuple[bytes, bytes, bytes]] = {
    "letters": (b'"', b"a", b'"'),
    "digits": (b'"', b"9", b'"'),
    "spaces": (b'"', b" ", b'"'),
    "emojis": (b'"', "😀".encode(), b'"'),
    "texts": (b"[", b'"a",', b'"a"]'),
    "lists": (b"[", b"[],", b"[]]"),
    "objects": (b"[", b'{"a":0},', b'{"a":0}]'),
}
"""Values of body members: start, repeated part, end."""

FEW_MEMBERS = ("letters", "texts")

HEADERS = [
    "accept",
    "accept-encoding",
    "accept-language",
    "authorization",
    "cookie",
    "content-type",
    "host",
    "idempotency-key",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "origin",
    "range",
    "referer",
    "sec-fetch-site",
    "traceparent",
    "tracestate",
    "x-companyos-context",
    "x-companyos-episode",
    "x-companyos-signature",
    "x-forwarded-for",
]


def member(name: str, kind: str) -> Input:
    """Return a JSON body with one long member."""
    before, unit, after = MEMBERS[kind]
    return repeated(unit, f'{{"{name}":'.encode() + before, after + b"}")


def headers(size: int) -> list[tuple[bytes, bytes]]:
    """Return many headers."""
    return [(f"x-n{number}".encode(), b"1") for number in range(size // 12)]
