"""Room bookings."""

from sqlalchemy import insert, select

from companyos_roombook.bookings.rules import check_is_free
from companyos_roombook.bookings.schemas import Booking, BookingRequest
from companyos_roombook.tables import bookings
from companyos_shared.framework import Call, Page, PageParams, paginate


def book(call: Call, request: BookingRequest) -> Booking:
    """Book a free room."""
    holder = call.db.execute(select(bookings.c.booked_by).where(bookings.c.room == request.room)).scalar_one_or_none()
    check_is_free(holder)
    booking = Booking(
        id=f"B-{call.next_number('bookings')}", room=request.room, booked_by=call.person, booked_at=call.now
    )
    call.db.execute(insert(bookings).values(booking.model_dump()))
    return booking


def list_bookings(call: Call, page: PageParams) -> Page[Booking]:
    """List the bookings."""
    return paginate(call, select(bookings), page, order_by=[bookings.c.id], build=Booking.model_validate)
