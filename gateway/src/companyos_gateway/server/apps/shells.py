"""The shell that an app of an episode is shown in."""

from __future__ import annotations

from companyos.contract import Outcome
from companyos_gateway.episode.episode import Episode
from companyos_gateway.episode.toolbox import Toolbox
from companyos_shared.pages import AppLink, Said, Shell

DESK = "desk"


def shell_of(
    episode: Episode, toolbox: Toolbox, root: str, app: str = "", said: Said | None = None, *, tells_outcome: bool
) -> Shell:
    """Return the shell of an app, or of the desk."""
    apps = tuple(AppLink(name=name, title=title, href=f"{root}/{name}/") for name, title in toolbox.paged.items())
    return Shell(
        app=app or DESK,
        title=toolbox.paged.get(app, "CompanyOS"),
        prefix=f"{root}/{app}" if app else root,
        home=root,
        apps=apps,
        now=episode.now,
        person=_name_of(episode),
        notice=_notice(episode, tells_outcome=tells_outcome),
        said=said,
    )


def _name_of(episode: Episode) -> str:
    person_id = episode.task.instance.acting_as
    person = episode.task.company.person(person_id)
    return person.name if person is not None else person_id


def _notice(episode: Episode, *, tells_outcome: bool) -> str | None:
    if not episode.done:
        return None
    if not tells_outcome:
        return "The episode is over: nothing that is sent from here on is carried out."
    ended = "with success" if episode.outcome is Outcome.SUCCESS else f"as {episode.outcome}".replace("_", " ")
    return f"The episode is over. It ended {ended}, with a return of {episode.progress.ledger.return_:.1f}."
