"""`python -m verification.clients [--only NAME] [--lock]`: runs third-party clients and prints one line for each."""

from __future__ import annotations

import argparse

from companyos.enterprise import Enterprise
from verification.clients.catalogue import CLIENTS
from verification.clients.environments import environment_python, lock
from verification.clients.trials import Trial, play
from verification.uv import UvError

_LINE = "{:<30} {:<8} {:>5} {:>5}  {}"
_NOT_RUN = "not run"


def main() -> None:
    """Run the clients; the exit status is 1 if a client's report is wrong or none could be installed."""
    options = _parser().parse_args()
    if options.lock:
        lock()
        return
    clients = [client for client in CLIENTS if options.only in client.name]
    trials: list[Trial] = []
    print(_LINE.format("client", "version", "tools", "steps", ""))
    with Enterprise(alone=True) as enterprise:
        for client in clients:
            try:
                trial = play(client, environment_python(client.environment), enterprise.url)
            except UvError as error:
                print(_LINE.format(client.name, "", "", "", f"{_NOT_RUN}: {error}"), flush=True)
                continue
            trials.append(trial)
            print(_format_trial(trial), flush=True)
    raise SystemExit(int(not trials or not all(trial.is_ok for trial in trials)))


def _format_trial(trial: Trial) -> str:
    ending = "ok" if trial.is_ok else f"FAILED: {trial.reason}"
    return _LINE.format(trial.client, trial.version, trial.tools, trial.steps, ending)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m verification.clients", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="run only clients whose name contains NAME")
    parser.add_argument("--lock", action="store_true", help="lock the newest versions and exit")
    return parser


if __name__ == "__main__":
    main()
