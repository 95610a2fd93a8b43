"""Answers of colleagues to comments that mention them, such as `@E-1042`."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import insert, select

from companyos_shared.framework import Call
from companyos_ticketdesk.tables import answers, comments

KIND = "answer"
MENTION = re.compile(r"(?<!\w)@([\w-]+)")
ANSWER_MINUTES = 90
"""Time until people answer, in office minutes; their absences are skipped."""

DEFAULT_ANSWER = "I have nothing to add to this, sorry."


def schedule_answers(call: Call, ticket_key: str, body: str) -> None:
    """Schedule the answers of the people whom a comment mentions, except the caller and former employees."""
    for person_id in dict.fromkeys(MENTION.findall(body)):
        person = call.company.person(person_id)
        if person is not None and person_id != call.person and person.is_employed(call.now.date()):
            try:
                due_at = call.company.add_office_minutes(call.now, ANSWER_MINUTES, person_id)
            except ValueError:
                continue  # absent for at least a year
            call.schedule(due_at, KIND, {"person_id": person_id, "ticket_key": ticket_key})


def apply_answer(call: Call, payload: dict[str, Any]) -> None:
    """Insert a person's answer as a comment: the seed's answer for the ticket, or else DEFAULT_ANSWER."""
    person_id, ticket_key = payload["person_id"], payload["ticket_key"]
    known = select(answers.c.body).where(answers.c.person_id == person_id, answers.c.ticket_key == ticket_key)
    values = {
        "id": f"comment-{call.next_number('comments')}",
        "ticket_key": ticket_key,
        "author_id": person_id,
        "created_at": call.now,
        "body": call.db.execute(known).scalar_one_or_none() or DEFAULT_ANSWER,
    }
    call.db.execute(insert(comments).values(**values))
