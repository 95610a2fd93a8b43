"""Pages of policy versions."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from fastapi.responses import HTMLResponse

from companyos_datahub.pages.app import PAGES
from companyos_datahub.policies import service
from companyos_datahub.policies.rules import PolicyNotInForceError
from companyos_datahub.policies.schemas import PolicyRow
from companyos_shared.framework import ALL_ROWS, Call, PageCursor, PageText, PageView, page_params
from companyos_shared.pages.rendering import field_label
from companyos_shared.pages.values import format_value

IN_FORCE, NOT_YET, NO_LONGER, SUPERSEDED = "in_force", "not_yet_in_force", "no_longer_in_force", "superseded"


@PAGES.page("/policies")
def show_policies(view: PageView, q: PageText = "", topic: PageText = "", cursor: PageCursor = None) -> HTMLResponse:
    """Show the policy versions that contain any of the words, including superseded ones."""
    call = view.call
    found = service.search_policies(call, page_params(cursor), query=q.strip() or None, topic=topic or None)
    every = service.search_policies(call, ALL_ROWS, query=None, topic=None).items
    return view.page(
        "policies.html",
        found=found,
        states=[state_of(call, row) for row in found.items],
        q=q.strip(),
        topic=topic,
        cursor=cursor,
        topics=sorted({row.topic for row in every}),
    )


@PAGES.page("/policies/{policy_id}")
def show_policy(
    view: PageView, policy_id: str, version: Annotated[int | None, Query(ge=1, le=9999)] = None
) -> HTMLResponse:
    """Show a version of a policy, by default the one in force, and list the others."""
    call = view.call
    policy = service.get_policy(call, policy_id, version=version)
    view.shows(policy, "parameters")
    alike = service.search_policies(call, ALL_ROWS, query=None, topic=None).items
    versions = sorted((row for row in alike if row.policy_id == policy_id), key=lambda row: -row.version)
    return view.page(
        "policy.html",
        policy=policy,
        state=state_of(call, policy),
        figures=[(name, field_label(name), format_value(name, value)) for name, value in policy.parameters.items()],
        versions=[(row, state_of(call, row)) for row in versions],
    )


def state_of(call: Call, row: PolicyRow) -> str:
    """Return the state of a version today."""
    if row.effective_from > call.now.date():
        return NOT_YET
    try:
        current = service.get_policy(call, row.policy_id, version=None).version
    except PolicyNotInForceError:
        return NO_LONGER
    if row.version == current:
        return IN_FORCE
    return SUPERSEDED if row.version < current else NO_LONGER
