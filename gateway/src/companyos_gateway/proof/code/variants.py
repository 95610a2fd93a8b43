"""Variants of an end that are neither right nor wrong by name: calls not made, failed or made at another time.

Mutants are told by them: a rubric has to say of each what it has always said.
"""

from __future__ import annotations

from collections.abc import Iterator

from companyos_gateway.proof.playing import Kept
from companyos_gateway.proof.states.bends import Bend
from companyos_gateway.proof.states.ending import Ending

_NOT_FOUND = 404
_BAD = 400


def variants(kept: Kept) -> Iterator[Bend]:
    """Yield ends in which calls or changes were left out, refused, or came a step sooner or later."""
    for service, lines in kept.stored["audits"].items():
        for operation in sorted({line["operation"] for line in lines}):
            yield _without_calls(service, operation)
            yield _calls_with(service, operation, status=_NOT_FOUND)
            yield _calls_with(service, operation, status=_BAD)
            yield _calls_with(service, operation, arguments={})
            yield _calls_moved(service, operation, -1)
            yield _calls_moved(service, operation, 1)
    for service, changes in kept.stored["changes"].items():
        for at in range(len(changes)):
            yield _without_change(service, at)
            yield _change_with(service, at, actor="clock", cause=None)
            yield _change_moved(service, at, -1)
            yield _change_moved(service, at, 1)


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


def _calls_moved(service: str, operation: str, steps: int) -> Bend:
    def bend(ending: Ending) -> None:
        for line in ending.audits[service]:
            if line["operation"] == operation:
                line["step"] = max(0, line["step"] + steps)

    return bend


def _without_change(service: str, at: int) -> Bend:
    def bend(ending: Ending) -> None:
        del ending.changes[service][at]

    return bend


def _change_with(service: str, at: int, **columns: object) -> Bend:
    return lambda ending: ending.changes[service][at].update(columns)


def _change_moved(service: str, at: int, steps: int) -> Bend:
    def bend(ending: Ending) -> None:
        change = ending.changes[service][at]
        change["step"] = max(0, change["step"] + steps)

    return bend
