"""Security exceptions: granted for a permitted time with a confirmed control and an approval, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import Any, cast

from companyos_gateway.scenarios import kit

CLASSES = ("internal", "confidential", "restricted")
NOT_OWNERS, REVIEWERS = ("executive-office", "security"), ("security", "platform", "data", "workplace")
"""Teams whose leads usually own none of the systems, and teams that review controls."""


class Variant(StrEnum):
    """Variant of the case: the limit of the last day, a renewal, or a system of the security lead."""

    AS_REQUESTED = "as_requested"
    SHORTENED = "shortened"
    UNTIL_FIX = "until_fix"
    RENEWAL = "renewal"
    LIMITED_RENEWAL = "limited_renewal"
    OWN_SYSTEM = "own_system"


class Ground(StrEnum):
    """Ground for refusing the exception."""

    OTHER_TEAM = "other_team"
    FIX_DUE = "fix_due"
    CRITICAL = "critical"
    TOO_MANY = "too_many"
    COVERED = "covered"
    OUTDATED_REVIEW = "outdated_review"
    FAILED_REVIEW = "failed_review"
    OWN_REVIEW = "own_review"


@dataclass(frozen=True, kw_only=True)
class Waiver:
    """A requested exception and its last day under the policy."""

    variant: Variant
    ground: Ground | None
    record: kit.RecordRow
    requester: kit.Person
    owner_team: frozenset[str]
    """The active members of the team of the system's owner."""
    register: kit.RecordRow
    finding: kit.RecordRow
    review: kit.RecordRow
    other_control: str
    """The control that other versions of the policy require."""
    earlier: tuple[kit.RecordRow, ...]
    """Earlier exceptions, in the order in which they started."""
    first_day: date
    last_day: date
    durations: dict[str, int]
    """The durations that the policy in force permits, in days."""


