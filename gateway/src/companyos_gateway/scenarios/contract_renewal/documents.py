"""A contract with its vendor, the vendor's risk and certificates, and the documents that show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from companyos_gateway.scenarios import kit

METRIC_KEY = "risk_index"


class Variant(StrEnum):
    """Variant of the case: which vendor data must be updated first."""

    STEADY = "steady"
    RECERTIFIED = "recertified"
    AWAITED = "awaited"
    RETIERED = "retiered"
    RECERTIFIED_AND_RETIERED = "recertified_and_retiered"

    @property
    def is_recertified(self) -> bool:
        """Return whether the certificate on file has expired."""
        return self in (Variant.RECERTIFIED, Variant.AWAITED, Variant.RECERTIFIED_AND_RETIERED)

    @property
    def is_retiered(self) -> bool:
        """Return whether the filed risk tier is outdated."""
        return self in (Variant.RETIERED, Variant.RECERTIFIED_AND_RETIERED)


class RefusalGround(StrEnum):
    """Ground for refusing a renewal."""

    RISK = "risk"
    CERTIFICATE = "certificate"
    COVERED = "covered"
    SUSPENDED = "suspended"

    @property
    def reason_code(self) -> str:
        """The policy's reason code."""
        codes = {RefusalGround.COVERED: "duplicate", RefusalGround.SUSPENDED: "policy_violation"}
        return codes.get(self, "requirement_not_met")


@dataclass(frozen=True, kw_only=True)
class CertificateDocument:
    """A certificate as shown in a document."""

    kind: str
    issued_on: date
    expires_on: date

    @property
    def dates(self) -> dict[str, str]:
        """The fields of a document or certificate with its dates."""
        return {"issued_on": self.issued_on.isoformat(), "expires_on": self.expires_on.isoformat()}


LEAST, MOST = 15, 95
MEDIUM_FROM, HIGH_FROM, HIGHEST = (25, 30, 35), (50, 55, 60), (75, 80, 85)
TIERS: tuple[kit.RiskTier, ...] = ("low", "medium", "high")


@dataclass(frozen=True)
class RiskThresholds:
    """Minimum indexes of medium and high risk, and the highest index at which a contract is renewed."""

    medium_from: int
    high_from: int
    highest: int

    def tier(self, index: int) -> kit.RiskTier:
        """Return the tier of an index."""
        return TIERS[(index >= self.medium_from) + (index >= self.high_from)]

    def draw_index(self, stream: kit.Stream, tier: kit.RiskTier) -> int:
        """Draw an index of a tier at which a contract may be renewed."""
        ranges = {
            "low": (LEAST, self.medium_from - 1),
            "medium": (self.medium_from, self.high_from - 1),
            "high": (self.high_from, self.highest),
        }
        return stream.integer(*ranges[tier])


@dataclass(frozen=True)
class Risk:
    """The risk of the vendor: the limits of the policy in force, the index and its tier."""

    bars: RiskThresholds
    index: int
    tier: kit.RiskTier

    @property
    def is_too_high(self) -> bool:
        """Return whether the risk is too high for a renewal."""
        return self.index > self.bars.highest


def draw_risk(stream: kit.Stream, ground: RefusalGround | None) -> Risk:
    """Draw the risk thresholds of the policy in force, and the index."""
    bars = RiskThresholds(stream.choice(MEDIUM_FROM), stream.choice(HIGH_FROM), stream.choice(HIGHEST))
    index = bars.draw_index(stream, stream.choice(TIERS))
    above = stream.integer(bars.highest + 1, MOST)
    if ground is RefusalGround.RISK:
        index = above
    return Risk(bars, index, bars.tier(index))


def draw_other_thresholds(stream: kit.Stream, risk: Risk) -> RiskThresholds:
    """Draw thresholds by which the index has another tier, or no longer exceeds the highest one."""
    under, far = risk.index // 5 * 5, 5 * stream.integer(2, 4)
    if risk.is_too_high:
        return RiskThresholds(stream.choice(MEDIUM_FROM), stream.choice(HIGH_FROM), MOST)
    expected = stream.choice([tier for tier in TIERS if tier != risk.tier])
    medium, high = {
        "low": (under + 5, min(under + 5 + far, 95)),
        "medium": (under, min(under + far, 95)),
        "high": (max(5, under - far), under),
    }[expected]
    return RiskThresholds(medium, high, max(stream.choice(HIGHEST), high))


PAPER_MINUTES = (120, 960)
"""Range of office minutes until an awaited document is completed."""


@dataclass(frozen=True, kw_only=True)
class CertificatePlan:
    """The certificate that the policy requires."""

    on_file: kit.CertificateRow
    paper: CertificateDocument
    """The certificate in force once everything is on file; an expired one if there is no other."""
    document: kit.RecordRow | None
    """The document about the certificate, if there is one."""


