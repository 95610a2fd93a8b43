"""Service functions of policies."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, select

from companyos_datahub.policies.rules import PolicyNotFoundError, version_in_force
from companyos_datahub.policies.schemas import PolicyDetail, PolicyRow
from companyos_datahub.tables import policies
from companyos_shared.framework import Call, Page, PageParams, Searchable, candidates, paginate_sequence, search


def search_policies(call: Call, page: PageParams, *, query: str | None, topic: str | None) -> Page[PolicyRow]:
    """Return policy versions, in force or not, best match first, then by id."""
    statement = select(policies).where(candidates(call, policies, query)).order_by(policies.c.id)
    if topic is not None:
        statement = statement.where(policies.c.topic == topic)
    found = search(call.db.execute(statement).all(), query, _searchable)
    return paginate_sequence(found, page, build=PolicyRow.model_validate)


def get_policy(call: Call, policy_id: str, *, version: int | None) -> PolicyDetail:
    """Return a version of a policy, by default the one in force today."""
    statement = select(policies).where(policies.c.policy_id == policy_id).order_by(policies.c.version)
    versions = [PolicyDetail.model_validate(row) for row in call.db.execute(statement)]
    if version is None:
        return version_in_force(policy_id, versions, call.now.date())
    found = next((one for one in versions if one.version == version), None)
    if found is None:
        raise PolicyNotFoundError(f"{policy_id} has no version {version}")
    return found


def _searchable(row: Row[Any]) -> Searchable:
    return Searchable(row.id, row.title, f"{row.topic} {row.body}")
