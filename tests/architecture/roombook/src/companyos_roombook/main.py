"""RoomBook: a service that books meeting rooms."""

from datetime import UTC, date, datetime

from companyos_roombook.bookings.routes import router
from companyos_roombook.tables import metadata
from companyos_shared.framework import Call, SeedDocument, Service, create_app
from companyos_shared.wire.company import Company, Person, Team


def load_seed(call: Call, seed: SeedDocument) -> None:
    """Start with every room free."""


def demo_seed() -> SeedDocument:
    """Return a company of one."""
    person = Person(
        id="p-1", name="Ada", email="ada@roombook.example", title="Host", team_id="t-1", employed_from=date(2020, 1, 1)
    )
    team = Team(id="t-1", name="Hosts", department="Office", lead_id="p-1")
    company = Company(name="RoomBook", domain="roombook.example", agent_id="p-1", teams=(team,), people=(person,))
    return SeedDocument(company=company, draw_seed="demo", started_at=datetime(2026, 3, 2, 9, tzinfo=UTC))


SERVICE = Service(
    name="roombook",
    title="RoomBook",
    description="Rooms, and who holds them.",
    version="0.1.0",
    metadata=metadata,
    seed=SeedDocument,
    load_seed=load_seed,
    demo_seed=demo_seed,
    routers=[router],
)
app = create_app(SERVICE)
