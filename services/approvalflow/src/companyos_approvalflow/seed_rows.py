"""Row schemas of the seed document."""

from __future__ import annotations

from datetime import UTC
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, model_validator

from companyos_approvalflow.approval_types.model import FieldType, FieldValue
from companyos_approvalflow.decisions.model import DecisionKind, ReactionKind
from companyos_approvalflow.requests.model import RequestStatus
from companyos_shared.wire.company import ReasonCode, Role

Id = Annotated[str, Field(min_length=1, max_length=64)]
AcceptedValue = Annotated[str, Field(pattern=r"\w", max_length=200)] | Annotated[int, Field(strict=True)] | float
Timestamp = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC).replace(microsecond=0))]


class SeedModel(BaseModel):
    """Base of seed rows; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FieldSeed(SeedModel):
    """A field of an approval type."""

    name: Id
    type: FieldType
    required: bool = True
    description: str = ""
    max_age_minutes: int | None = Field(None, ge=1, description="Datetime fields: maximum age at submission.")
    names_beneficiary: bool = Field(False, description="Contains the id of the beneficiary.")


class ThresholdSeed(SeedModel):
    """The role that decides amounts up to a limit."""

    up_to_cents: int | None = Field(None, ge=0)
    role: Role


class ApprovalTypeSeed(SeedModel):
    """An approval type. Its thresholds ascend, and only the last has no limit."""

    key: Id
    title: str
    description: str = ""
    policy_ref: str | None = None
    fields: list[FieldSeed] = Field(max_length=20)
    amount_field: str | None = None
    thresholds: list[ThresholdSeed] = Field(min_length=1)
    second_role: Role | None = None
    second_above_cents: int | None = Field(None, ge=0)
    expires_after_minutes: int = Field(ge=1, le=1_000_000)
    administered_by: list[Id] = Field(default_factory=list, description="Teams that may cancel requests of the type.")

    @model_validator(mode="after")
    def _fits(self) -> ApprovalTypeSeed:
        limits = [threshold.up_to_cents for threshold in self.thresholds]
        bounded = [limit for limit in limits[:-1] if limit is not None]
        if limits[-1] is not None or len(bounded) != len(limits) - 1 or sorted(set(bounded)) != bounded:
            raise ValueError(f"approval_types[{self.key}].thresholds: limits must ascend and end with null")
        kinds = {field.name: field.type for field in self.fields}
        if len(kinds) != len(self.fields):
            raise ValueError(f"approval_types[{self.key}].fields: names must be unique")
        if self.amount_field is not None and kinds.get(self.amount_field) is not FieldType.INTEGER:
            raise ValueError(f"approval_types[{self.key}].amount_field: must name an integer field")
        aged = [field for field in self.fields if field.max_age_minutes is not None]
        if any(field.type is not FieldType.DATETIME for field in aged):
            raise ValueError(f"approval_types[{self.key}].fields: max_age_minutes requires a datetime field")
        if (self.second_role is None) != (self.second_above_cents is None):
            raise ValueError(f"approval_types[{self.key}]: second_role and second_above_cents require each other")
        return self


class RequestSeed(SeedModel):
    """A request that exists at the start."""

    id: Id
    type_key: Id
    subject: str
    ticket_ref: str | None = None
    requester_id: Id
    approver_id: Id
    status: RequestStatus
    fields: dict[str, FieldValue] = Field(default_factory=dict)
    justification: str = ""
    submitted_at: Timestamp
    decided_at: Timestamp | None = None
    expires_at: Timestamp
    reason_code: ReasonCode | None = None
    reason_ref: str | None = None
    version: int = Field(1, ge=1)


class DecisionSeed(SeedModel):
    """A decision before the start."""

    id: Id
    request_id: Id
    kind: DecisionKind
    by: Id
    at: Timestamp
    reason_code: str | None = None
    reason_ref: str | None = None
    reason: str = ""


class NoteSeed(SeedModel):
    """A note before the start; with `question_id` it answers that decision's question."""

    id: Id
    request_id: Id
    author_id: Id
    at: Timestamp
    body: str
    question_id: Id | None = None


class DelegationSeed(SeedModel):
    """A delegation."""

    id: Id
    from_id: Id
    to_id: Id
    type_keys: list[str] = Field(default_factory=list)
    limit_cents: int | None = Field(None, ge=0)
    starts_at: Timestamp
    ends_at: Timestamp
    revoked_at: Timestamp | None = None
    created_by: Id


class TraitSeed(SeedModel):
    """Response time of a person in office minutes. No tool returns it."""

    id: Id
    min_minutes: int = Field(ge=1)
    max_minutes: int = Field(ge=1)

    @model_validator(mode="after")
    def _ascends(self) -> TraitSeed:
        if self.min_minutes > self.max_minutes:
            raise ValueError(f"traits[{self.id}]: min_minutes must be at most max_minutes")
        return self


class ReactionSeed(SeedModel):
    """The planned n-th decision on (type, subject), counting decisions before the start. No tool returns it.

    A question counts once it is answered.
    """

    id: Id
    type_key: Id
    subject: str
    n: int = Field(ge=1)
    kind: ReactionKind
    reason_code: str | None = None
    reason: str = ""
    accepted: list[AcceptedValue] = Field(
        default_factory=list,
        max_length=20,
        description="request_info: an answer must contain one of them; empty accepts any answer.",
    )
    extra_minutes: int = Field(0, ge=0)

    @model_validator(mode="after")
    def _only_questions_have_answers(self) -> ReactionSeed:
        if self.accepted and self.kind is not ReactionKind.REQUEST_INFO:
            raise ValueError(f"reactions[{self.id}].accepted: requires the kind request_info")
        return self


class ScheduledEventKind(StrEnum):
    """Kind of a scheduled event."""

    REQUEST = "request"
    NOTE = "note"
    DELEGATION = "delegation"


SEED_TYPE_BY_EVENT_KIND: dict[ScheduledEventKind, type[RequestSeed] | type[NoteSeed] | type[DelegationSeed]] = {
    ScheduledEventKind.REQUEST: RequestSeed,
    ScheduledEventKind.NOTE: NoteSeed,
    ScheduledEventKind.DELEGATION: DelegationSeed,
}


class ScheduledEventSeed(SeedModel):
    """A request, note or delegation of a colleague that is created at `due_at`."""

    due_at: Timestamp
    kind: ScheduledEventKind
    data: dict[str, Any]

    @property
    def row(self) -> RequestSeed | NoteSeed | DelegationSeed:
        """The row to insert."""
        return SEED_TYPE_BY_EVENT_KIND[self.kind].model_validate(self.data)

    @model_validator(mode="after")
    def _data_is_a_row(self) -> ScheduledEventSeed:
        row = self.row
        if isinstance(row, RequestSeed) and (
            row.status is not RequestStatus.PENDING or row.submitted_at != self.due_at
        ):
            raise ValueError(
                f"scheduled_events[{row.id}]: the request must be pending with submitted_at equal to due_at"
            )
        return self
