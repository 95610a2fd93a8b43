"""Variants of an end that are neither right nor wrong by name: calls not made, failed or made at another time.

Mutants are told by them: a rubric has to say of each what it has always said.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from companyos_gateway.proof.code.declared import declarations
from companyos_gateway.proof.code.giving import given_away, obeyed
from companyos_gateway.proof.code.limits import limits
from companyos_gateway.proof.code.rows import rows
from companyos_gateway.proof.playing import Kept
from companyos_gateway.proof.states.bends import HUB, Bend, Way
from companyos_gateway.proof.states.ending import Ending

_NOT_FOUND = 404
_BAD = 400
_MOST_STEPS = 12
_MANY_DAYS = 60


def variants(kept: Kept) -> Iterator[Bend]:
    """Yield ends in which calls or changes were left out, refused, or came sooner or later, and ends beside them."""
    yield from _calls(kept)
    steps = _steps(kept)
    for service, changes in kept.stored["changes"].items():
        for at, change in enumerate(changes):
            yield _without_change(service, at)
            yield _change_with(service, at, actor="clock", cause=None)
            yield _change_with(service, at, actor="agent", cause="x:1:1")
            for step in sorted({1, change["step"] - 1, change["step"] + 1, *(steps if service == HUB else ())}):
                yield _change_moved(service, at, step)
            for days in (-_MANY_DAYS, -1, 1, _MANY_DAYS):
                yield _change_dated(service, at, _days_from(change["at"], days))
    yield from rows(Way(kept))


def pointed_variants(kept: Kept) -> Iterator[Bend]:
    """Yield ends at a limit, with another declaration, or with a call more that counts: few, and each for itself."""
    way = Way(kept)
    yield from limits(way)
    yield from declarations(way)
    yield from given_away(way)
    yield from obeyed(way)


def _calls(kept: Kept) -> Iterator[Bend]:
    """Yield ends in which the calls of an operation were other ones, or made at the step of something else."""
    steps = _steps(kept)
    for service, lines in kept.stored["audits"].items():
        for operation in sorted({line["operation"] for line in lines}):
            yield _without_calls(service, operation)
            yield _calls_with(service, operation, status=_NOT_FOUND)
            yield _calls_with(service, operation, status=_BAD)
            yield _calls_with(service, operation, arguments={})
            for step in steps:
                yield _calls_with(service, operation, step=step)
        for at, line in enumerate(lines):
            if line["operation"].startswith(("get", "list", "search", "query", "refresh")):
                yield _call_with(service, at, status=_BAD)
                yield from (_call_with(service, at, arguments=other) for other in _arguments_beside(line["arguments"]))


def _steps(kept: Kept) -> list[int]:
    """Return the steps at which something happened that rubrics ask about, and those beside them."""
    causes = [change for changes in kept.stored["changes"].values() for change in changes if change["cause"]]
    last = sorted({change["step"] for change in causes if change["table"] in ("tickets", "requests", "data_issues")})
    return sorted({max(0, step + beside) for step in last[-_MOST_STEPS // 3 :] for beside in (-1, 0, 1)})


def _arguments_beside(arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of a call with one of them another, or left out."""
    for name in sorted(arguments):
        yield {**arguments, name: "something-else"}
        yield {one: value for one, value in arguments.items() if one != name}


def _days_from(moment: str, days: int) -> str:
    return (datetime.fromisoformat(moment) + timedelta(days=days)).isoformat().replace("+00:00", "Z")


def _without_calls(service: str, operation: str) -> Bend:
    def bend(ending: Ending) -> None:
        ending.audits[service] = [one for one in ending.audits[service] if one["operation"] != operation]

    return bend


def _calls_with(service: str, operation: str, **columns: object) -> Bend:
    def bend(ending: Ending) -> None:
        for line in ending.audits[service]:
            if line["operation"] == operation:
                line.update(columns)

    return bend


def _call_with(service: str, at: int, **columns: object) -> Bend:
    return lambda ending: ending.audits[service][at].update(columns)


def _without_change(service: str, at: int) -> Bend:
    def bend(ending: Ending) -> None:
        del ending.changes[service][at]

    return bend


def _change_with(service: str, at: int, **columns: object) -> Bend:
    return lambda ending: ending.changes[service][at].update(columns)


def _change_dated(service: str, at: int, moment: str) -> Bend:
    return lambda ending: ending.changes[service][at].update({"at": moment})


def _change_moved(service: str, at: int, step: int) -> Bend:
    return _change_with(service, at, step=max(0, step))
