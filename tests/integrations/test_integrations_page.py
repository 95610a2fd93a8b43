"""The page on integrations: examples without heavy libraries run unchanged."""

from __future__ import annotations

import re

import pytest

from tests.architecture.sources import ROOT

PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.integration
def test_the_example_for_gymnasium_runs(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    block = next(block for block in BLOCKS if "import gymnasium" in block)
    exec(block.replace('CompanyOS-v1",', f'CompanyOS-v1", url={url!r},'), {})  # noqa: S102
    assert capsys.readouterr().out.rstrip().endswith("-0.1")
