"""Demo seed: a small company on a Monday morning; the CFO is on holiday and a controller is the delegate."""

from __future__ import annotations

from typing import Any

from companyos_approvalflow.seed import Seed

_DOMAIN = "alderfinch.example"
_STAFF = [
    ("E-101", "Ines Calder", "Chief Executive", "T-1", "ceo"),
    ("E-102", "Tomas Brandt", "Chief Financial Officer", "T-2", "cfo"),
    ("E-103", "Priya Nair", "Chief Technology Officer", "T-3", "cto"),
    ("E-104", "Lena Okafor", "Finance Controller", "T-2", "finance_controller"),
    ("E-105", "Mateo Ruiz", "Head of Procurement", "T-4", "procurement_lead"),
    ("E-106", "Hana Sato", "Head of People", "T-1", "hr_lead"),
    ("E-107", "Viktor Lind", "Legal Counsel", "T-1", "legal_counsel"),
    ("E-108", "Amara Diallo", "Head of Security", "T-3", "security_lead"),
    ("E-109", "Jonas Weber", "Operations Lead", "T-4", "team_lead"),
    ("E-110", "Sofia Marin", "Operations Specialist", "T-4", None),
    ("E-111", "Omar Haddad", "Accountant", "T-2", None),
    ("E-112", "Grace Lin", "Data Engineer", "T-3", None),
    ("E-113", "Paul Becker", "Buyer", "T-4", None),
]
_DEPARTED = {"E-113": "2026-01-31"}


def _person(person_id: str, name: str, title: str, team_id: str, role: str | None) -> dict[str, Any]:
    return {
        "id": person_id,
        "name": name,
        "email": f"{name.lower().replace(' ', '.')}@{_DOMAIN}",
        "title": title,
        "team_id": team_id,
        "manager_id": None if person_id == "E-101" else "E-101",
        "employed_from": "2023-01-09",
        "employed_to": _DEPARTED.get(person_id),
        "roles": [{"role": role, "first_day": "2023-01-09"}] if role else [],
    }


COMPANY: dict[str, Any] = {
    "name": "Alder & Finch",
    "domain": _DOMAIN,
    "agent_id": "E-110",
    "teams": [
        {"id": "T-1", "name": "Management", "department": "Management", "lead_id": "E-101"},
        {"id": "T-2", "name": "Finance", "department": "Finance", "lead_id": "E-102"},
        {"id": "T-3", "name": "Technology", "department": "Technology", "lead_id": "E-103"},
        {"id": "T-4", "name": "Operations", "department": "Operations", "lead_id": "E-109"},
    ],
    "people": [_person(*row) for row in _STAFF],
    "absences": [
        {
            "id": "ABS-1",
            "person_id": "E-102",
            "first_day": "2026-03-02",
            "last_day": "2026-03-13",
            "kind": "vacation",
        },
        {"id": "ABS-2", "person_id": "E-105", "first_day": "2026-03-05", "last_day": "2026-03-05", "kind": "training"},
    ],
    "holidays": [{"day": "2026-04-03", "name": "Good Friday"}],
}


_TYPES = [
    {
        "key": "vendor_onboarding",
        "title": "Vendor onboarding",
        "description": "Start buying from a new vendor. Needs a compliance score from the last day.",
        "policy_ref": "POL-007-v3",
        "fields": [
            {"name": "vendor_id", "type": "text", "description": "ID of the vendor."},
            {"name": "compliance_score", "type": "number", "description": "0 to 100."},
            {
                "name": "score_as_of",
                "type": "datetime",
                "description": "When it was measured.",
                "max_age_minutes": 1440,
            },
            {"name": "annual_cost_cents", "type": "integer", "description": "Expected cost a year, in cents."},
            {"name": "has_contract", "type": "boolean", "required": False, "description": "A contract is signed."},
        ],
        "amount_field": "annual_cost_cents",
        "thresholds": [{"up_to_cents": 500_000, "role": "procurement_lead"}, {"role": "cfo"}],
        "second_role": "ceo",
        "second_above_cents": 10_000_000,
        "expires_after_minutes": 7200,
        "administered_by": ["T-4"],
    },
    {
        "key": "expense_report",
        "title": "Expense report",
        "description": "Pay back what somebody spent for the company.",
        "policy_ref": "POL-003-v2",
        "fields": [
            {"name": "record_id", "type": "text", "description": "ID of the expense record."},
            {"name": "employee_id", "type": "text", "description": "Who is paid back.", "names_beneficiary": True},
            {"name": "amount_cents", "type": "integer", "description": "Amount in cents."},
            {"name": "spent_on", "type": "date", "description": "Day of the receipt."},
        ],
        "amount_field": "amount_cents",
        "thresholds": [
            {"up_to_cents": 50_000, "role": "team_lead"},
            {"up_to_cents": 500_000, "role": "finance_controller"},
            {"role": "cfo"},
        ],
        "expires_after_minutes": 10_080,
        "administered_by": ["T-2", "T-4"],
    },
    {
        "key": "access_request",
        "title": "Access to a system",
        "description": "Give a person access to a system until a day.",
        "policy_ref": "POL-011-v1",
        "fields": [
            {"name": "system", "type": "text", "description": "Name of the system."},
            {"name": "employee_id", "type": "text", "description": "Who gets access.", "names_beneficiary": True},
            {"name": "until", "type": "date", "description": "Last day of the access."},
        ],
        "thresholds": [{"role": "security_lead"}],
        "expires_after_minutes": 4320,
        "administered_by": ["T-4"],
    },
    {
        "key": "production_change",
        "title": "Change in production",
        "description": "Change a running system.",
        "policy_ref": "POL-015-v4",
        "fields": [
            {"name": "service", "type": "text", "description": "The system that changes."},
            {"name": "error_rate", "type": "number", "description": "Share of failing calls, 0 to 1."},
            {"name": "measured_at", "type": "datetime", "description": "When it was measured.", "max_age_minutes": 60},
        ],
        "thresholds": [{"role": "cto"}],
        "expires_after_minutes": 1440,
        "administered_by": ["T-4"],
    },
]

