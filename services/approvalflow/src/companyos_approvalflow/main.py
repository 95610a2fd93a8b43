"""ASGI app of ApprovalFlow: `uvicorn companyos_approvalflow.main:app`."""

from __future__ import annotations

from importlib.metadata import version

from companyos_approvalflow import tables
from companyos_approvalflow.approval_types.routes import router as approval_types
from companyos_approvalflow.decisions.routes import router as decisions
from companyos_approvalflow.decisions.service import DECIDE, EXPIRE, apply_decision, apply_expiry
from companyos_approvalflow.delegations.routes import router as delegations
from companyos_approvalflow.notes.routes import router as notes
from companyos_approvalflow.pages import PAGES
from companyos_approvalflow.requests.routes import router as requests
from companyos_approvalflow.scheduled_events import COLLEAGUE, apply_colleague
from companyos_approvalflow.seed import Seed, load_seed
from companyos_shared.framework import Service, create_app, demo_toml

SERVICE = Service(
    name="approvalflow",
    title="ApprovalFlow",
    description="Approval types, requests, delegations and decisions of simulated approvers.",
    version=version("companyos-approvalflow"),
    metadata=tables.metadata,
    seed=Seed,
    load_seed=load_seed,
    demo_seed=demo_toml(Seed, "companyos_approvalflow"),
    routers=[approval_types, requests, decisions, delegations, notes],
    event_handlers={DECIDE: apply_decision, EXPIRE: apply_expiry, COLLEAGUE: apply_colleague},
    pages=PAGES,
)

app = create_app(SERVICE)
