"""Vendors: statuses, risk tiers, request bodies and responses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated

from pydantic import Field

from companyos_shared.choices import Choice
from companyos_shared.framework import IsoDateText, NotBlank, RequestModel, ResponseModel, example


class VendorStatus(Choice):
    """Status of a vendor."""

    PROSPECT = "prospect"
    ACTIVE = "active"
    SUSPENDED = "suspended"


MOVES: Mapping[VendorStatus, frozenset[VendorStatus]] = {
    VendorStatus.PROSPECT: frozenset({VendorStatus.ACTIVE, VendorStatus.SUSPENDED}),
    VendorStatus.ACTIVE: frozenset({VendorStatus.SUSPENDED}),
    VendorStatus.SUSPENDED: frozenset({VendorStatus.ACTIVE}),
}
"""The allowed transitions of each status."""


class RiskTier(Choice):
    """Risk tier of a vendor."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


IBAN_PATTERN = r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"

_Short = Annotated[str, Field(min_length=1, max_length=200), NotBlank]
_Email = Annotated[str, Field(max_length=200, pattern=r"^[^@\s]+@[^@\s]+$")]


class Certificate(ResponseModel):
    """A certificate of a vendor."""

    id: str
    kind: str
    issued_on: date
    expires_on: date = Field(description="Last day of validity.")
    is_expired: bool = Field(description="Expired today.")


class BankChange(ResponseModel):
    """A change of a vendor's bank details."""

    id: str
    changed_at: datetime
    old_iban: str | None
    new_iban: str
    requested_by: str
    channel: str = Field(description="How the change was requested, such as email.")


class VendorDetail(ResponseModel):
    """A vendor with its certificates and latest changes of bank details."""

    model_config = example(
        id="VEN-207",
        name="Nordwind Logistik",
        legal_name="Nordwind Logistik GmbH",
        tax_id="DE811234567",
        country="DE",
        category="logistics",
        status="prospect",
        risk_tier="medium",
        contact_name="Jana Peters",
        contact_email="jana.peters@nordwind.example",
        bank_iban="DE44500105175407324931",
        notes="",
        version=1,
        certificates=[
            {
                "id": "CRT-18",
                "kind": "iso27001",
                "issued_on": "2024-05-01",
                "expires_on": "2027-04-30",
                "is_expired": False,
            }
        ],
        bank_changes=[],
    )

    id: str
    name: str
    legal_name: str
    tax_id: str
    country: str
    category: str
    status: VendorStatus
    risk_tier: RiskTier
    contact_name: str
    contact_email: str
    bank_iban: str
    notes: str
    version: int = Field(description="Increases with each change; pass it as `if_match`.")
    certificates: list[Certificate]
    bank_changes: list[BankChange] = Field(description="The latest five, newest first.")


class NewCertificate(RequestModel):
    """A certificate to add."""

    kind: _Short = Field(description="Standard, such as iso27001.")
    issued_on: Annotated[date, IsoDateText] = Field(description="Day of issue.")
    expires_on: Annotated[date, IsoDateText] = Field(description="Last day of validity.")


class VendorUpdate(RequestModel):
    """The values to change; absent or null values stay unchanged."""

    model_config = example(status="active", risk_tier="low")

    name: _Short | None = Field(None, description="Trade name.")
    category: _Short | None = Field(None, description="What the vendor supplies.")
    status: VendorStatus | None = Field(None, description="New status.")
    risk_tier: RiskTier | None = Field(None, description="Risk tier.")
    contact_name: _Short | None = Field(None, description="Name of the contact.")
    contact_email: _Email | None = Field(None, description="E-mail address of the contact.")
    bank_iban: Annotated[str, Field(pattern=IBAN_PATTERN)] | None = Field(None, description="IBAN without spaces.")
    notes: Annotated[str, Field(max_length=2000)] | None = Field(None, description="Replaces the current notes.")
    certificate: NewCertificate | None = Field(None, description="Certificate to add.")
