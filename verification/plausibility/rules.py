"""The rules by name. Each takes the facts of an instance and yields pairs of an entity and a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from companyos_gateway.scenarios.api import Instance
from verification.plausibility import history, order, people, records, texts
from verification.plausibility.facts import Facts, Finding

Rule = Callable[[Facts], Iterable[tuple[str, str]]]

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "causal order": order.causal_order,
        "periods": order.periods,
        "due dates": order.due_dates,
        "working time": order.working_time,
        "quarters": order.quarters,
        "ended tickets": order.ended_tickets,
        "employment": people.employed,
        "absences": people.at_work,
        "assignees": people.assignees,
        "approvers": people.entitled_approvers,
        "delegations": people.delegations,
        "unknown people": people.unknown_people,
        "history": history.chain,
        "mentioned status": history.mentioned_status,
        "vendor identity": records.vendor_identity,
        "vendor categories": records.vendor_categories,
        "amounts": records.amounts,
        "cumulative metrics": records.cumulative_metrics,
        "texts": texts.texts,
        "checklists": texts.checklists,
        "scheduled events": people.scheduled_events,
    }
)


def find_implausible(instance: Instance) -> Iterator[Finding]:
    """Yield all findings of an instance."""
    facts = Facts.of(instance)
    for name, rule in RULES.items():
        for entity, sentence in rule(facts):
            yield Finding(
                rule=name,
                scenario=instance.scenario,
                seed=instance.seed,
                chaos=instance.chaos,
                entity=entity,
                sentence=sentence,
            )
