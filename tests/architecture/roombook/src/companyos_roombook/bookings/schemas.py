"""Request and response bodies of bookings."""

from datetime import datetime

from pydantic import Field

from companyos_shared.framework import RequestModel, ResponseModel


class BookingRequest(RequestModel):
    """A room to book."""

    room: str = Field(min_length=1, max_length=40)


class Booking(ResponseModel):
    """A room that is booked."""

    id: str
    room: str
    booked_by: str
    booked_at: datetime
