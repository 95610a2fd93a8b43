"""Kinds of records with their states and fields."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from companyos_shared.choices import Choice


class RecordKind(Choice):
    """Kind of a record."""

    CONTRACT = "contract"
    LICENSE = "license"
    EXPENSE = "expense"
    PURCHASE_ORDER = "purchase_order"
    GOODS_RECEIPT = "goods_receipt"
    INVOICE = "invoice"
    BUDGET_LINE = "budget_line"
    ACCESS_GRANT = "access_grant"
    CUSTOMER = "customer"
    SALES_ORDER = "sales_order"
    REFUND_CLAIM = "refund_claim"
    SECURITY_EXCEPTION = "security_exception"
    POSITION = "position"
    JOB_OFFER = "job_offer"
    PROPOSAL = "proposal"
    DOCUMENT = "document"


class FoundKind(Choice):
    """Kind of a search result: a kind of record, or vendor."""

    CONTRACT = "contract"
    LICENSE = "license"
    EXPENSE = "expense"
    PURCHASE_ORDER = "purchase_order"
    GOODS_RECEIPT = "goods_receipt"
    INVOICE = "invoice"
    BUDGET_LINE = "budget_line"
    ACCESS_GRANT = "access_grant"
    CUSTOMER = "customer"
    SALES_ORDER = "sales_order"
    REFUND_CLAIM = "refund_claim"
    SECURITY_EXCEPTION = "security_exception"
    POSITION = "position"
    JOB_OFFER = "job_offer"
    PROPOSAL = "proposal"
    DOCUMENT = "document"
    VENDOR = "vendor"


class FieldType(Choice):
    """Type of a field; a date is text like `2026-03-02`."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"


STATES: Mapping[RecordKind, tuple[str, ...]] = {
    RecordKind.CONTRACT: ("draft", "in_review", "active", "renewed", "expired", "terminated"),
    RecordKind.LICENSE: ("active", "expiring", "renewed", "expired", "cancelled"),
    RecordKind.EXPENSE: ("draft", "submitted", "approved", "rejected", "on_hold", "paid"),
    RecordKind.PURCHASE_ORDER: ("draft", "open", "received", "on_hold", "closed", "cancelled"),
    RecordKind.GOODS_RECEIPT: ("recorded", "accepted", "rejected"),
    RecordKind.INVOICE: ("received", "approved", "on_hold", "rejected", "paid"),
    RecordKind.BUDGET_LINE: ("draft", "active", "frozen", "closed"),
    RecordKind.ACCESS_GRANT: ("requested", "active", "expired", "revoked"),
    RecordKind.CUSTOMER: ("active", "blocked", "closed"),
    RecordKind.SALES_ORDER: ("open", "shipped", "delivered", "closed", "cancelled"),
    RecordKind.REFUND_CLAIM: ("draft", "submitted", "approved", "rejected", "on_hold", "paid"),
    RecordKind.SECURITY_EXCEPTION: ("requested", "active", "superseded", "expired", "revoked"),
    RecordKind.POSITION: ("draft", "open", "offered", "filled", "closed"),
    RecordKind.JOB_OFFER: ("draft", "approved", "accepted", "declined", "withdrawn"),
    RecordKind.PROPOSAL: ("draft", "submitted", "selected", "not_selected", "withdrawn"),
    RecordKind.DOCUMENT: ("draft", "in_review", "published", "archived"),
}

_TEXT, _INTEGER, _NUMBER = FieldType.TEXT, FieldType.INTEGER, FieldType.NUMBER
_BOOLEAN, _DATE = FieldType.BOOLEAN, FieldType.DATE

FIELDS: Mapping[RecordKind, Mapping[str, FieldType]] = {
    RecordKind.CONTRACT: {"contract_type": _TEXT, "notice_days": _INTEGER, "auto_renews": _BOOLEAN, "signed_on": _DATE},
    RecordKind.LICENSE: {"product": _TEXT, "seats": _INTEGER, "term_months": _INTEGER, "auto_renews": _BOOLEAN},
    RecordKind.EXPENSE: {
        "category": _TEXT,
        "purpose": _TEXT,
        "cost_center": _TEXT,
        "incurred_on": _DATE,
        "receipt_total_cents": _INTEGER,
        "receipt_attached": _BOOLEAN,
        "attendees": _INTEGER,
    },
    RecordKind.PURCHASE_ORDER: {
        "item": _TEXT,
        "quantity": _NUMBER,
        "unit_price_cents": _INTEGER,
        "cost_center": _TEXT,
        "requester_id": _TEXT,
    },
    RecordKind.GOODS_RECEIPT: {"purchase_order_id": _TEXT, "quantity": _NUMBER, "received_on": _DATE},
    RecordKind.INVOICE: {
        "invoice_number": _TEXT,
        "purchase_order_id": _TEXT,
        "quantity": _NUMBER,
        "unit_price_cents": _INTEGER,
        "due_on": _DATE,
        "hold_reason": _TEXT,
    },
    RecordKind.BUDGET_LINE: {
        "cost_center": _TEXT,
        "fiscal_year": _INTEGER,
        "committed_cents": _INTEGER,
        "spent_cents": _INTEGER,
        "approval_ref": _TEXT,
    },
    RecordKind.ACCESS_GRANT: {"person_id": _TEXT, "system": _TEXT, "access_level": _TEXT, "approval_ref": _TEXT},
    RecordKind.CUSTOMER: {
        "customer_name": _TEXT,
        "payout_iban": _TEXT,
        "payout_holder": _TEXT,
        "payout_changed_on": _DATE,
        "key_account": _BOOLEAN,
        "credit_cents": _INTEGER,
    },
    RecordKind.SALES_ORDER: {
        "customer_id": _TEXT,
        "item": _TEXT,
        "quantity": _NUMBER,
        "unit_price_cents": _INTEGER,
        "ordered_on": _DATE,
        "delivered_on": _DATE,
        "delivery_number": _TEXT,
    },
    RecordKind.REFUND_CLAIM: {
        "customer_id": _TEXT,
        "sales_order_id": _TEXT,
        "delivery_number": _TEXT,
        "cause": _TEXT,
        "quantity": _NUMBER,
        "received_on": _DATE,
        "remedy": _TEXT,
        "approved_cents": _INTEGER,
        "approval_ref": _TEXT,
    },
    RecordKind.SECURITY_EXCEPTION: {
        "requester_id": _TEXT,
        "system": _TEXT,
        "rule": _TEXT,
        "finding_id": _TEXT,
        "review_id": _TEXT,
        "approval_ref": _TEXT,
    },
    RecordKind.POSITION: {"grade": _INTEGER, "cost_center": _TEXT, "location": _TEXT},
    RecordKind.JOB_OFFER: {
        "position_id": _TEXT,
        "application": _TEXT,
        "salary_cents": _INTEGER,
        "sign_on_cents": _INTEGER,
        "start_date": _DATE,
        "approval_ref": _TEXT,
    },
    RecordKind.PROPOSAL: {
        "budget_line_id": _TEXT,
        "cost_cents": _INTEGER,
        "review_score": _INTEGER,
        "category": _TEXT,
        "team_id": _TEXT,
        "depends_on": _TEXT,
    },
    RecordKind.DOCUMENT: {
        "document_type": _TEXT,
        "revision": _INTEGER,
        "policy_ref": _TEXT,
        "published_on": _DATE,
        "approval_ref": _TEXT,
    },
}
"""The fields of each kind. A record may have additional fields."""

Fields = Mapping[str, JsonValue]
