"""The runner: plays episodes with policies in parallel and stores their results."""

from companyos.runner.batch import play_all
from companyos.runner.episode import EpisodePlan, PlayedEpisode, StepLine, play_episode, step_view
from companyos.runner.rescoring import Rescored, rescore
from companyos.runner.run_reader import read_records
from companyos.runner.run_writer import RunFolder
from companyos.runner.statistics import Summary, summarise

__all__ = [
    "EpisodePlan",
    "PlayedEpisode",
    "Rescored",
    "RunFolder",
    "StepLine",
    "Summary",
    "play_all",
    "play_episode",
    "read_records",
    "rescore",
    "step_view",
    "summarise",
]
