"""What a comment must say: something."""

from __future__ import annotations

from companyos_shared.chassis import Problem


class CommentBlank(Problem):
    status, code, title = 422, "comment-blank", "The comment is blank"


def check_body(body: str) -> None:
    """Raise CommentBlank (422) for a comment of white space."""
    if not body.strip():
        raise CommentBlank
