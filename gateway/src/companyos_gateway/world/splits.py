"""Splits: each has its own seeds, and held-out variants are drawn in the test split only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

from companyos.contract import Split
from companyos_gateway.world.pools import pool
from companyos_shared.streams import Stream

T = TypeVar("T")

SEEDS: Mapping[Split, range] = MappingProxyType(
    {
        Split.TRAIN: range(3_000_000_000, 4_000_000_000),
        Split.VALIDATION: range(4_000_000_000, 5_000_000_000),
        Split.TEST: range(5_000_000_000, 6_000_000_000),
    }
)
"""Seeds of each split; all other seeds, including drawn ones, belong to no split."""

HELD_OUT = (Split.VALIDATION, Split.TEST)
"""Splits with their own words. The training split uses the same words as seeds in no split."""

_SEED_INDEX = 1
_HELD_BACK = {Split.VALIDATION: slice(-3, -2), Split.TEST: slice(-2, None)}
_USUAL = slice(0, -3)


@lru_cache(maxsize=256)
def split_of_seed(seed: int) -> Split | None:
    """Return the split that a seed belongs to."""
    return next((split for split, seeds in SEEDS.items() if seed in seeds), None)


def split_of(stream: Stream) -> Split | None:
    """Return the split of the seed in a stream's name, (scenario, seed, purpose, ...)."""
    seed = stream.name[_SEED_INDEX] if len(stream.name) > _SEED_INDEX else ""
    return split_of_seed(int(seed)) if seed.isdecimal() else None


def words_for_split(stream: Stream, kind: str, usual: Sequence[str]) -> Sequence[str]:
    """Return the words of a kind that a stream may draw: those of its split if it is held out, else the usual ones."""
    split = split_of(stream)
    if split not in HELD_OUT:
        return usual
    own: Mapping[str, Any] = pool("held_out")[split]
    words: Sequence[str] = own[kind]
    return words


def texts_for_split(stream: Stream, texts: Sequence[T]) -> Sequence[T]:
    """Return the texts that a stream may draw: the last two in the test split, the one before in the validation split.

    All other streams draw the rest, so at least four texts are needed.
    """
    return texts[_HELD_BACK.get(split_of(stream) or Split.TRAIN, _USUAL)]
