"""OpenEnv is imported without its web page's toolkit, and the toolkit stays to be had."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
import companyos.client
print(any(name.partition(".")[0] == "gradio" for name in sys.modules))
import importlib.util
print(importlib.util.find_spec("gradio") is not None)
"""


def test_the_client_works_without_the_toolkit_which_stays_installed() -> None:
    answer = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "True"]