_ONBOARDING = {"compliance_score": 91, "score_as_of": "2026-02-26T10:00:00Z", "annual_cost_cents": 240_000}
_REQUESTS = [
    {
        "id": "APR-1001",
        "type_key": "vendor_onboarding",
        "subject": "V-188",
        "ticket_ref": "OPS-1019",
        "requester_id": "E-110",
        "approver_id": "E-105",
        "status": "approved",
        "fields": {"vendor_id": "V-188", **_ONBOARDING},
        "justification": "Second source for packaging, asked for by the warehouse.",
        "submitted_at": "2026-02-26T10:20:00Z",
        "decided_at": "2026-02-26T13:05:00Z",
        "expires_at": "2026-03-03T10:20:00Z",
        "version": 2,
    },
    {
        "id": "APR-1002",
        "type_key": "expense_report",
        "subject": "REC-311",
        "requester_id": "E-112",
        "approver_id": "E-104",
        "status": "pending",
        "fields": {"record_id": "REC-311", "employee_id": "E-112", "amount_cents": 87_450, "spent_on": "2026-02-19"},
        "justification": "Train and hotel for the supplier visit in Lyon.",
        "submitted_at": "2026-02-27T16:10:00Z",
        "expires_at": "2026-03-06T16:10:00Z",
    },
    {
        "id": "APR-1003",
        "type_key": "access_request",
        "subject": "E-112/warehouse-db",
        "ticket_ref": "OPS-1031",
        "requester_id": "E-110",
        "approver_id": "E-108",
        "status": "info_requested",
        "fields": {"system": "warehouse-db", "employee_id": "E-112", "until": "2026-12-31"},
        "justification": "Needs read access for the stock report.",
        "submitted_at": "2026-02-27T09:30:00Z",
        "expires_at": "2026-03-04T09:30:00Z",
        "version": 2,
    },
    {
        "id": "APR-1004",
        "type_key": "production_change",
        "subject": "billing",
        "requester_id": "E-112",
        "approver_id": "E-103",
        "status": "rejected",
        "fields": {"service": "billing", "error_rate": 0.021, "measured_at": "2026-02-24T08:00:00Z"},
        "justification": "Roll back the rounding change of last week.",
        "submitted_at": "2026-02-25T09:00:00Z",
        "decided_at": "2026-02-25T11:15:00Z",
        "expires_at": "2026-02-26T09:00:00Z",
        "version": 2,
    },
]

_DECISIONS = [
    {
        "id": "APR-1001-D1",
        "request_id": "APR-1001",
        "kind": "approved",
        "by": "E-105",
        "at": "2026-02-26T13:05:00Z",
        "reason": "Approved.",
    },
    {
        "id": "APR-1003-D1",
        "request_id": "APR-1003",
        "kind": "info_requested",
        "by": "E-108",
        "at": "2026-02-27T14:40:00Z",
        "reason_code": "end_date",
        "reason": "Why until the end of the year?",
    },
    {
        "id": "APR-1004-D1",
        "request_id": "APR-1004",
        "kind": "rejected",
        "by": "E-103",
        "at": "2026-02-25T11:15:00Z",
        "reason_code": "evidence_too_old",
        "reason": "Too old when it was submitted: measured_at.",
    },
]

_DELEGATIONS = [
    {
        "id": "DEL-1",
        "from_id": "E-102",
        "to_id": "E-111",
        "type_keys": ["expense_report"],
        "limit_cents": 1_000_000,
        "starts_at": "2025-12-15T09:00:00Z",
        "ends_at": "2026-01-09T17:00:00Z",
        "created_by": "E-102",
    },
    {
        "id": "DEL-2",
        "from_id": "E-102",
        "to_id": "E-104",
        "type_keys": ["vendor_onboarding", "expense_report"],
        "limit_cents": 5_000_000,
        "starts_at": "2026-03-02T00:00:00Z",
        "ends_at": "2026-03-13T18:00:00Z",
        "created_by": "E-102",
    },
]

_DOCUMENT = {
    "company": COMPANY,
    "draw_seed": "demo",
    "started_at": "2026-03-02T09:00:00Z",
    "approval_types": _TYPES,
    "requests": _REQUESTS,
    "decisions": _DECISIONS,
    "notes": [
        {
            "id": "APR-1003-N1",
            "request_id": "APR-1003",
            "author_id": "E-112",
            "at": "2026-02-27T15:02:00Z",
            "body": "The project runs until June, the report stays.",
        }
    ],
    "delegations": _DELEGATIONS,
    "traits": [
        {"id": "E-104", "min_minutes": 45, "max_minutes": 120},
        {"id": "E-103", "min_minutes": 120, "max_minutes": 360},
    ],
    "reactions": [
        {
            "id": "REA-1",
            "type_key": "access_request",
            "subject": "E-113/payroll",
            "n": 1,
            "kind": "reject",
            "reason_code": "no_need",
            "reason": "Payroll is for the finance team alone.",
        }
    ],
    "scheduled_events": [
        {
            "due_at": "2026-03-02T10:30:00Z",
            "kind": "note",
            "data": {
                "id": "APR-1002-N1",
                "request_id": "APR-1002",
                "author_id": "E-112",
                "at": "2026-03-02T10:30:00Z",
                "body": "The hotel receipt is with the record now.",
            },
        }
    ],
}


def demo_seed() -> Seed:
    """Return the demo seed."""
    return Seed.model_validate(_DOCUMENT)
