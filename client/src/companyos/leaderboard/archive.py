"""The files of a submission: `card.toml`, and the run in `run.tar.xz`."""

from __future__ import annotations

import lzma
import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from companyos.leaderboard.card import CARD
from companyos.runner.run_reader import EPISODES, EVIDENCE, MESSAGES, RUN, TRAJECTORIES

ARCHIVE = "run.tar.xz"
MAX_FILES = 10_000
MAX_BYTES = 2 * 1024**3
"""Maximum size of the unpacked run."""

_MEMBER = re.compile(rf"{re.escape(RUN)}|{re.escape(EPISODES)}|({TRAJECTORIES}|{EVIDENCE}|{MESSAGES})/(?!\.)[^/\0\\]+")


class ArchiveError(ValueError):
    """Raised for an archive that is damaged, too large, or contains other files than those of a run."""


def pack(run: Path, card: Path, folder: Path, *, with_evidence: bool = True) -> None:
    """Write a submission into a new folder. The same run always results in the same bytes.

    Raises FileExistsError if the folder exists.
    """
    folder.mkdir(parents=True)
    shutil.copyfile(card, folder / CARD)
    with tarfile.open(folder / ARCHIVE, "w:xz") as archive:
        for name in _members(run, with_evidence=with_evidence):
            archive.add(run / name, name, filter=_without_origin)


def _members(run: Path, *, with_evidence: bool) -> Iterator[str]:
    yield from (name for name in (RUN, EPISODES) if (run / name).is_file())
    for part in (TRAJECTORIES, MESSAGES, *([EVIDENCE] if with_evidence else [])):
        yield from sorted(f"{part}/{file.name}" for file in (run / part).glob("*"))


def _without_origin(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o644
    return member


def unpack(file: Path, folder: Path, *, only: str | None = None) -> None:
    """Unpack a run, or one of its files, into an empty folder. Raises ArchiveError."""
    size = 0
    try:
        with tarfile.open(file, "r:xz") as archive:
            for count, member in enumerate(archive):
                size += member.size
                _check_member(member, count, size)
                target = folder / member.name
                if target.exists():
                    raise ArchiveError(f"{file.name}: contains {member.name!r} twice")
                content = archive.extractfile(member)
                if content is not None and only in (None, member.name):
                    target.parent.mkdir(exist_ok=True)
                    with target.open("xb") as written:
                        shutil.copyfileobj(content, written)
    except (tarfile.TarError, lzma.LZMAError, EOFError, UnicodeError, OSError) as error:
        raise ArchiveError(f"{file.name}: {error}") from error
    if not (folder / EPISODES).is_file():
        raise ArchiveError(f"{file.name}: contains no {EPISODES}")


def _check_member(member: tarfile.TarInfo, count: int, size: int) -> None:
    if not member.isreg() or _MEMBER.fullmatch(member.name) is None:
        raise ArchiveError(
            f"{ARCHIVE}: contains {member.name!r}; accepted are files named {RUN}, {EPISODES}, {TRAJECTORIES}/NAME, "
            f"{EVIDENCE}/NAME and {MESSAGES}/NAME"
        )
    if count >= MAX_FILES or size > MAX_BYTES:
        raise ArchiveError(f"{ARCHIVE}: must have at most {MAX_FILES:,} files and {MAX_BYTES:,} bytes")
