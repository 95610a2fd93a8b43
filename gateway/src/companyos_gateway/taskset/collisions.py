"""Looking for two instances that are the same: among tasks of every split and seeds of none, by their fingerprints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import chain

from companyos.contract import Split
from companyos_gateway.chaos import levels
from companyos_gateway.scenarios import Scenario, catalogue
from companyos_gateway.taskset.fingerprint import fingerprint
from companyos_gateway.world.splits import SEEDS

_STARTS = (0, *(SEEDS[split].start for split in Split))
_AT_ONCE = 200


@dataclass(frozen=True, order=True)
class Named:
    """One instance by what it is made from."""

    scenario: str
    seed: int
    chaos: int


@dataclass
class Search:
    """What was looked at, and which instances were found twice."""

    instances: int = 0
    collisions: list[tuple[Named, Named]] = field(default_factory=list)
    _seen: dict[str, Named] = field(default_factory=dict)

    def add(self, named: Named, print_: str) -> None:
        """Count an instance."""
        self.instances += 1
        known = self._seen.setdefault(print_, named)
        if known != named:
            self.collisions.append((known, named))


def sample(scenarios: Sequence[str], count: int) -> Iterator[Named]:
    """Name so many instances: scenarios, levels, splits and seeds take turns, none is named twice."""
    for number in range(count):
        turn, scenario = divmod(number, len(scenarios))
        turn, start = divmod(turn, len(_STARTS))
        yield Named(scenarios[scenario], _STARTS[start] + turn, levels()[turn % len(levels())])


def search(count: int, *, processes: int = 1, scenarios: Mapping[str, Scenario] | None = None) -> Search:
    """Fingerprint so many instances and look for two that are the same.

    With more than one process the scenarios are those of the house.
    """
    known = catalogue() if scenarios is None else scenarios
    named = list(sample(sorted(known), count))
    found = Search()
    for one, print_ in zip(named, _prints(named, known, processes), strict=True):
        found.add(one, print_)
    return found


def _prints(named: Sequence[Named], scenarios: Mapping[str, Scenario], processes: int) -> Iterable[str]:
    if processes == 1:
        return (_print(one, scenarios) for one in named)
    return _in_parallel(named, processes)


def _in_parallel(named: Sequence[Named], processes: int) -> Iterator[str]:
    parts = [named[first : first + _AT_ONCE] for first in range(0, len(named), _AT_ONCE)]
    with ProcessPoolExecutor(processes) as pool:
        yield from chain.from_iterable(pool.map(_prints_of, parts))


def _prints_of(part: Sequence[Named]) -> list[str]:
    return [_print(one, catalogue()) for one in part]


def _print(named: Named, scenarios: Mapping[str, Scenario]) -> str:
    return fingerprint(scenarios[named.scenario].plan(named.seed, named.chaos))