class SecurityException(kit.DeclaredScenario[Waiver]):
    """Decide a security exception: check the control and the last day, get approval and record it, or refuse it."""

    name, team, topic, max_steps = "security_exception", "security", "security exceptions", 140
    tags, duplicate_tags = ("security", "exception"), ("security",)
    alternative_types = MappingProxyType(
        {"security_exception": kit.Role.SECURITY_LEAD, "executive_exception": kit.Role.CTO}
    )
    held_out = frozenset({Variant.LIMITED_RENEWAL.value})
    always = (kit.Kind.MISSING_PRIORITY, kit.Kind.APPROVER_OUT_OF_OFFICE)
    opt_in_kinds = frozenset()
    applicable = kit.buildable_kinds(exclude=(*kit.METRIC_KINDS, kit.Kind.EXPIRED_CERTIFICATE, kit.Kind.LIMIT_TOO_LOW))
    distractors = (*kit.USUAL_DISTRACTORS, "ticketdesk_link_tickets", "datahub_update_vendor")

    def draw(self, build: kit.BuildContext) -> Waiver:
        """File a request for an exception with the records that determine the decision, and unrelated ones."""
        staff, stream = build.world.staff, build.stream
        ground = build.draw_ground(Ground)
        variant = stream.choice(list(Variant)) if ground is None else Variant.AS_REQUESTED
        case = ground or variant
        owners = [staff.lead(one.id) for one in staff.teams if one.id not in NOT_OWNERS]
        owner = staff.lead("security") if case is Variant.OWN_SYSTEM else stream.choice(owners)
        people = [one for one in staff.active() if not one.roles and one.id != build.world.agent_id]
        team = [one for one in people if one.team_id == owner.team_id]
        requester = stream.choice([one for one in people if one not in team] if case is Ground.OTHER_TEAM else team)
        others = [one for one in people if one != requester]
        system, other_system = stream.sample(kit.pool("data")["slots"]["service"], 2)
        rule, other_rule = stream.sample(self.texts()["rules"], 2)
        control, other_control = stream.shuffled(rule["controls"])
        class_level = 2 if case is Ground.CRITICAL else stream.integer(0, 2)
        severity_level = 3 if case is Ground.CRITICAL else stream.integer(0, 2 if class_level == 2 else 3)
        base, step, total = (10 * stream.integer(*tens) for tens in ((15, 24), (1, 2), (50, 55)))
        spare = 0 if case is Variant.SHORTENED else stream.integer(1, 20)
        first_day = build.working_day(2, 12)
        last_day = kit.days_from(first_day, base - step * (severity_level + class_level) - spare - 1)
        later = kit.days_from(last_day, stream.integer(5, 60))
        is_cut = case in (Variant.SHORTENED, Variant.UNTIL_FIX, Variant.LIMITED_RENEWAL)
        fix_due_on = kit.days_from(last_day, 0 if case is Variant.UNTIL_FIX else stream.integer(5, 60))
        if case is Ground.FIX_DUE:
            fix_due_on = kit.days_from(first_day, -stream.integer(0, 9))
        since = kit.days_from(last_day, 1 - total + (0 if case is Variant.LIMITED_RENEWAL else stream.integer(20, 120)))
        ends = {Variant.RENEWAL: first_day, Variant.LIMITED_RENEWAL: first_day, Ground.COVERED: last_day}
        until = {**ends, Ground.TOO_MANY: kit.days_from(build.today, -30)}.get(case)
        finding = _file_finding(build, system, rule, severity_level, fix_due_on, before=since if until else build.today)
        record = _file_exception(build, finding, requester, "requested", first_day, later if is_cut else last_day)
        if kit.Kind.SIMILAR_NAMES in build.kinds:
            person_id = stream.choice(others).id
            build.copy_record(record, {"requester_id": person_id}, owner_id=person_id)
        reviewers = [one for one in others if one.team_id in REVIEWERS]
        reviewer = stream.choice([requester, owner] if case is Ground.OWN_REVIEW else reviewers)
        results = ("ineffective", "effective") if case is Ground.FAILED_REVIEW else ("effective", "ineffective")
        _file_review(build, system, control, stream.choice(reviewers), (35, 60), results[1])
        for place, other_broken, other_reviewed in ((system, other_rule, other_control), (other_system, rule, control)):
            other = _file_finding(build, place, other_broken, stream.integer(0, 3), later, before=build.today)
            _file_exception(build, other, stream.choice(others), "active", build.working_day_ago(5, 15), later)
            _file_review(build, place, other_reviewed, stream.choice(reviewers), (3, 12), "effective")
        fields = {"system": system, "class": CLASSES[class_level]}
        return Waiver(
            variant=variant,
            ground=ground,
            record=record,
            requester=requester,
            owner_team=frozenset(one.id for one in staff.active(owner.team_id)),
            register=_file(build, "system", build.working_day_ago(20, 60), owner.id, fields),
            finding=finding,
            review=_file_review(build, system, control, reviewer, (15, 30), results[0]),
            other_control=other_control,
            earlier=_file_earlier(build, finding, owner.team_id, since, until) if until else (),
            first_day=first_day,
            last_day=last_day,
            durations={
                **{f"longest_{name}_days": base - level * step for level, name in enumerate(kit.PRIORITIES)},
                "confidential_less_days": step,
                "restricted_less_days": 2 * step,
                "total_days": total,
            },
        )

    def slots(self, facts: Waiver) -> Mapping[str, str]:
        """Return the exception with the records that determine the decision, and the requester."""
        named = {"exception": facts.record.id, "title": facts.record.title, "finding": facts.finding.id}
        named |= {"review": facts.review.id, "register": facts.register.id}
        named |= {"requester": facts.requester.name, "requester_id": facts.requester.id}
        return named | {name: facts.finding.fields[name] for name in ("system", "rule", "problem")}

    def answers(self, build: kit.BuildContext, facts: Waiver) -> Mapping[str, kit.AcceptedValue]:
        """Return the rule, the control and its reviewer."""
        reviewer = build.world.staff.person(facts.review.fields["reviewer_id"])
        named = {"reviewer_id": reviewer.id, "reviewer": reviewer.name}
        return named | {"rule": facts.record.fields["rule"], "control": facts.review.fields["control"]}

    def figures(self, facts: Waiver, stream: kit.Stream, priority: kit.Priority, *, in_force: bool) -> kit.Figures:
        """Draw controls, durations, the age of reviews, the number of exceptions, and priorities by severity."""
        controls = {one["name"]: stream.choice(one["controls"]) for one in self.texts()["rules"]}
        controls[facts.record.fields["rule"]] = facts.review.fields["control"] if in_force else facts.other_control
        less = 0 if in_force else 10 * stream.integer(3, 4)
        durations = {name: days - less * name.startswith("longest") for name, days in facts.durations.items()}
        age_days = (facts.first_day - date.fromisoformat(facts.review.fields["reviewed_on"])).days
        is_outdated = (facts.ground is Ground.OUTDATED_REVIEW) is in_force
        count, is_reached = len(facts.earlier), (facts.ground is Ground.TOO_MANY) is in_force
        shift = stream.choice((-1, 1))
        return {
            **{f"{name}_control": control for name, control in controls.items()},
            **durations,
            "review_days": 5 * ((age_days - 1) // 5 if is_outdated else age_days // 5 + stream.integer(1, 3)),
            "most_earlier": count if count and is_reached else max(count, 1) + stream.integer(1, 2),
            **{f"{one}_priority": kit.PRIORITIES[min(max(n + shift, 0), 3)] for n, one in enumerate(kit.PRIORITIES)},
        }

    def policy_body(self, facts: Waiver, figures: kit.Figures) -> str:
        """Return the policy text with the sentence on priorities, which groups severities of the same priority."""
        priorities: dict[str, kit.Priority] = {one: figures[f"{one}_priority"] for one in kit.PRIORITIES}
        clauses = kit.priority_clauses(priorities, "{priority} for {names} severity")
        return super().policy_body(facts, figures).replace("PRIORITIES", clauses)

    def priority(self, facts: Waiver, figures: kit.Figures, drawn: kit.Priority) -> kit.Priority:
        """Return the priority for the severity of the finding; the drawn one has no effect."""
        return cast(kit.Priority, figures[f"{facts.finding.fields['severity']}_priority"])

    def solution(self, facts: Waiver, policy: kit.PolicyRow, ticket_key: str) -> kit.Solution:
        """Grant the exception until its last day and end the one that it renews, or refuse."""
        record, review, owner_id = facts.record, facts.review, str(facts.register.owner_id)
        granted = kit.RecordGoal(
            record_id=record.id,
            state="active",
            ends_on=facts.last_day.isoformat(),
            fields={"review_id": review.id},
            reference_field="approval_ref",
        )
        day_before = kit.days_from(facts.first_day, -1).isoformat()
        active = [one.id for one in facts.earlier if one.state == "active"]
        superseded = [kit.RecordGoal(record_id=one, state="superseded", ends_on=day_before) for one in active]
        is_executive = facts.variant is Variant.OWN_SYSTEM or facts.register.fields["class"] == "restricted"
        type_key = "executive_exception" if is_executive else "security_exception"
        request = kit.Request(
            type_key=type_key,
            subject=record.id,
            role=self.alternative_types[type_key],
            excluded_ids=frozenset({facts.requester.id, owner_id}),
            fields=kit.request_fields(
                exception_id=record.id,
                requester_id=facts.requester.id,
                system=record.fields["system"],
                severity=facts.finding.fields["severity"],
                review_id=review.id,
                last_day=facts.last_day,
            ),
        )
        refusal, known = _refusal(facts)
        outcome = kit.Outcome(
            requests=(request,),
            goals=(granted, *superseded),
            facts=(kit.record_shown(record.id), *known),
            declined="declined",
            subjects=(record.id, facts.finding.id, review.id),
        )
        return kit.Solution(variant=facts.variant, outcome=outcome, refusal=refusal)


def _refusal(facts: Waiver) -> tuple[kit.Refusal | None, list[kit.Fact]]:
    """Return the refusal, and the facts on which it is based besides the exception itself."""
    if facts.ground is None:
        return None, []
    if facts.ground is Ground.OTHER_TEAM:
        is_outsider = kit.outsider_shown(facts.requester.id, facts.owner_team)
        known = [is_outsider, kit.record_shown(facts.register.id, "owner_id")]
        return kit.Refusal("not_entitled", (facts.requester.id,)), known
    latest_first = facts.earlier[::-1]
    grounds: dict[Ground, tuple[str, Sequence[kit.RecordRow]]] = {
        Ground.FIX_DUE: ("requirement_not_met", [facts.finding]),
        Ground.CRITICAL: ("policy_violation", [facts.finding, facts.register]),
        Ground.TOO_MANY: ("policy_violation", latest_first),
        Ground.COVERED: ("duplicate", latest_first[:1]),
    }
    code, records = grounds.get(facts.ground, ("requirement_not_met", [facts.review]))
    first_id, *other_ids = (one.id for one in records)
    column = "state" if facts.ground is Ground.TOO_MANY else "fields"  # earlier exceptions only have to be counted
    known = [kit.record_shown(first_id), *(kit.record_shown(one, column) for one in other_ids)]
    return kit.Refusal(code, (first_id,)), known


def _file(build: kit.BuildContext, kind: str, day: date, owner_id: str, fields: dict[str, str]) -> kit.RecordRow:
    title = kit.load_texts(__file__)["records"][kind].format(**fields)
    return build.file_document(kind, title, day=day, fields=fields, owner_id=owner_id)


def _file_finding(
    build: kit.BuildContext, system: str, rule: dict[str, Any], level: int, fix_due_on: date, *, before: date
) -> kit.RecordRow:
    day = kit.working_days_from(before, -build.stream.integer(25, 40))
    owner_id = build.stream.choice(build.world.staff.active("security")).id
    fields = {"system": system, "rule": rule["name"], "problem": build.stream.choice(rule["problems"])}
    fields |= {"severity": kit.PRIORITIES[level], "fix_due_on": fix_due_on.isoformat()}
    return _file(build, "finding", day, owner_id, fields)


def _file_review(
    build: kit.BuildContext, system: str, control: str, reviewer: kit.Person, ago: tuple[int, int], result: str
) -> kit.RecordRow:
    day = build.working_day_ago(*ago)
    fields = {"system": system, "control": control, "reviewer_id": reviewer.id, "reviewed_on": day.isoformat()}
    return _file(build, "control_review", day, reviewer.id, {**fields, "result": result})


def _file_exception(
    build: kit.BuildContext, finding: kit.RecordRow, person: kit.Person, state: str, first_day: date, last_day: date
) -> kit.RecordRow:
    fields = {"requester_id": person.id, "finding_id": finding.id, **{n: finding.fields[n] for n in ("system", "rule")}}
    is_new = state == "requested"
    return build.file_record(
        "security_exception",
        title=kit.load_texts(__file__)["records"]["exception"].format(**finding.fields),
        state=state,
        day=build.working_day_ago(5, 12) if is_new else kit.working_days_from(first_day, -5),
        fields=fields if is_new else {**fields, "approval_ref": f"APR-{build.stream.integer(100, 299)}"},
        owner_id=person.id,
        starts_on=first_day,
        ends_on=last_day,
    )


def _file_earlier(
    build: kit.BuildContext, finding: kit.RecordRow, team_id: str, since: date, until: date
) -> tuple[kit.RecordRow, ...]:
    """File two or three consecutive exceptions of a team; the last one ends up to 20 days after `until`."""
    stream, count = build.stream, build.stream.integer(2, 3)
    days = (build.today - since).days // count
    starts = [kit.days_from(since, number * days) for number in range(count)]
    ends = [*(kit.days_from(start, -1) for start in starts[1:]), kit.days_from(until, stream.integer(0, 20))]
    found = []
    for start, end in zip(starts, ends, strict=True):
        person = stream.choice(build.world.present(start, team_id=team_id))
        state = "active" if end >= build.today else stream.choice(("expired", "superseded"))
        found.append(_file_exception(build, finding, person, state, start, end))
    return tuple(found)


SCENARIO = SecurityException()
