"""The limit of open files: raised at start as far as the system allows, and never lowered."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from companyos_shared.file_descriptors import TARGET_LIMIT

RAISE = """
import resource
from companyos_shared import file_descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(file_descriptors.raise_limit(), file_descriptors.limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@pytest.mark.parametrize(
    ("soft", "hard", "then"),
    [(256, HARD, min(TARGET_LIMIT, HARD) if HARD > 0 else TARGET_LIMIT), (256, 512, 512), (300, 300, 300)],
)
def test_the_limit_is_raised_to_the_maximum(soft: int, hard: int, then: int) -> None:
    script = RAISE.format(soft=soft, hard=hard)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    assert result.stdout.split() == [str(then)] * 3
