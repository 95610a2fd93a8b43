"""The viewer: documents of stored runs and live episodes, and the page that shows them.

`companyos.viewer.stored_run` reads the files of a run; servers that build documents themselves do not need it.

"""

from companyos.viewer.document import (
    EpisodeDocument,
    EpisodeFacts,
    Judged,
    RewardPart,
    RunDocument,
    Step,
    StepKind,
    Turned,
)
from companyos.viewer.document_builder import episode_document
from companyos.viewer.explanation import with_explanation
from companyos.viewer.page import SCRIPTS, SERVER_POLICY, STYLE, export_page, server_page, static_file
from companyos.viewer.trajectories import Trajectory, TrajectoryLine

__all__ = [
    "SCRIPTS",
    "SERVER_POLICY",
    "STYLE",
    "EpisodeDocument",
    "EpisodeFacts",
    "Judged",
    "RewardPart",
    "RunDocument",
    "Step",
    "StepKind",
    "Trajectory",
    "TrajectoryLine",
    "Turned",
    "episode_document",
    "export_page",
    "server_page",
    "static_file",
    "with_explanation",
]