def _add_certificates(
    build: kit.BuildContext, vendor: kit.VendorRow, variant: Variant, ground: RefusalGround | None
) -> CertificatePlan:
    """Add the certificate that the policy requires and another one, and a document if the case needs it."""
    world, stream, is_lacking = build.world, build.stream, ground is RefusalGround.CERTIFICATE
    kind, other_kind = stream.sample(kit.load_texts(__file__)["certificates"], 2)
    over, left = stream.integer(5, 60), stream.integer(60, 330)
    ends_on = world.today + timedelta(days=-over if variant.is_recertified or is_lacking else left)
    on_file = kit.add_certificate(world, vendor, kind, ends_on)
    kit.add_certificate(world, vendor, other_kind, world.today + timedelta(days=stream.integer(-90, 300)))
    held = CertificateDocument(kind=kind, issued_on=on_file.issued_on, expires_on=ends_on)
    if is_lacking:
        return CertificatePlan(on_file=on_file, paper=held, document=_document(build, vendor, held))
    if not variant.is_recertified:
        return CertificatePlan(on_file=on_file, paper=held, document=None)
    new_end = ends_on + timedelta(days=kit.CERTIFICATE_DAYS)
    new = CertificateDocument(kind=kind, issued_on=ends_on - timedelta(days=stream.integer(0, 3)), expires_on=new_end)
    document = _document(build, vendor, new)
    if variant is Variant.AWAITED:
        _add_pending(build, document)
    return CertificatePlan(on_file=on_file, paper=new, document=document)


def _document(build: kit.BuildContext, vendor: kit.VendorRow, paper: CertificateDocument) -> kit.RecordRow:
    title = build.stream.choice(kit.load_texts(__file__)["papers"]).format(vendor=vendor.name)
    day, fields = build.working_day_ago(1, 4), {"certificate_kind": paper.kind, **paper.dates}
    return build.file_document("certificate", title, day=day, fields=fields, vendor_id=vendor.id)


def _add_pending(build: kit.BuildContext, document: kit.RecordRow) -> None:
    """Turn the document into an empty draft that a colleague completes later."""
    world, stream = build.world, build.stream
    shown = {name: document.fields[name] for name in ("issued_on", "expires_on")}
    document.fields |= dict.fromkeys(shown, "")
    document.state = "draft"
    due_at = world.company().add_office_minutes(world.started_at, stream.integer(*PAPER_MINUTES))
    people = world.present(document.created_at.date(), due_at.date())
    clerks = [one.id for one in people if not one.roles and one.team_id != kit.FINANCE and one.id != world.agent_id]
    document.owner_id = stream.choice(clerks)
    data = {"record_id": document.id, "state": "published", "fields": shown}
    world.datahub.scheduled_events.append(kit.DataHubEvent(due_at=due_at, kind="record", data=data))


PRICES_CENTS = {kit.Role.FINANCE_CONTROLLER: (200_000, 900_000), kit.Role.CFO: (3_000_000, 12_000_000)}
"""Ranges of the yearly price in cents, by the role that decides about the renewal."""

TERMS_YEARS = (2, 3)
DAYS_LEFT = (32, 75)
LONGEST_YEARS: dict[kit.RiskTier, int] = {"medium": 2, "high": 1}
"""Maximum term in years by tier; a low risk has none."""


@dataclass(frozen=True, kw_only=True)
class Contract:
    """A contract and the terms of its renewal."""

    record: kit.RecordRow
    vendor: kit.VendorRow
    lookalike: kit.VendorRow | None
    """A vendor with a similar name that has a contract of the same title."""
    variant: Variant
    ground: RefusalGround | None
    role: kit.Role
    risk: Risk
    certified: CertificatePlan
    covering: kit.RecordRow | None
    """The renewed contract that already covers the same service, if there is one."""
    metric: kit.MetricSpec | None = None

    @property
    def term_years(self) -> int:
        """The new term in years."""
        years: int = self.record.fields["term_years"]
        return min(years, LONGEST_YEARS.get(self.risk.tier, years))

    @property
    def amount_cents(self) -> int:
        """The cost of the new term in cents."""
        return self.term_years * self.yearly_cents

    @property
    def full_cents(self) -> int:
        """The cost of a term as long as the last one, in cents."""
        return int(self.record.fields["term_years"]) * self.yearly_cents

    @property
    def yearly_cents(self) -> int:
        """The yearly price in cents."""
        return int(self.record.fields["yearly_price_cents"])

    @property
    def new_end(self) -> date:
        """The last day of the new term."""
        assert self.record.ends_on is not None
        return self.record.ends_on.replace(year=self.record.ends_on.year + self.term_years)


