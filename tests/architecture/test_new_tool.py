"""A tool is a schema, a function and a route in one feature folder; the contract suite and the references find it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, service_folder

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

SCHEMA = '''

class CommentCount(ResponseModel):
    """The number of comments on a ticket."""

    total: int
'''
SERVICE = '''

def count_comments(call: Call, key: str) -> int:
    """Return the number of comments on a ticket."""
    load_ticket(call, key)
    {effect}
    return len(call.db.execute(select(comments.c.id).where(comments.c.ticket_key == key)).all())
'''
ROUTE = '''

@router.get(
    "/tickets/{key}/comment-count", operation_id="count_comments", responses=error_responses(TicketNotFoundError)
)
async def count_comments(key: TicketKey, call: CallDep) -> CommentCount:
    """Count the comments on a ticket."""
    return CommentCount(total=service.count_comments(call, key))
'''
NO_EFFECT = "assert call.now"
WRITE = "call.db.execute(comments.update().where(comments.c.ticket_key == key).values(body='read'))"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Provide an unchanged copy of TicketDesk."""
    package = service_folder("ticketdesk")
    shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def _add_tool(copy: Path, *, effect: str) -> None:
    feature = copy / "companyos_ticketdesk" / "comments"
    for name, text in (("schemas", SCHEMA), ("service", SERVICE.replace("{effect}", effect)), ("routes", ROUTE)):
        file = feature / f"{name}.py"
        file.write_text(file.read_text().replace("import CommentView,", "import CommentCount, CommentView,") + text)
    schemas = feature / "schemas.py"
    schemas.write_text(schemas.read_text().replace("import CommentCount, CommentView,", "import CommentView,"))
    service = feature / "service.py"
    service.write_text(service.read_text().replace("import CommentCount, CommentView,", "import CommentView,"))


def _run(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


def _contract_suite(copy: Path) -> subprocess.CompletedProcess[str]:
    """Run the whole suite for TicketDesk, without a sample."""
    options = ("-q", "-x", "-n0", "-p", "no:cacheprovider", "-m", "not integration and not slow")
    return _run(copy, "-m", "pytest", *options, "tests/contract", "-k", "ticketdesk")


def test_the_contract_suite_covers_a_new_tool(copy: Path) -> None:
    _add_tool(copy, effect=NO_EFFECT)
    done = _contract_suite(copy)
    assert done.returncode == 0, done.stdout


def test_the_contract_suite_rejects_a_read_that_writes(copy: Path) -> None:
    _add_tool(copy, effect=WRITE)
    done = _contract_suite(copy)
    assert done.returncode == 1
    assert "FAILED" in done.stdout


def test_the_reference_lists_a_new_tool(copy: Path) -> None:
    _add_tool(copy, effect=NO_EFFECT)
    done = _run(copy, "-m", "verification.reference", str(copy))
    assert done.returncode == 0, done.stderr
    assert "ticketdesk_count_comments" in (copy / "tools.md").read_text()
