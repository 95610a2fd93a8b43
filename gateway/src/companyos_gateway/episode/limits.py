"""How many episodes may be live, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from companyos_gateway.episode.episode import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLimits:
    """How many episodes may live, and for how many seconds: without a call, without a connection, and at all."""

    most_episodes: int
    idle_s: float
    detached_s: float
    lifetime_s: float

    def is_expired(self, episode: Episode, now: float) -> bool:
        """Say whether an episode was idle, detached or alive for too long."""
        if now - episode.began_at > self.lifetime_s:
            return True
        is_detached = episode.detached_at is not None and now - episode.detached_at > self.detached_s
        return now - episode.used_at > (self.detached_s if is_detached else self.idle_s)
