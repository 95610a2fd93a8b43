"""Service functions of vendors. Changes of bank details are recorded."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, insert, select, update

from companyos_datahub.tables import bank_changes, certificates, vendors
from companyos_datahub.vendors.rules import (
    VendorNotFoundError,
    check_certificate,
    check_changes,
    check_may_become,
    is_expired,
)
from companyos_datahub.vendors.schemas import (
    BankChange,
    Certificate,
    NewCertificate,
    VendorDetail,
    VendorStatus,
    VendorUpdate,
)
from companyos_shared.framework import Call, check_version, number_order

BANK_CHANGES_SHOWN = 5
CHANNEL = "datahub"


def get_vendor(call: Call, vendor_id: str) -> VendorDetail:
    """Return a vendor with its certificates and latest changes of bank details."""
    return VendorDetail(
        **_load(call, vendor_id)._mapping,
        certificates=_certificates(call, vendor_id),
        bank_changes=_bank_changes(call, vendor_id),
    )


def update_vendor(call: Call, vendor_id: str, body: VendorUpdate, *, if_match: int | None) -> VendorDetail:
    """Change a vendor."""
    vendor = _load(call, vendor_id)
    check_version(if_match, vendor.version)
    changes = body.model_dump(exclude_none=True)
    check_changes(changes)
    check_may_become(vendor_id, VendorStatus(vendor.status), VendorStatus(changes.get("status", vendor.status)))
    _keep_bank_change(call, vendor, changes.get("bank_iban", vendor.bank_iban))
    is_filed = body.certificate is not None and _file_certificate(call, vendor_id, body.certificate)
    changes.pop("certificate", None)
    if is_filed or any(getattr(vendor, name) != value for name, value in changes.items()):
        changed = update(vendors).where(vendors.c.id == vendor_id).values(**changes, version=vendor.version + 1)
        call.db.execute(changed)
    return get_vendor(call, vendor_id)


def _load(call: Call, vendor_id: str) -> Row[Any]:
    row = call.db.execute(select(vendors).where(vendors.c.id == vendor_id)).one_or_none()
    if row is None:
        raise VendorNotFoundError(f'no vendor has the id "{vendor_id}"')
    return row


def _certificates(call: Call, vendor_id: str) -> list[Certificate]:
    held = select(certificates).where(certificates.c.vendor_id == vendor_id)
    return [
        Certificate(
            id=row.id,
            kind=row.kind,
            issued_on=row.issued_on,
            expires_on=row.expires_on,
            is_expired=is_expired(row.expires_on, call.now.date()),
        )
        for row in call.db.execute(
            held.order_by(certificates.c.kind, certificates.c.expires_on, *number_order(certificates.c.id))
        )
    ]


def _bank_changes(call: Call, vendor_id: str) -> list[BankChange]:
    made = select(bank_changes).where(bank_changes.c.vendor_id == vendor_id)
    newest = (bank_changes.c.changed_at, *number_order(bank_changes.c.id))
    shown = made.order_by(*(key.desc() for key in newest)).limit(BANK_CHANGES_SHOWN)
    return [BankChange.model_validate(row) for row in call.db.execute(shown)]


def _keep_bank_change(call: Call, vendor: Row[Any], new_iban: str) -> None:
    if new_iban == vendor.bank_iban:
        return
    call.db.execute(
        insert(bank_changes).values(
            id=f"BC-{call.next_number('bank_changes')}",
            vendor_id=vendor.id,
            changed_at=call.now,
            old_iban=vendor.bank_iban,
            new_iban=new_iban,
            requested_by=call.person,
            channel=CHANNEL,
        )
    )


def _file_certificate(call: Call, vendor_id: str, new: NewCertificate) -> bool:
    """Add a certificate unless it already exists, and return whether it was added."""
    check_certificate(new.issued_on, new.expires_on)
    given = {"vendor_id": vendor_id, **new.model_dump()}
    same = select(certificates.c.id).where(*(certificates.c[name] == value for name, value in given.items()))
    if call.db.execute(same).first() is not None:
        return False
    call.db.execute(insert(certificates).values(id=f"CRT-{call.next_number('certificates')}", **given))
    return True
