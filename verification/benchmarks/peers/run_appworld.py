"""Measures AppWorld in process; its data is downloaded once to its environment."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit

import requests
from appworld import AppWorld, load_task_ids, update_root
from appworld.download import S3_BASE_URL, download_data
from appworld.install import install_package
from timing import NEW_TASK, NOT_RUN, READ, SAME_TASK, measure, print_report

RESETS, STEPS = 10, 50
ROOT = Path(sys.prefix) / "appworld"
worlds = []


def provide_data():
    """Download the data if it is missing, and unpack the apps; exit if it is unavailable."""
    reason = "the download failed"
    try:
        if not (ROOT / "data" / "tasks").is_dir():
            download_data()
    except requests.RequestException as error:
        while error.__context__:
            error = error.__context__
        reason = str(error)
    if not (ROOT / "data" / "tasks").is_dir():
        print(f"its data needs a download from {urlsplit(S3_BASE_URL).hostname}: {reason}", file=sys.stderr)
        sys.exit(NOT_RUN)
    install_package()


def reset(number=0):
    """Load a task."""
    worlds.append(AppWorld(task_id=tasks[number], experiment_name="peers"))


def read(_number):
    """Run code that calls one API."""
    assert "email" in worlds[-1].execute("print(apis.supervisor.show_profile())")


update_root(str(ROOT))
provide_data()
tasks = load_task_ids("train")
same = measure(SAME_TASK, "load a task", RESETS, lambda _: reset(), lambda: worlds.pop().close())
new = measure(NEW_TASK, "load a task", RESETS, reset, lambda: worlds.pop().close())
reset()
steps = measure(READ, "run code that calls one API", STEPS, read)
worlds.pop().close()
print_report("appworld", "in process", same, new, steps)
