"""Aligns the steps of two episodes for the terminal. `static/align.js` identifies calls in the same way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from companyos.viewer.document import Step

_IDENTIFIER = re.compile(r"(^|_)(ids?|keys?|refs?|codes?|subject)$")


def align(left: Sequence[Step], right: Sequence[Step]) -> Iterator[tuple[Step | None, Step | None]]:
    """Yield pairs of steps that call the same tool on the same entity, and unpaired steps with None, in order."""
    calls, others = ([_identify(step) for step in steps] for steps in (left, right))
    matcher = SequenceMatcher(None, calls, others, autojunk=False)
    for kind, i, i_end, j, j_end in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(left[i:i_end], right[j:j_end], strict=True)
        else:
            yield from ((step, None) for step in left[i:i_end])
            yield from ((None, step) for step in right[j:j_end])


def describe_difference(left: Step | None, right: Step | None) -> str:
    """Return the kind of difference between the steps of a pair; empty if they are equal."""
    if left is None or right is None:
        return "only in the second" if left is None else "only in the first"
    if left.arguments != right.arguments:
        return "different arguments"
    responses = [(step.result, step.error, step.reward) for step in (left, right)]
    return "different response" if responses[0] != responses[1] else ""


def _identify(step: Step) -> str:
    arguments = step.arguments if isinstance(step.arguments, dict) else {}
    named = {name: value for name, value in arguments.items() if _IDENTIFIER.search(name)}
    return json.dumps([step.tool, named], sort_keys=True)
