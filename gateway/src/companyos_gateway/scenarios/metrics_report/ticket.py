"""The ticket of a report: what the figures are about, what is asked, and by which name it is to be answered."""

from __future__ import annotations

from collections.abc import Collection

from companyos_gateway.chaos import Kind
from companyos_gateway.scenarios.metrics_report.case import Asked, AskedFor, Shape
from companyos_gateway.scenarios.metrics_report.figures import Figures, Subject, texts
from companyos_gateway.scenarios.parts.entry import EntryPlan
from companyos_gateway.world.draft import World
from companyos_shared.streams import Stream

TEAM = "data"
DUE_IN_WORKING_DAYS = (3, 6)
ASKED: dict[Shape, tuple[tuple[Asked, int], ...]] = {
    Shape.SINGLE: ((Asked.VALUE, 0),),
    Shape.COMPARISON: ((Asked.VALUE, 0), (Asked.VALUE, 1), (Asked.LEADER, 0)),
    Shape.TOTAL: ((Asked.TOTAL, 0), (Asked.HIGHEST, 0)),
    Shape.COUNT: ((Asked.ABOVE, 0), (Asked.HIGHEST, 0)),
    Shape.MOVEMENT: ((Asked.VALUE, 0), (Asked.BEFORE, 0), (Asked.CHANGE, 0)),
}


def draw_answers(stream: Stream, shape: Shape) -> tuple[AskedFor, ...]:
    """Draw by which names a report is answered."""
    wanted = ASKED[shape]
    names = stream.choice(texts()["answers"])
    return tuple(AskedFor(name, asked, of) for name, (asked, of) in zip(names, wanted, strict=False))


def entry_plan(world: World, figures: Figures, answers: Collection[AskedFor], kinds: Collection[Kind]) -> EntryPlan:
    """Return how the ticket looks."""
    words = texts()
    topic = words["topic"][figures.topic.key]

    def describe(stream: Stream) -> str:
        person = stream.choice(world.staff.active()).name
        intro = stream.choice(words["intros"]).format(person=person, topic=stream.choice(topic))
        lines = [
            f"({place}) {_cited(stream, subject, kinds)}" for place, subject in enumerate(figures.subjects, start=1)
        ]
        asked = [f"- `{one.name}`: {_asked(stream, one, figures)}" for one in answers]
        return "\n".join([intro, *lines, stream.choice(words["closings"]), *asked])

    return EntryPlan(
        team_id=TEAM,
        titles=words["titles"],
        describe=describe,
        fill=lambda _stream, text: text,
        words=words,
        double_texts=(),
        tags=["figures", "report"],
        double_tags=(),
        type="request",
        due_in=DUE_IN_WORKING_DAYS,
    )


def _cited(stream: Stream, subject: Subject, kinds: Collection[Kind]) -> str:
    by_id = stream.chance(0.4)
    return subject.id if by_id and Kind.SIMILAR_NAMES not in kinds else subject.name


def _asked(stream: Stream, one: AskedFor, figures: Figures) -> str:
    text: str = stream.choice(texts()["asked"][one.asked.value])
    return text.format(of=one.of + 1, limit=figures.limit, unit=figures.topic.unit, day=figures.day)
