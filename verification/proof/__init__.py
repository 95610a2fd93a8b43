"""The proof: checks each scenario's guarantees by playing episodes, mutating final states and code, and counting
violations. `make proof` prints one line per guarantee.

`rows` has one module per row A to J, `players` the players, `final_states` correct and incorrect final states, and
`code_mutation` mutants of rubrics and rewards. `execution` runs the jobs; `report` prints and writes the results.
"""

from verification.proof.bounds import MAX_FAILURE, MIN_FAIR, MIN_SUCCESS, STEP_SHARE
from verification.proof.episode_runner import EpisodeResult, RecordedEpisode, play, record_episode

__all__ = [
    "MAX_FAILURE",
    "MIN_FAIR",
    "MIN_SUCCESS",
    "STEP_SHARE",
    "EpisodeResult",
    "RecordedEpisode",
    "play",
    "record_episode",
]
