"""`python -m interop [--only NAME] [--lock]`: let clients that others wrote play, and print a line for each."""

from __future__ import annotations

import argparse

from companyos.enterprise import Enterprise
from interop.clients import CLIENTS
from interop.environments import NotInstalled, lock, python_of
from interop.trials import Trial, play

_LINE = "{:<30} {:<8} {:>5} {:>5}  {}"
_NOT_RUN = "not run"


def main() -> None:
    """Play; the exit status is 1 where a client saw something else than there was, and where none could be had."""
    asked = _parser().parse_args()
    if asked.lock:
        lock()
        return
    clients = [client for client in CLIENTS if asked.only in client.name]
    trials: list[Trial] = []
    print(_LINE.format("client", "version", "tools", "steps", ""))
    with Enterprise(alone=True) as enterprise:
        for client in clients:
            try:
                trial = play(client, python_of(client.environment), enterprise.url)
            except NotInstalled as missing:
                print(_LINE.format(client.name, "", "", "", f"{_NOT_RUN}: {missing}"), flush=True)
                continue
            trials.append(trial)
            print(_told(trial), flush=True)
    raise SystemExit(int(not trials or not all(trial.is_ok for trial in trials)))


def _told(trial: Trial) -> str:
    ending = "ok" if trial.is_ok else f"FAILED: {trial.reason}"
    return _LINE.format(trial.client, trial.version, trial.tools, trial.steps, ending)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m interop", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="only clients whose name holds this")
    parser.add_argument("--lock", action="store_true", help="choose the newest versions anew, and end")
    return parser


if __name__ == "__main__":
    main()
