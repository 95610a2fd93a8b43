"""Search for duplicate instances by fingerprint, among tasks of every split and seeds outside the splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from companyos.contract import Split
from companyos_gateway.chaos import levels
from companyos_gateway.scenarios import Instance, Scenario, catalogue
from companyos_gateway.world.splits import SEEDS
from companyos_shared.streams import digest

_STARTS = (0, *(SEEDS[split].start for split in Split))
_CHUNK_SIZE = 200
_DRAW_SEED = "draw_seed"
"""The seed of the services' own draws. It is excluded: it is hidden, and differs between otherwise equal instances."""


def fingerprint(instance: Instance) -> str:
    """Return the canonical hash of an instance's brief and of the initial rows of its services."""
    documents = {
        service: {name: part for name, part in document.items() if name != _DRAW_SEED}
        for service, document in instance.documents.items()
    }
    return digest({"brief": instance.brief, "documents": documents})


@dataclass(frozen=True, order=True)
class InstanceKey:
    """Scenario, seed and chaos level, which determine an instance."""

    scenario: str
    seed: int
    chaos: int


@dataclass
class CollisionSearch:
    """Result of a search for duplicate instances."""

    instances: int = 0
    collisions: list[tuple[InstanceKey, InstanceKey]] = field(default_factory=list)
    _keys_by_fingerprint: dict[str, InstanceKey] = field(default_factory=dict)

    def add(self, key: InstanceKey, fingerprint_: str) -> None:
        """Count an instance, and record a collision if an earlier one has the same fingerprint."""
        self.instances += 1
        known = self._keys_by_fingerprint.setdefault(fingerprint_, key)
        if known != key:
            self.collisions.append((known, key))


def sample(scenarios: Sequence[str], count: int) -> Iterator[InstanceKey]:
    """Yield `count` distinct instances; scenarios alternate first, then splits, then seeds and levels."""
    for number in range(count):
        turn, scenario = divmod(number, len(scenarios))
        turn, start = divmod(turn, len(_STARTS))
        yield InstanceKey(scenarios[scenario], _STARTS[start] + turn, levels()[turn % len(levels())])


def find_collisions(
    count: int, *, processes: int = 1, scenarios: Mapping[str, Scenario] | None = None
) -> CollisionSearch:
    """Fingerprint `count` instances and collect those with equal fingerprints.

    With more than one process, the installed scenarios plan the instances.
    """
    known = catalogue() if scenarios is None else scenarios
    keys = list(sample(sorted(known), count))
    result = CollisionSearch()
    for key, fingerprint_ in zip(keys, _fingerprints(keys, known, processes), strict=True):
        result.add(key, fingerprint_)
    return result


def _fingerprints(keys: Sequence[InstanceKey], scenarios: Mapping[str, Scenario], processes: int) -> Iterator[str]:
    if processes == 1:
        yield from (_fingerprint(key, scenarios) for key in keys)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(_fingerprint, keys, chunksize=_CHUNK_SIZE)


def _fingerprint(key: InstanceKey, scenarios: Mapping[str, Scenario] | None = None) -> str:
    """Return the fingerprint of an instance, by default of an installed scenario."""
    known = catalogue() if scenarios is None else scenarios
    return fingerprint(known[key.scenario].plan(key.seed, key.chaos))
