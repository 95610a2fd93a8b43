"""Missing training libraries are reported with the command that installs them."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from companyos.extras import install_command


@pytest.mark.skipif(find_spec("trl") is not None, reason="TRL is installed here")
def test_without_trl_the_error_names_the_install_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import companyos.integrations.trl"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert install_command("trl") in ran.stderr.splitlines()[-1]
