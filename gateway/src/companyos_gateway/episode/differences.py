"""What differs between two steps of an episode, row by row."""

from __future__ import annotations

from companyos.contract import EpisodeDiff, RowDiff
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.errors import InvalidStep


def difference(episode: Episode, first: int, last: int | None) -> EpisodeDiff:
    """Return every row that is another after step `last` than after step `first`; 0 is the start, None is now.

    Raises InvalidStep (422) for a step that has not been taken, or a last before the first.
    """
    end = episode.step if last is None else last
    if not 0 <= first <= end <= episode.step:
        raise InvalidStep(f"From step {first} to {end} is no part of the episode, which stands at step {episode.step}.")
    evidence = episode.evidence
    services: dict[str, dict[str, dict[str, RowDiff]]] = {}
    for service in evidence.services():
        for table in sorted({change.table for change in evidence.changes(service)}):
            for key in sorted(evidence.changed_keys(service, table)):
                before = evidence.row_at(service, table, key, first)
                after = evidence.row_at(service, table, key, end)
                if before != after:
                    rows = services.setdefault(service, {}).setdefault(table, {})
                    rows[key] = RowDiff(before=before, after=after)
    return EpisodeDiff(from_=first, to=end, services=services)
