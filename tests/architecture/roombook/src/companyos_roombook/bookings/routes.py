"""The tools of bookings."""

from fastapi import APIRouter

from companyos_roombook.bookings import service
from companyos_roombook.bookings.rules import RoomTakenError
from companyos_roombook.bookings.schemas import Booking, BookingRequest
from companyos_shared.framework import CallDep, Page, PageQuery, error_responses

router = APIRouter(tags=["bookings"])


@router.get("/bookings", operation_id="list_bookings")
async def list_bookings(call: CallDep, page: PageQuery) -> Page[Booking]:
    """List what is booked."""
    return service.list_bookings(call, page)


@router.post("/bookings", operation_id="book_room", status_code=201, responses=error_responses(RoomTakenError))
async def book_room(request: BookingRequest, call: CallDep) -> Booking:
    """Book a room."""
    return service.book(call, request)
