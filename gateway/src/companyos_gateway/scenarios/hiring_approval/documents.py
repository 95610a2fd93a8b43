"""The position, its draft offer, and the documents and other offers that determine the decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from typing import Any

from companyos_gateway.scenarios import kit

PEOPLE = "people"
EXTERNAL, INTERNAL, EXECUTIVE = "job_offer", "internal_transfer", "executive_offer"
ROLES: Mapping[str, tuple[kit.Role, ...]] = {
    EXTERNAL: (kit.Role.HR_LEAD, kit.Role.CFO),
    INTERNAL: (kit.Role.TEAM_LEAD,),
    EXECUTIVE: (kit.Role.CEO,),
}
"""Roles that decide, by approval type, in ascending order of amounts."""

STEP_CENTS = 10_000
"""Step of the amounts of offers: 100 in the currency."""

GRADES = range(4, 8)
LOWEST_BAND_CENTS, CENTS_PER_GRADE = range(5_400_000, 6_300_000, 100_000), 1_400_000
"""Possible maxima of the lowest grade's band, and the difference between the maxima of two grades."""

RULES = {
    "external_percent": (82, 96),
    "internal_percent": (82, 96),
    "sign_on_percent": (3, 9),
    "lead_days": (7, 18),
    "min_references": (2, 3),
    "check_valid_days": (80, 100),
}
"""Ranges of the policy's figures on the terms of an offer and the background check."""

TAKEN = ("approved", "accepted")
"""States of offers whose candidates have a place in the headcount plan and have not started yet."""


class Variant(StrEnum):
    """Variant of the case: changes of the proposed terms, an internal candidate, or the approver's own team."""

    AS_PROPOSED = "as_proposed"
    CAPPED = "capped"
    MOVED = "moved"
    CAPPED_AND_MOVED = "capped_and_moved"
    INTERNAL = "internal"
    OWN_TEAM = "own_team"


class Ground(StrEnum):
    """Ground for refusing an offer."""

    FILLED = "filled"
    FROZEN = "frozen"
    NO_HEADCOUNT = "no_headcount"
    BAD_CHECK = "bad_check"


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A draft offer with the terms that `rules` permit. `decisive` is the record that is a ground for refusal."""

    variant: Variant
    ground: Ground | None
    type_key: str
    role: kit.Role
    """The role that decides."""
    record: kit.RecordRow
    position: kit.RecordRow
    job: str
    manager_id: str
    """The hiring manager."""
    candidate: kit.Person | None
    """The employee who would change teams; None for an external candidate."""
    band_max_cents: int
    rules: Mapping[str, int]
    limit_cents: int = 0
    """The cost of the first year up to which the HR lead decides."""
    decisive: kit.RecordRow | None = None
    taken: tuple[str, ...] = ()
    """Approved and accepted offers for other positions of the cost center."""
    rivals: tuple[str, ...] = ()
    """Other draft offers for the position."""
    bands_id: str = ""
    """The published salary bands of the location."""
    plan_id: str = ""
    """The published headcount plan of the cost center."""

    @property
    def salary_cents(self) -> int:
        """The yearly salary that may be offered."""
        percent = self.rules["internal_percent" if self.candidate else "external_percent"]
        return min(int(self.record.fields["salary_cents"]), share(self.band_max_cents, percent))

    @property
    def sign_on_cents(self) -> int:
        """The sign-on bonus that may be offered."""
        highest = share(self.salary_cents, 0 if self.candidate else self.rules["sign_on_percent"])
        return min(int(self.record.fields["sign_on_cents"]), highest)

    @property
    def amount_cents(self) -> int:
        """The cost of the first year."""
        return self.salary_cents + self.sign_on_cents

    @property
    def notice_ends(self) -> date:
        """The last day of the candidate's notice."""
        return date.fromisoformat(self.record.fields["notice_ends_on"])

    @property
    def start(self) -> date:
        """The start date that may be offered."""
        earliest = self.notice_ends + timedelta(days=self.rules["lead_days"])
        return roll_forward(max(date.fromisoformat(self.record.fields["start_date"]), earliest))


def share(amount_cents: int, percent: int) -> int:
    """Return a share of an amount, rounded down to whole steps."""
    return amount_cents * percent // 100 // STEP_CENTS * STEP_CENTS


def roll_forward(day: date) -> date:
    """Return a day, or the next working day if it is not one."""
    return kit.working_days_from(day - timedelta(days=1), 1)


