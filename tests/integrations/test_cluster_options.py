"""`companyos eval --cluster`: invalid options are reported before anything starts. `make ray` plays on a cluster."""

from __future__ import annotations

import importlib.util
import re

import pytest
from typer.testing import CliRunner

from companyos.cli.main import app
from companyos.extras import install_command

RUNNER = CliRunner()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cluster", "auto", "--url", "http://127.0.0.1:1"], "--cluster and --url"),
        (["--workers", "2"], "--workers needs --cluster"),
    ],
)
def test_options_that_a_cluster_does_not_support_are_rejected(options: list[str], message: str) -> None:
    answer = RUNNER.invoke(app, ["eval", "--policy", "noop", *options])
    assert answer.exit_code == 2
    assert message in re.sub(r"\s+", " ", answer.output)


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed here")
def test_without_ray_the_error_names_the_install_command() -> None:
    answer = RUNNER.invoke(app, ["eval", "--policy", "noop", "--cluster", "auto"])
    assert answer.exit_code == 1
    assert install_command("ray") in re.sub(r"\s+", " ", answer.output)
