"""What a note may say."""

from __future__ import annotations

from companyos_shared.chassis import Problem


class NoteBlank(Problem):
    status, code, title = 422, "note-blank", "The note says nothing"


def check_says_something(body: str) -> None:
    """Raise NoteBlank (422) for a note of blanks."""
    if not body.strip():
        raise NoteBlank("The body is blank.")
