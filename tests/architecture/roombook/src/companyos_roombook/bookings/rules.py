"""When a room can be booked."""

from companyos_shared.chassis import Problem


class RoomTaken(Problem):
    status, code, title = 409, "room-taken", "The room is taken"


def check_is_free(holder: str | None) -> None:
    """Raise RoomTaken (409) for a room that somebody holds."""
    if holder is not None:
        raise RoomTaken(f"{holder} holds the room.")
