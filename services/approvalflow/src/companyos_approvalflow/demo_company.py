"""Company of the demo seed: people, teams and calendar."""

from __future__ import annotations

from typing import Any

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
