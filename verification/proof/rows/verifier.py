"""Row C: the verifier rejects invalid final states and accepts valid ones, using only stored evidence."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from companyos_gateway.engine.engine import EpisodeEngine
from companyos_gateway.evaluation import Verdict
from companyos_gateway.evaluation.rubric import DECLARATION
from verification.proof.bounds import MIN_KILLED, MIN_NAMED, MIN_RIGHT, MIN_WRONG
from verification.proof.code_mutation.corpus import random_traces, shift_tasks, task_of, tasks_of
from verification.proof.code_mutation.mutant_runner import (
    MutantRunner,
    Trial,
    differing_seeds,
    is_whole,
    sample_mutants,
)
from verification.proof.code_mutation.mutants import Mutant, survival_reason
from verification.proof.episode_runner import RecordedEpisode, record_episode
from verification.proof.final_states.channels import channels_at
from verification.proof.final_states.fact_mutations import Channel, Fact, deciding_facts, forget
from verification.proof.final_states.final_state import FinalState
from verification.proof.final_states.honest_mutations import kind_of
from verification.proof.final_states.invalid_mutations import invalid_mutations
from verification.proof.final_states.mutations import NamedMutations
from verification.proof.final_states.valid_mutations import AS_IT_WAS, valid_mutations
from verification.proof.players.oracles import (
    MUTATION_LEVEL,
    NO_TRANSPORT_FAULTS,
    OUTCOMES,
    undisturbed_fair_trace,
    undisturbed_seed,
    undisturbed_trace,
)
from verification.proof.players.variations import variation_players
from verification.proof.rows.base import Job, Line, Row, Scope, Tally

WRONG = "every invalid final state is rejected"
ENOUGH_WRONG = f"at least {MIN_WRONG} invalid final states per task"
RIGHT = "every valid final state is accepted"
ENOUGH_RIGHT = f"at least {MIN_RIGHT} valid final states per task"
EXPLAINED_FAILURES = "every failed check says what was expected and found"
NAMED = "the primary failure is about what was changed, in >= 95 % of the invalid final states"
_SEED_SPACING = 1_000
"""Distance between the start seeds of searches for an instance."""

KILLED = "code mutants of rubrics and rewards: >= 97 % are detected by stored final states"
CODE = "code"
EXPLAINED = "every surviving code mutant is explained"
NOT_EXPLAINED = "not explained"
_MUTANTS_EACH = 30
_EXPLAINED_CASES = 5_000
"""Maximum number of cases for a mutant with an explanation; running a survivor on all cases would take minutes."""

_RUNNERS: dict[tuple[tuple[str, ...], int], MutantRunner] = {}

PLAYED = "every alternative solution succeeds"

CHANNELS = "channels"
FORGOTTEN = "without a deciding fact the correct end is rejected"
TOO_LATE = "a deciding fact that is shown after the act is rejected"
SHOWN = "a deciding fact counts through every tool and page that shows it"
ENOUGH_CHANNELS = "every deciding fact is shown by a tool and by a page"


class Verifier(Row):
    """Final states of oracle episodes with single mutations, and code mutants."""

    letter = "C"
    title = "Rubrics under mutation"

    def jobs(self, scope: Scope) -> Iterable[Job]:
        """Return a job for each mutated instance of both outcomes, and for batches of code mutants."""
        for scenario in scope.sampled("C"):
            for outcome in OUTCOMES:
                for nth in range(scope.size.bent_seeds):
                    seed = scope.first + nth * _SEED_SPACING
                    yield Job(
                        row="C", part=outcome, scope=scope, scenario=scenario, seed=seed, level=MUTATION_LEVEL, weight=6
                    )

                for nth in range(scope.size.channel_seeds):
                    seed, part = scope.first + nth * _SEED_SPACING, f"{CHANNELS} {outcome}"
                    yield Job(
                        row="C", part=part, scope=scope, scenario=scenario, seed=seed, level=MUTATION_LEVEL, weight=2
                    )

        for chunk in range(max(1, scope.size.mutants // _MUTANTS_EACH)):
            yield Job(row="C", part=CODE, scope=scope, seed=chunk, weight=60)

    async def work(self, engine: EpisodeEngine, job: Job) -> list[Tally]:
        """Mutate the final states of one instance, remove its facts, or mutate code."""
        if job.part == CODE:
            return await _mutate(engine, job)
        if job.part.startswith(CHANNELS):
            return await _show_facts(engine, job)
        job = replace(job, seed=undisturbed_seed(job.scenario, job.seed, job.part))
        scenario, seed = job.scenario, job.seed
        oracle_run = await undisturbed_trace(engine, scenario, seed)
        foreign = await undisturbed_fair_trace(engine, scenario, seed + 1)
        if not oracle_run.result.success:
            return [
                Tally(promise=RIGHT, n=1, scenario=job.scenario, faults=(f"{job.scenario}: {oracle_run.result.place}",))
            ]
        place = f"{job.scenario} seed {job.seed}"
        invalid = list(judge_all(oracle_run, invalid_mutations(oracle_run, foreign)))
        wrong, accepted = [one.name for one in invalid], [one.name for one in invalid if one.verdict.success]
        valid = list(judge_all(oracle_run, valid_mutations(oracle_run)))
        right, rejected = [one.name for one in valid], [one.name for one in valid if not one.verdict.success]
        silent = [one.name for one in invalid if not one.is_explained]
        misnamed = [one.name for one in invalid if not one.is_named]
        tallies = [
            Tally(promise=EXPLAINED_FAILURES, n=len(wrong), scenario=job.scenario, faults=_prefixed(place, silent)),
            Tally(promise=NAMED, n=len(wrong), scenario=job.scenario, faults=_prefixed(place, misnamed)),
            Tally(promise=WRONG, n=len(wrong), scenario=job.scenario, faults=_prefixed(place, accepted)),
            Tally(
                promise=RIGHT,
                n=len(right),
                scenario=job.scenario,
                faults=_prefixed(place, rejected),
                notes=dict(Counter(map(kind_of, right))),
            ),
            _enough_cases(ENOUGH_WRONG, job, len(wrong), MIN_WRONG),
            _enough_cases(ENOUGH_RIGHT, job, len(right), MIN_RIGHT),
        ]
        return [*tallies, await _valid_alternatives(engine, job, oracle_run)]

    def line(self, scope: Scope, promise: str, tallies: Sequence[Tally]) -> Line:
        """Return the line of one guarantee."""
        if promise not in (KILLED, NAMED):
            return super().line(scope, promise, tallies)
        n, faults = sum(tally.n for tally in tallies), sum(len(tally.faults) for tally in tallies)
        share, least = (n - faults) / n if n else 0.0, MIN_KILLED if promise == KILLED else MIN_NAMED
        words = "survive" if promise == KILLED else "name something else"
        return self.make_line(scope, promise, n, f"{share:.1%}, {faults} {words}", holds=share >= least)

    def details(self, tallies: Sequence[Tally]) -> list[str]:
        """Return the valid final states by kind, the surviving code mutants, and the facts shown by tool and page."""
        kinds: Counter[str] = Counter()
        for tally in tallies:
            kinds.update({kind: int(count) for kind, count in tally.notes.items()} if tally.promise == RIGHT else {})
        counted = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        lines = [f"Valid final states by kind: {counted}.", ""] if kinds else []
        survivors = sorted(fault for tally in tallies if tally.promise == KILLED for fault in tally.faults)
        if survivors:
            lines += ["Surviving code mutants:", "", *(f"- {one}" for one in survivors), ""]
        shown = Counter(tally.who for tally in tallies if tally.promise == SHOWN)
        if shown:
            lines += ["| shows deciding facts | cases |", "|---|---|"]
            lines += [f"| {one} | {n} |" for one, n in sorted(shown.items())]
        return lines


@dataclass(frozen=True)
class JudgedState:
    """A mutated final state with its verdict. `changed` are the entities that the mutation changed."""

    name: str
    verdict: Verdict
    changed: frozenset[str]

    @property
    def is_explained(self) -> bool:
        """Return whether every failed check names an entity, the expected value and the found value."""
        found = [one.mismatch for one in self.verdict.checks if one.mismatch is not None]
        return all(one.entity and one.expected and one.found for one in found)

    @property
    def is_named(self) -> bool:
        """Return whether the primary failure is about a changed entity or its table."""
        failed = {one.id: one.mismatch for one in self.verdict.checks}
        mismatch = failed.get(self.verdict.primary_failure or "")
        if mismatch is None:
            return bool(self.verdict.damage)
        return any(one == mismatch.entity or one.startswith(f"{mismatch.entity}[") for one in self.changed) or (
            mismatch.entity.startswith(f"{DECLARATION}.") and DECLARATION in self.changed
        )


def judge_all(oracle_run: RecordedEpisode, mutations: NamedMutations) -> Iterator[JudgedState]:
    """Judge every mutated state that differs from the recorded one, and the unchanged state."""
    for name, mutate in mutations:
        final_state = FinalState(oracle_run)
        mutate(final_state)
        if name == AS_IT_WAS or not final_state.is_unchanged(oracle_run):
            yield JudgedState(name, final_state.judge(), frozenset(final_state.changed_entities(oracle_run)))


async def _mutate(engine: EpisodeEngine, job: Job) -> list[Tally]:
    """Run a batch of the sampled mutants against the final states of the mutated scenarios."""
    scope = job.scope
    scenarios = scope.sample(scope.size.code_scenarios, "mutated")
    chosen = sample_mutants(scenarios, scope.size.mutants, seed=scope.first)
    runner = await _mutant_runner(engine, scenarios, scope.size.code_seeds)
    part = chosen[job.seed :: max(1, scope.size.mutants // _MUTANTS_EACH)]
    trials = [
        await _search_instances(engine, runner.run_mutant(one, _EXPLAINED_CASES if survival_reason(one) else None))
        for one in part
    ]
    survivors = tuple(f"{one.place}: {survival_reason(one) or NOT_EXPLAINED}" for one in _surviving(trials))
    known = [trial.mutant for trial in trials if survival_reason(trial.mutant) is not None]
    unexpected = [f"{one.place}: explained, but detected" for one in known if one not in _surviving(trials)]
    faults = (*(item for item in survivors if item.endswith(NOT_EXPLAINED)), *unexpected)
    return [
        Tally(promise=KILLED, n=len(trials), faults=survivors),
        Tally(promise=EXPLAINED, n=len(trials), faults=faults),
    ]


async def _search_instances(engine: EpisodeEngine, trial: Trial) -> Trial:
    """Run a surviving mutant without an explanation on further instances, in which it changes the declared solution."""
    mutant = trial.mutant
    if trial.killed or survival_reason(mutant) is not None:
        return trial
    tasks = [await task_of(engine, mutant.scenario, seed) for seed in differing_seeds(mutant)]
    return MutantRunner(tasks, random_traces()).run_mutant(mutant) if tasks else trial


def _surviving(trials: Sequence[Trial]) -> list[Mutant]:
    return [trial.mutant for trial in trials if not trial.killed]


async def _mutant_runner(engine: EpisodeEngine, scenarios: Sequence[str], seeds: int) -> MutantRunner:
    """Return the mutant runner, created once per process."""
    key = tuple(scenarios), seeds
    if key not in _RUNNERS:
        _RUNNERS.clear()
        tasks = [task for name in scenarios for task in await tasks_of(engine, name, seeds)]
        tasks += await shift_tasks(engine) if is_whole(scenarios) else []
        _RUNNERS[key] = MutantRunner(tasks, random_traces())
        gc.collect()
        gc.freeze()
    return _RUNNERS[key]


async def _valid_alternatives(engine: EpisodeEngine, job: Job, oracle_run: RecordedEpisode) -> Tally:
    """Play other correct solutions, all of which must succeed."""
    players = variation_players(oracle_run, job.scenario, job.scope.size.swaps)
    faults = []
    for name, player in players.items():
        kept = await record_episode(
            engine, job.scenario, name, player, seed=job.seed, chaos=job.level, overrides=NO_TRANSPORT_FAULTS
        )
        if not kept.result.success:
            faults.append(f"{job.scenario}: {kept.result.place}")
    return Tally(promise=PLAYED, n=len(players), scenario=job.scenario, faults=tuple(faults))


async def _show_facts(engine: EpisodeEngine, job: Job) -> list[Tally]:
    """Remove each deciding fact from an oracle's episode, and show it by each tool and page instead."""
    seed = undisturbed_seed(job.scenario, job.seed, job.part.removeprefix(f"{CHANNELS} "))
    oracle_run = await undisturbed_trace(engine, job.scenario, seed)
    last_step = len(oracle_run.step_records)
    facts, tallies = [], []
    for questions in deciding_facts(FinalState(oracle_run)):
        final_state = FinalState(oracle_run)
        facts.append(fact := forget(final_state, questions))
        tallies.append(_rejected(FORGOTTEN, job, fact, final_state))
    by_step: dict[int, list[Fact]] = {}
    for fact in facts:
        by_step.setdefault(min(fact.first_use, last_step) - 1, []).append(fact)
    for step, decided in by_step.items():
        entities = list(dict.fromkeys(one.entity for fact in decided for one in fact.questions))
        channels = [channel async for channel in channels_at(engine, oracle_run, step, entities)]
        for fact in decided:
            showing = [one for one in channels if fact.is_shown_by(one)]
            tallies += _show_fact(job, oracle_run, fact, step, showing)
    return tallies


