"""From the journal to the viewer's document: every step with the rows it wrote, and its reward by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from companyos.viewer import EpisodeDocument, Step, Trajectory, TrajectoryLine, episode_document
from companyos.viewer.document import JudgedStep
from companyos.viewer.reasons import reasons
from companyos_gateway.episode.journal import Taken
from companyos_gateway.server.viewing.lines import JournalLines
from companyos_gateway.server.viewing.rewards import reward_parts
from companyos_gateway.server.viewing.subject import Subject


class Teller:
    """Tells the steps of an episode, in their order: each reward is split by the balance before it."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._balance = subject.first_balance
        self._last_seq: Counter[str] = Counter()

    def steps(self, taken: Iterable[Taken]) -> Iterator[Step]:
        """Yield further steps as the viewer shows them."""
        for one in taken:
            yield self._step(one)

    def _step(self, taken: Taken) -> Step:
        subject, before = self._subject, self._balance
        self._balance = taken.balance
        options = subject.options
        parts = reward_parts(taken.reward, before, taken.balance, shaping=options.shaping, scale=options.reward_scale)
        told = episode_document(
            subject.facts(subject.id),
            Trajectory((_line(taken, subject.seen.milliseconds(taken.step)),)),
            evidence=self._evidence(taken),
        ).steps[0]
        return told.model_copy(update={"parts": parts, "turned": subject.seen.turned(taken.step)})

    def _evidence(self, taken: Taken) -> dict[str, object]:
        """Return what the services reported of one step, in the shape of stored evidence; what was told stays told."""
        audits: dict[str, list[object]] = {}
        changes: dict[str, list[object]] = {}
        for service, report in taken.reports:
            for change in report.changes:
                if change.seq > self._last_seq[service]:
                    self._last_seq[service] = change.seq
                    changes.setdefault(service, []).append({**change.model_dump(mode="json"), "step": taken.step})
            if report.audit is not None:
                audits.setdefault(service, []).append(report.audit.model_dump(mode="json"))
        return {"initial": dict.fromkeys(self._subject.services), "audits": audits, "changes": changes}


def document_of(subject: Subject, name: str) -> EpisodeDocument:
    """Return the whole document of an episode. Raises UnusableError."""
    with JournalLines(subject.journal) as journal:
        steps = list(Teller(subject).steps(journal.further()))
    lost = subject.step - (steps[-1].number if steps else 0)
    verdict = subject.judgement()
    turned = [JudgedStep(number=step.number, turned=step.turned) for step in steps]
    return EpisodeDocument(
        facts=subject.facts(name),
        company=subject.company,
        acting_as=subject.acting_as,
        brief=subject.brief,
        started_at=subject.started_at,
        max_steps=subject.max_steps,
        steps=steps,
        verdict=verdict,
        reasons=reasons(verdict, steps, turned),
        injections=subject.injected(),
        finish=None if subject.finish is None else subject.finish.model_dump(mode="json"),
        faults=[f"The journal is not kept any more: {lost} steps cannot be shown."] if lost > 0 else [],
    )


def _line(taken: Taken, milliseconds: float | None) -> TrajectoryLine:
    return TrajectoryLine(
        step=taken.step,
        tool=taken.tool,
        arguments=taken.arguments,
        result=taken.result,
        error=None if taken.error is None else taken.error.model_dump(mode="json"),
        reward=taken.reward,
        done=taken.end is not None,
        now=taken.now,
        milliseconds=milliseconds,
    )
