"""The proof: what every scenario promises, played, bent and counted; `make proof` prints it, one line each.

`rows` holds one module for each row A to H, `players` who plays, `states` ends that are right or wrong, `code` what is
changed in rubrics and rewards, `crew` the processes that do the work and `page` what is printed and written.
"""

from verification.proof.bounds import LEAST_FAIR, LEAST_SUCCESS, MOST_FAILURE, STEP_SHARE
from verification.proof.episode_runner import EpisodeResult, Player, RecordedEpisode, play, record_episode

__all__ = [
    "LEAST_FAIR",
    "LEAST_SUCCESS",
    "MOST_FAILURE",
    "STEP_SHARE",
    "EpisodeResult",
    "Player",
    "RecordedEpisode",
    "play",
    "record_episode",
]