def add_contract(build: kit.BuildContext) -> Contract:
    """Add the contract, its vendor with certificates, and similar records."""
    world, stream = build.world, build.stream
    ground = build.draw_ground(RefusalGround)
    variant = stream.choice(list(Variant))
    if ground is not None and variant is Variant.AWAITED:
        variant = Variant.STEADY
    role = stream.choice(list(PRICES_CENTS))
    risk = draw_risk(stream.child("risk"), ground)
    service = stream.choice(kit.load_texts(__file__)["services"])
    status: kit.VendorStatus = "suspended" if ground is RefusalGround.SUSPENDED else "active"
    vendor = kit.draw_vendor(world, stream, status=status, goods=service)
    other = stream.choice([tier for tier in TIERS if tier != risk.tier])
    vendor.risk_tier = other if variant.is_retiered else risk.tier
    certified = _add_certificates(build.child("certificates"), vendor, variant, ground)
    record = _record(build, vendor, role, subject=service)
    covering = _add_renewed(build.child("renewed"), record, is_same=ground is RefusalGround.COVERED)
    lookalike = None
    if kit.Kind.SIMILAR_NAMES in build.kinds:
        lookalike = kit.draw_namesake(world, stream, vendor)
        kit.draw_certificates(world, stream, lookalike)
        build.copy_record(record, vendor_id=lookalike.id)
    return Contract(
        record=record,
        vendor=vendor,
        lookalike=lookalike,
        variant=variant,
        ground=ground,
        role=role,
        risk=risk,
        certified=certified,
        covering=covering,
    )


def _record(build: kit.BuildContext, vendor: kit.VendorRow, role: kit.Role, *, subject: str) -> kit.RecordRow:
    world, stream = build.world, build.stream
    years = stream.choice(TERMS_YEARS)
    yearly = kit.rounded_amount(stream, *PRICES_CENTS[role])
    ends_on = world.today + timedelta(days=stream.integer(*DAYS_LEFT))
    ends_on = ends_on.replace(day=min(ends_on.day, 28))
    starts_on = ends_on.replace(year=ends_on.year - years)
    return build.file_record(
        "contract",
        title=f"Contract: {subject}",
        state="active",
        day=build.working_day_ago(20, 60),
        vendor_id=vendor.id,
        amount_cents=years * yearly,
        starts_on=starts_on,
        ends_on=ends_on,
        fields={
            "contract_type": stream.choice(kit.pool("data")["contract"]["types"]),
            "notice_days": stream.choice(kit.pool("data")["contract"]["notice_days"]),
            "auto_renews": False,
            "signed_on": (starts_on - timedelta(days=stream.integer(3, 40))).isoformat(),
            "service": subject,
            "term_years": years,
            "yearly_price_cents": yearly,
            "approval_ref": "",
        },
    )


def _add_renewed(build: kit.BuildContext, record: kit.RecordRow, *, is_same: bool) -> kit.RecordRow | None:
    """Add a renewed contract with the vendor about the same service and return it, or one about another service."""
    stream, service, ends_on = build.stream, record.fields["service"], record.ends_on
    supplied = kit.categories_of(service)
    services = kit.load_texts(__file__)["services"]
    others = [one for one in services if one != service and kit.categories_of(one) == supplied]
    if not is_same and (not others or stream.chance(0.5)):
        return None
    assert ends_on is not None
    if not is_same:
        service = stream.choice(others)
    title, later = f"Contract: {service}", ends_on.replace(year=ends_on.year + 1)
    other = build.copy_record(record, {"service": service}, title=title, state="renewed", ends_on=later)
    return other if is_same else None


def add_index(build: kit.BuildContext, contract: Contract) -> kit.MetricSpec:
    """Add the vendor's index; stale and conflicting values have another tier or do not exceed the highest index."""
    world, stream = build.world, build.stream
    sources = kit.choose_sources(world, stream, key=METRIC_KEY, other_keys=("compliance_score", "delivery_score"))
    risk, vendor = contract.risk, contract.vendor

    def elsewhere(own: kit.Stream) -> int:
        others = [tier for tier in TIERS if risk.is_too_high or tier != risk.tier]
        return risk.bars.draw_index(own, own.choice(others))

    def title(vendor: kit.VendorRow) -> str:
        return f"Outside-in risk index of {vendor.legal_name}"

    plan = kit.MetricPlan(
        key=METRIC_KEY,
        subject=vendor.id,
        title=title(vendor),
        unit="points",
        sources=sources,
        value=risk.index,
        draw_stale_value=elsewhere,
        draw_conflicting_value=elsewhere,
        lookalike=kit.lookalike_metric(contract.lookalike, title, elsewhere),
    )
    return kit.add_task_metric(world, stream, plan, build.kinds)