def add_offer(build: kit.BuildContext) -> Offer:
    """Add the position, its draft offer and the records that determine the decision."""
    stream, staff = build.stream, build.world.staff
    ground, grade = build.draw_ground(Ground), stream.choice(GRADES)
    variant = stream.choice([one for one in Variant if (ground, one) != (Ground.BAD_CHECK, Variant.INTERNAL)])
    is_own = variant is Variant.OWN_TEAM
    teams = [one for one in kit.pool("teams")["team"] if (one["id"] == PEOPLE) is is_own and one["id"] != kit.EXECUTIVE]
    team = stream.choice(teams)
    elsewhere = [one for one in staff.active() if one.team_id not in (team["id"], PEOPLE, kit.EXECUTIVE)]
    candidate = stream.choice([one for one in elsewhere if not one.roles]) if variant is Variant.INTERNAL else None
    rules = {name: stream.integer(*limits) for name, limits in RULES.items()}
    rules["check_valid_days"] -= rules["check_valid_days"] % 5
    exempt = (grade + 1, GRADES[-1] + 1) if ground is Ground.FROZEN else (GRADES[0], grade)
    rules["exempt_from_grade"] = stream.integer(*exempt)
    band_max = stream.choice(LOWEST_BAND_CENTS) + CENTS_PER_GRADE * (grade - GRADES[0])
    job, manager_id = stream.choice(team["titles"]), staff.lead(team["id"]).id
    position = build.file_record(
        "position",
        title=f"Position: {job}",
        state="open",
        day=build.working_day_ago(70, 82),
        owner_id=manager_id,
        fields={"grade": grade, "cost_center": build.world.ids.take("CC"), "location": _draw_location(build)},
    )
    named = {"position_id": position.id, "application": build.world.ids.take("APP")}
    terms = _draw_terms(build, variant, band_max, rules)
    record = build.file_record(
        "job_offer",
        title=f"Offer: {job}",
        state="draft",
        day=build.working_day_ago(5, 12),
        owner_id=manager_id,
        fields={**named, "cost_center": position.fields["cost_center"], "candidate_type": "external", **terms},
    )
    if candidate:
        record.fields |= {"candidate_type": "internal", "person_id": candidate.id}
    type_key = {Variant.INTERNAL: INTERNAL, Variant.OWN_TEAM: EXECUTIVE}.get(variant, EXTERNAL)
    offer = Offer(
        variant=variant,
        ground=ground,
        type_key=type_key,
        role=stream.choice(ROLES[type_key]),
        record=record,
        position=position,
        job=job,
        manager_id=manager_id,
        candidate=candidate,
        band_max_cents=band_max,
        rules=rules,
    )
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        place = {"cost_center": build.world.ids.take("CC"), "location": _draw_location(build)}
        _add_other(build, offer, "draft", build.copy_record(position, place))
    bands_id = _add_bands(build, offer).id
    distance = STEP_CENTS * max(0, stream.integer(-20, 150))
    limit = offer.amount_cents - distance - STEP_CENTS if offer.role is kit.Role.CFO else offer.amount_cents + distance
    return _add_evidence(build, replace(offer, limit_cents=limit, bands_id=bands_id))


def _draw_location(build: kit.BuildContext) -> str:
    return str(build.stream.choice(kit.pool("tickets")["slots"]["office"]))


def _draw_terms(
    build: kit.BuildContext, variant: Variant, band_max_cents: int, rules: Mapping[str, int]
) -> dict[str, Any]:
    """Draw the proposed salary, bonus and start date, as the variant needs them."""
    stream, is_internal = build.stream, variant is Variant.INTERNAL
    is_capped = variant in (Variant.CAPPED, Variant.CAPPED_AND_MOVED) or (is_internal and stream.chance(0.5))
    highest = share(band_max_cents, rules["internal_percent" if is_internal else "external_percent"])
    salary = highest + STEP_CENTS * stream.integer(8, 80) if is_capped else share(highest, stream.integer(85, 100))
    most = share(min(salary, highest), rules["sign_on_percent"]) // STEP_CENTS
    bonus = most + stream.integer(2, 20) if is_capped and stream.chance(0.5) else stream.integer(0, most)
    notice_ends = build.today + timedelta(days=stream.integer(25, 35))
    earliest = notice_ends + timedelta(days=rules["lead_days"])
    start = roll_forward(earliest + timedelta(days=stream.integer(0, 10)))
    if variant in (Variant.MOVED, Variant.CAPPED_AND_MOVED):
        start = earliest - timedelta(days=stream.integer(3, 16))
    return {
        "salary_cents": salary,
        "sign_on_cents": STEP_CENTS * bonus,
        "notice_ends_on": notice_ends.isoformat(),
        "start_date": start.isoformat(),
    }


