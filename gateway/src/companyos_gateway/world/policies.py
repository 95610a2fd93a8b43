"""Policies in versions, one of which is in force."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any

from companyos.contract import Split
from companyos_gateway.world.builder import WorldBuilder
from companyos_gateway.world.pools import pool
from companyos_gateway.world.records import CURRENCY
from companyos_gateway.world.seed_documents.datahub import PolicyRow
from companyos_gateway.world.splits import HELD_OUT, split_of
from companyos_gateway.world.text_templates import join_words
from companyos_shared.streams import Stream

MAX_VERSIONS = 3
EARLIER_VERSIONS: Mapping[Split | None, int] = MappingProxyType({Split.VALIDATION: MAX_VERSIONS, Split.TEST: 6})
"""Number of versions no longer on file, which gives held-out splits version numbers that no other seed has."""

_VERSION_DAYS = (120, 500)
_STEP = {"cents": 500, "days": 1}
_SENTENCE_BREAK = re.compile(r"(?<=[a-z)])\. (?=[A-Z])")
_HEADING = re.compile(r"^[0-9]+\. ", re.MULTILINE)
_CLAUSE_NUMBER = re.compile(r"^([0-9]+(?:\.[0-9]+)?)\.? ", re.MULTILINE)


@dataclass(frozen=True)
class PolicyHead:
    """Attributes shared by all versions of a policy."""

    policy_id: str
    title: str
    topic: str


@dataclass(frozen=True)
class PolicyText:
    """Text of one policy version; `body` has slots named like its parameters.

    Lists in parameters (`a, b, c`) are joined as in a sentence: `{slot}` with "and", `{slot:or}` with "or", and
    `{slot:code}` with "and" and in backticks.
    """

    body: str
    parameters: Mapping[str, Any]

    def filled(self) -> str:
        """Return the body with its figures filled in: amounts in EUR, and large numbers with separators."""
        return self.body.format_map({name: _format_figure(name, value) for name, value in self.parameters.items()})


class _Words(str):
    """One or several words of a parameter, formatted as part of a sentence."""

    def __format__(self, format_spec: str) -> str:
        words = [f"`{word}`" if format_spec == "code" else word for word in self.split(", ")]
        return join_words(words, "or" if format_spec == "or" else "and")


def draw_policies(world: WorldBuilder, stream: Stream) -> None:
    """Draw the company's policies. Each earlier version is in force until the day before the next one."""
    entries = pool("policies")["policy"]
    numbers = stream.sample(range(1, 60), len(entries) + 1)
    for entry, number in zip(entries, numbers, strict=False):
        head = PolicyHead(f"POL-{number:03d}", entry["title"], entry["topic"])
        count = stream.integer(1, MAX_VERSIONS)
        texts = [PolicyText(entry["body"], _draw_parameters(stream, entry["parameters"])) for _ in range(count)]
        add_policy(world, stream, head, texts)
    world.free_policy_ids = [f"POL-{number:03d}" for number in (*range(120, 99, -1), numbers[-1])]


def add_policy(world: WorldBuilder, stream: Stream, head: PolicyHead, texts: Sequence[PolicyText]) -> list[PolicyRow]:
    """Add a policy with a version for each text; the last is in force. Returns the versions, oldest first."""
    split = split_of(stream)
    earlier = EARLIER_VERSIONS.get(split, 0)
    first_day = world.today - timedelta(days=stream.integer(15, 300))
    last_day: date | None = None
    versions: list[PolicyRow] = []
    for version in range(len(texts), 0, -1):
        text = texts[version - 1]
        versions.append(
            PolicyRow(
                id=f"{head.policy_id}-v{version + earlier}",
                policy_id=head.policy_id,
                version=version + earlier,
                title=head.title,
                topic=head.topic,
                body=format_policy_body(text.filled(), split),
                parameters=dict(text.parameters),
                effective_from=first_day,
                effective_to=last_day,
            )
        )
        last_day = first_day - timedelta(days=1)
        first_day = last_day - timedelta(days=stream.integer(*_VERSION_DAYS))
    versions.reverse()
    world.datahub.policies.extend(versions)
    return versions


def format_policy_body(body: str, split: Split | None) -> str:
    """Return the text of a policy in the layout of its split.

    Companies of the training split use the text unchanged. Those of the validation split use nested lists, those of the
    test split clauses with numbers in parentheses. References to sections remain valid.
    """
    if split not in HELD_OUT:
        return body
    if _HEADING.search(body) is None:
        sentences = _SENTENCE_BREAK.sub(".\n", body).splitlines()
        is_list = split is Split.VALIDATION
        return "\n".join(f"{'-' if is_list else f'({n})'} {sentence}" for n, sentence in enumerate(sentences, start=1))
    if split is Split.TEST:
        return _CLAUSE_NUMBER.sub(r"(\1) ", body)
    lines = [line for line in body.splitlines() if line]
    return "\n".join(f"- {line}" if _HEADING.match(line) else f"  - {line}" for line in lines)


def policy_in_force(world: WorldBuilder, topic: str) -> PolicyRow:
    """Return the version of a topic's policy that is in force."""
    return next(row for row in reversed(world.datahub.policies) if row.topic == topic and row.effective_to is None)


def _format_figure(name: str, value: Any) -> str:
    if not isinstance(value, int):
        return _Words(value)
    if not name.endswith("_cents"):
        return f"{value:,}"
    euros, cents = divmod(value, 100)
    return f"{CURRENCY} {euros:,}.{cents:02}" if cents else f"{CURRENCY} {euros:,}"


def _draw_parameters(stream: Stream, parameters: Mapping[str, list[int]]) -> dict[str, Any]:
    values = {}
    for name, (low, high) in parameters.items():
        step = _STEP.get(name.rsplit("_", 1)[-1], 1)
        values[name] = step * stream.integer(-(-low // step), high // step)
    return values
