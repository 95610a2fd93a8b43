"""Seed document of DataHub, its validation and its insertion into the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Self

from pydantic import model_validator

from companyos_datahub import seed_rows as rows
from companyos_datahub import tables
from companyos_datahub.records.rules import check_period, check_present_fields, check_state
from companyos_datahub.refreshes.model import OPEN_STATUSES, RefreshJob
from companyos_datahub.refreshes.service import schedule_job
from companyos_shared.framework import Call, SeedDocument, ServiceError, insert_rows

EVENT_TARGET_COLUMNS = {"reading": "metric_id", "pipeline": "source_id", "record": "record_id"}
"""Key of the id in a scheduled event's data, by kind."""

NUMBERED = ("refresh_jobs", "metric_values", "bank_changes", "certificates", "data_issues")
"""Tables with numbered ids."""


class Seed(SeedDocument):
    """Initial data of DataHub."""

    sources: list[rows.SourceSeed] = []
    metrics: list[rows.MetricSeed] = []
    metric_values: list[rows.MetricValueSeed] = []
    refresh_plans: list[rows.RefreshPlanSeed] = []
    refresh_jobs: list[rows.RefreshJobSeed] = []
    vendors: list[rows.VendorSeed] = []
    bank_changes: list[rows.BankChangeSeed] = []
    certificates: list[rows.CertificateSeed] = []
    records: list[rows.RecordSeed] = []
    policies: list[rows.PolicySeed] = []
    data_issues: list[rows.DataIssueSeed] = []
    scheduled_events: list[rows.ScheduledEventSeed] = []

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        faults = [*_duplicates(self), *_unknown_references(self), *_invalid_rows(self)]
        if faults:
            raise ValueError("; ".join(faults))
        return self


def load_seed(call: Call, seed: Seed) -> None:
    """Insert all rows of the seed, and schedule its jobs and events."""
    for table in tables.metadata.sorted_tables:
        insert_rows(call.db, table, getattr(seed, table.name))
    for name in NUMBERED:
        call.number_after(name, (row.id for row in getattr(seed, name)))
    for job in seed.refresh_jobs:
        if job.status in OPEN_STATUSES:
            schedule_job(call, RefreshJob(**job.model_dump()))
    for event in seed.scheduled_events:
        call.schedule(event.due_at, event.kind, event.data)


def _duplicates(seed: Seed) -> Iterator[str]:
    keys: dict[str, list[object]] = {name: [row.id for row in getattr(seed, name)] for name in tables.metadata.tables}
    keys["metrics by key, subject and source"] = [(row.key, row.subject, row.source_id) for row in seed.metrics]
    keys["refresh_plans by metric and n"] = [(row.metric_id, row.n) for row in seed.refresh_plans]
    keys["refresh_jobs by metric and n"] = [(row.metric_id, row.n) for row in seed.refresh_jobs]
    keys["policies by id and version"] = [(row.policy_id, row.version) for row in seed.policies]
    keys["open refresh_jobs by metric"] = [row.metric_id for row in seed.refresh_jobs if row.status in OPEN_STATUSES]
    for place, values in keys.items():
        yield from (f"{place}: {value} occurs {count} times" for value, count in Counter(values).items() if count > 1)


def _unknown_references(seed: Seed) -> Iterator[str]:
    people = {person.id for person in seed.company.people}
    sources, vendors = {row.id for row in seed.sources}, {row.id for row in seed.vendors}
    metrics = {row.id for row in seed.metrics}
    places: list[tuple[str, Iterable[tuple[str, str | None]], set[str]]] = [
        ("sources.owner_id", ((row.id, row.owner_id) for row in seed.sources), people),
        ("metrics.source_id", ((row.id, row.source_id) for row in seed.metrics), sources),
        ("metric_values.metric_id", ((row.id, row.metric_id) for row in seed.metric_values), metrics),
        ("refresh_plans.metric_id", ((row.id, row.metric_id) for row in seed.refresh_plans), metrics),
        ("refresh_jobs.metric_id", ((row.id, row.metric_id) for row in seed.refresh_jobs), metrics),
        ("refresh_jobs.requested_by", ((row.id, row.requested_by) for row in seed.refresh_jobs), people),
        ("bank_changes.vendor_id", ((row.id, row.vendor_id) for row in seed.bank_changes), vendors),
        ("certificates.vendor_id", ((row.id, row.vendor_id) for row in seed.certificates), vendors),
        ("records.owner_id", ((row.id, row.owner_id) for row in seed.records), people),
        ("records.vendor_id", ((row.id, row.vendor_id) for row in seed.records), vendors),
        ("absences.person_id", ((row.id, row.person_id) for row in seed.company.absences), people),
        ("scheduled_events.data", _targets(seed, "reading"), metrics),
        ("scheduled_events.data", _targets(seed, "pipeline"), sources),
        ("scheduled_events.data", _targets(seed, "record"), {row.id for row in seed.records}),
        ("data_issues.reported_by", ((row.id, row.reported_by) for row in seed.data_issues), people),
    ]
    for place, references, known in places:
        for row_id, reference in references:
            if reference is not None and reference not in known:
                yield f"{place} of {row_id}: unknown id {reference}"


def _targets(seed: Seed, kind: str) -> Iterator[tuple[str, str]]:
    for event in seed.scheduled_events:
        if event.kind == kind:
            yield f"{kind} at {event.due_at:%Y-%m-%dT%H:%MZ}", str(event.data.get(EVENT_TARGET_COLUMNS[kind]))


def _invalid_rows(seed: Seed) -> Iterator[str]:
    for record in seed.records:
        try:
            check_state(record.kind, record.state)
            check_period(record.starts_on, record.ends_on)
            check_present_fields(record.kind, record.fields)
        except ServiceError as problem:
            yield f"records {record.id}: {problem}"
    records = {record.id: record for record in seed.records}
    for event in seed.scheduled_events:
        if (changed := records.get(event.data.get("record_id", ""))) is not None:
            try:
                check_state(changed.kind, event.data.get("state") or changed.state)
                check_present_fields(changed.kind, event.data.get("fields", {}))
            except ServiceError as problem:
                yield f"scheduled_events record at {event.due_at:%Y-%m-%dT%H:%MZ}: {problem}"
    for source in seed.sources:
        if (source.maintenance_from is None) != (source.maintenance_to is None):
            yield f"sources {source.id}: maintenance_from and maintenance_to require each other"
    for job in seed.refresh_jobs:
        if (job.finished_at is None) != (job.status in OPEN_STATUSES):
            yield f"refresh_jobs {job.id}: finished_at {job.finished_at} does not match status {job.status}"
