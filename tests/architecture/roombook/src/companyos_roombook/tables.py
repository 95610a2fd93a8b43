"""The tables of RoomBook."""

from sqlalchemy import Column, MetaData, Table, Text

from companyos_shared.framework import SimTime

metadata = MetaData()
bookings = Table(
    "bookings",
    metadata,
    Column("id", Text, primary_key=True),
    Column("room", Text, nullable=False, index=True),
    Column("booked_by", Text, nullable=False),
    Column("booked_at", SimTime, nullable=False),
)
