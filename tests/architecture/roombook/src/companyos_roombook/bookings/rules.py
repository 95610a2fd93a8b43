"""Rules for booking a room."""

from companyos_shared.framework import ServiceError


class RoomTakenError(ServiceError):
    status, code, title = 409, "room-taken", "The room is taken"


def check_is_free(holder: str | None) -> None:
    """Raise RoomTakenError (409) if somebody has booked the room."""
    if holder is not None:
        raise RoomTakenError(f"{holder} holds the room.")