def _show_fact(
    job: Job, oracle_run: RecordedEpisode, fact: Fact, step: int, channels: Sequence[Channel]
) -> Iterator[Tally]:
    """Show a fact by each kind of tool call and page, before the decision that requires it and after it."""
    kinds = {channel.name: channel for channel in reversed(channels)}
    is_enough = {channel.is_page for channel in kinds.values()} == {True, False}
    missing = () if is_enough else (f"{job.scenario} seed {oracle_run.result.seed}: {fact.text}: {list(kinds)}",)
    yield Tally(promise=ENOUGH_CHANNELS, n=1, scenario=job.scenario, faults=missing)
    for name, channel in sorted(kinds.items()):
        final_state = fact.forgotten(oracle_run)
        channel.show(final_state, step)
        fault = f"{job.scenario} seed {oracle_run.result.seed}: {fact.text} by {name}"
        faults = () if final_state.judge().success else (fault,)
        yield Tally(promise=SHOWN, n=1, scenario=job.scenario, who=name, faults=faults)
        if fact.last_use <= len(oracle_run.step_records):
            final_state = fact.forgotten(oracle_run)
            channel.show(final_state, fact.last_use)
            yield _rejected(TOO_LATE, job, fact, final_state)


def _rejected(promise: str, job: Job, fact: Fact, final_state: FinalState) -> Tally:
    faults = (f"{job.scenario} seed {final_state.instance.seed}: {fact.text}",) if final_state.judge().success else ()
    return Tally(promise=promise, n=1, scenario=job.scenario, faults=faults)


def _enough_cases(promise: str, job: Job, found: int, least: int) -> Tally:
    faults = () if found >= least else (f"{job.scenario} seed {job.seed}: {found}",)
    return Tally(promise=promise, n=1, scenario=job.scenario, faults=faults)


def _prefixed(place: str, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{place}: {name}" for name in names)
