"""ASGI app of DataHub: `uvicorn companyos_datahub.main:app`."""

from __future__ import annotations

from importlib.metadata import version

from companyos_datahub import tables
from companyos_datahub.calendar.routes import router as calendar
from companyos_datahub.issues.routes import router as issues
from companyos_datahub.metrics.routes import router as metrics
from companyos_datahub.metrics.service import apply_reading
from companyos_datahub.pages import PAGES
from companyos_datahub.people.routes import router as people
from companyos_datahub.policies.routes import router as policies
from companyos_datahub.records.routes import router as records
from companyos_datahub.records.service import apply_record
from companyos_datahub.refreshes.routes import router as refreshes
from companyos_datahub.refreshes.service import FINISH, START, apply_finish, apply_start
from companyos_datahub.seed import Seed, load_seed
from companyos_datahub.sources.routes import router as sources
from companyos_datahub.sources.service import apply_pipeline_state
from companyos_datahub.vendors.routes import router as vendors
from companyos_shared.framework import Service, create_app, demo_toml

DESCRIPTION = """\
Metrics and their sources, records, vendors, people, the calendar and policies of a simulated company.

Times are simulated and in UTC. Reads never change data; a refresh is a job that takes time. Errors are
`application/problem+json` with a stable `code`.
"""

SERVICE = Service(
    name="datahub",
    title="DataHub",
    description=DESCRIPTION,
    version=version("companyos-datahub"),
    metadata=tables.metadata,
    seed=Seed,
    load_seed=load_seed,
    demo_seed=demo_toml(Seed, "companyos_datahub"),
    routers=[metrics, refreshes, sources, records, vendors, people, calendar, policies, issues],
    event_handlers={
        START: apply_start,
        FINISH: apply_finish,
        "reading": apply_reading,
        "pipeline": apply_pipeline_state,
        "record": apply_record,
    },
    pages=PAGES,
)

app = create_app(SERVICE)