def _add_other(build: kit.BuildContext, offer: Offer, state: str, position: kit.RecordRow) -> kit.RecordRow:
    """Add an offer to another candidate, with terms similar to those of the task's offer."""
    stream, start = build.stream, build.working_day(25, 50)
    reference = {"approval_ref": f"APR-{stream.integer(100, 299)}"} if state in TAKEN else {}
    return build.file_record(
        "job_offer",
        title=offer.record.title,
        state=state,
        day=build.working_day_ago(5, 30),
        owner_id=offer.manager_id,
        fields={
            "position_id": position.id,
            "application": build.world.ids.take("APP"),
            "cost_center": position.fields["cost_center"],
            "candidate_type": "external",
            "salary_cents": offer.salary_cents - STEP_CENTS * stream.integer(1, 60),
            "sign_on_cents": 0,
            "notice_ends_on": (start - timedelta(days=stream.integer(20, 30))).isoformat(),
            "start_date": start.isoformat(),
            **reference,
        },
    )


def _add_document(
    build: kit.BuildContext, kind: str, about: str, fields: Mapping[str, Any], day: date, state: str = "published"
) -> kit.RecordRow:
    title = f"{kind.replace('_', ' ').capitalize()}: {about}"
    owner_id = build.stream.choice(build.world.staff.active(PEOPLE)).id
    return build.file_document(kind, title, day=day, fields=fields, owner_id=owner_id, state=state)


def _add_bands(build: kit.BuildContext, offer: Offer) -> kit.RecordRow:
    """Add the salary bands of the location, their last revision and those of another location; return the first."""
    location, grade = offer.position.fields["location"], offer.position.fields["grade"]
    other = build.stream.choice([one for one in kit.pool("tickets")["slots"]["office"] if one != location])
    bands = ((location, "archived", -200_000, 60), (location, "published", 0, 20), (other, "published", 300_000, 20))
    added = []
    for place, state, shift, days_ago in bands:
        lowest = offer.band_max_cents + shift - CENTS_PER_GRADE * grade
        maxima = {f"grade_{one}_max_cents": lowest + CENTS_PER_GRADE * one for one in GRADES}
        day = build.working_day_ago(days_ago, days_ago + 9)
        added.append(_add_document(build, "salary_bands", place, {"location": place, **maxima}, day, state))
    return added[1]


def _add_evidence(build: kit.BuildContext, offer: Offer) -> Offer:
    """Add other offers, headcount plans, a hiring freeze and the background check; return the offer with them."""
    stream, position, ground = build.stream, offer.position, offer.ground
    center, is_full = position.fields["cost_center"], ground is Ground.NO_HEADCOUNT
    _add_other(build, offer, stream.choice(("declined", "withdrawn")), position)
    rivals = [_add_other(build, offer, "draft", position) for _ in range(stream.integer(0, 1))]
    filled_by = _add_other(build, offer, stream.choice(TAKEN), position) if ground is Ground.FILLED else None
    taken = [
        _add_other(build, offer, stream.choice(TAKEN), build.copy_record(position, state="offered"))
        for _ in range(stream.integer(1 if is_full else 0, 2))
    ]
    filled = stream.integer(5, 14)
    needed = filled + len(taken) + (1 if filled_by else 0)
    planned = {
        "archived": needed + (1 if is_full else 0),
        "published": needed + (0 if is_full else stream.integer(1, 2)),
    }
    for state, days_ago in (("archived", 55), ("published", 15)):
        fields = {"cost_center": center, "planned": planned[state], "filled": filled}
        day = build.working_day_ago(days_ago, days_ago + 9)
        plan = _add_document(build, "headcount_plan", center, fields, day, state)
    frozen = center if ground is Ground.FROZEN or stream.chance(0.4) else build.world.ids.take("CC")
    freeze = _add_document(build, "hiring_freeze", frozen, {"cost_center": frozen}, build.working_day_ago(6, 14))
    check = None if offer.candidate else _add_check(build, offer)
    decisive = {Ground.FILLED: filled_by, Ground.FROZEN: freeze, Ground.NO_HEADCOUNT: plan, Ground.BAD_CHECK: check}
    return replace(
        offer,
        decisive=decisive[ground] if ground else None,
        taken=tuple(one.id for one in taken),
        rivals=tuple(one.id for one in rivals),
        plan_id=plan.id,
    )


def _add_check(build: kit.BuildContext, offer: Offer) -> kit.RecordRow:
    """Add the background check of the application, with one flaw if that is the ground for refusal."""
    stream, rules, application = build.stream, offer.rules, offer.record.fields["application"]
    flaw = stream.choice(("result", "references", "age")) if offer.ground is Ground.BAD_CHECK else None
    valid, enough = rules["check_valid_days"], rules["min_references"]
    age = stream.integer((offer.start - build.today).days + 6, valid - 4)
    day = roll_forward(offer.start - timedelta(days=valid + stream.integer(8, 20) if flaw == "age" else age))
    fields = {
        "application": application,
        "result": "discrepancies" if flaw == "result" else "clear",
        "references": enough - 1 if flaw == "references" else stream.integer(enough, 4),
        "completed_on": day.isoformat(),
    }
    return _add_document(build, "background_check", application, fields, day)
