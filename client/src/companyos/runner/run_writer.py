"""Writes the folder of a run: `run.json`, `episodes.jsonl`, `trajectories/`, `evidence/` and `messages/`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from companyos.contract import EpisodeRecord
from companyos.runner.episode import EpisodePlan, PlayedEpisode
from companyos.runner.run_reader import (
    EPISODES,
    EVIDENCE,
    EVIDENCE_SUFFIX,
    MESSAGES,
    NEW_EPISODES,
    RUN,
    TRAJECTORIES,
    name_of,
    read_audit_lines,
)
from companyos.signed_evidence import canonical_json

Settings = Mapping[str, Mapping[str, Any]]
"""Settings of each policy that shape its episodes, as JSON."""


class RunMismatchError(Exception):
    """Raised if the run in the folder is another run, which cannot be continued."""


class RunExistsError(FileExistsError):
    """Raised if the folder already contains a run, without `resume` or `overwrite`."""

    def __init__(self, folder: Path, count: int) -> None:
        self.fact = f"{folder} already contains a run of {count} episode{'s' * (count > 1)}"
        super().__init__(f"{self.fact}: use --resume to continue it, --overwrite to replace it, or another --out")


class RunFolder:
    """Writes a run. Each episode's line is written when it ends; `close` sorts the lines in plan order.

    An existing run in the folder is an error unless `resume` (then `kept` contains its finished episodes) or
    `overwrite` (then the first episode replaces it) is set. `settings` are those of each policy that has settings.
    Raises RunExistsError for a folder with a run without either option, FileExistsError for other content,
    RunMismatchError for another run, which cannot be continued, and OSError for a folder that cannot be created or an
    invalid file name.
    """

    def __init__(
        self,
        folder: Path,
        plans: Sequence[EpisodePlan],
        *,
        settings: Settings | None = None,
        resume: bool = False,
        overwrite: bool = False,
    ) -> None:
        self.kept: dict[EpisodePlan, EpisodeRecord] = {}
        self._folder = folder
        self._order = {plan: place for place, plan in enumerate(plans)}
        self._settings = {name: dict(values) for name, values in (settings or {}).items() if values}
        self._is_resumed = resume
        self._written: dict[int, EpisodeRecord] = {}
        self._is_begun = False
        for plan in plans:
            if Path(plan.name).name != plan.name:
                raise NotADirectoryError(f"{plan.name!r} is not a valid file name")
        folder.mkdir(parents=True, exist_ok=True)
        _check_is_run(folder)
        if not (resume or overwrite):
            check_no_run(folder)
        if resume and (folder / EPISODES).exists():
            self._load_kept(plans)

    def add(self, played: PlayedEpisode, evidence: dict[str, Any] | None) -> None:
        """Write an episode: trajectory, messages and evidence, then its line.

        Raises RunMismatchError if the task belongs to another task set than earlier ones.
        """
        self._check_task_set(played.record)
        self._begin()
        name = played.plan.name
        _write_lines(self._folder / TRAJECTORIES / f"{name}.jsonl", (step.as_json() for step in played.steps))
        if played.messages:
            (self._folder / MESSAGES).mkdir(exist_ok=True)
            _write_lines(self._folder / MESSAGES / f"{name}.jsonl", played.messages)
        if evidence is not None:
            packed = gzip.compress(canonical_json(evidence) + b"\n", mtime=0)
            (self._folder / EVIDENCE / f"{name}{EVIDENCE_SUFFIX}").write_bytes(packed)
        self._written[self._order[played.plan]] = played.record
        with (self._folder / EPISODES).open("a", encoding="utf-8") as episodes:
            episodes.write(_record_line(played.record))

    def close(self) -> None:
        """Sort the lines in plan order."""
        if list(self._written) != sorted(self._written):
            self._write_records()

    def _load_kept(self, plans: Sequence[EpisodePlan]) -> None:
        """Load the episodes in the folder that belong to the plans; truncated lines are ignored."""
        by_key = {_episode_key(plan): plan for plan in plans}
        unknown: list[EpisodeRecord] = []
        for line in read_audit_lines(self._folder):
            if line.record is None:
                continue
            plan = by_key.get(_episode_key(line.record))
            if plan is None:
                unknown.append(line.record)
            else:
                self.kept[plan] = line.record
        if unknown:
            reason = _difference(unknown[0], plans)
            raise RunMismatchError(
                f"{self._folder} contains {_episodes(len(unknown))} of another run: {reason} is not part of this one, "
                f"which has {_episodes(len(plans))}"
            )
        _check_settings(self._folder, self._settings)
        self._written = {self._order[plan]: record for plan, record in self.kept.items()}

    def _check_task_set(self, record: EpisodeRecord) -> None:
        before = next((record.task_set for record in self._written.values() if record.task_set is not None), None)
        if None not in (before, record.task_set) and before != record.task_set:
            raise RunMismatchError(
                f"{self._folder} contains another run: it used task set {before}, the server now has {record.task_set}"
            )

    def _begin(self) -> None:
        if self._is_begun:
            return
        self._is_begun = True
        if not self._is_resumed:
            _clear_run(self._folder)
        (self._folder / TRAJECTORIES).mkdir(exist_ok=True)
        (self._folder / EVIDENCE).mkdir(exist_ok=True)
        manifest = {"companyos": version("companyos"), "episodes": len(self._order), "policies": self._settings}
        (self._folder / RUN).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        self._write_records()

    def _write_records(self) -> None:
        self._written = dict(sorted(self._written.items()))
        new = self._folder / NEW_EPISODES
        new.write_text("".join(map(_record_line, self._written.values())), encoding="utf-8")
        new.replace(self._folder / EPISODES)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def _write_lines(file: Path, values: Iterable[Any]) -> None:
    file.write_text("".join(map(_line, values)), encoding="utf-8")


def _record_line(record: EpisodeRecord) -> str:
    return _line(record.model_dump(mode="json"))


def _episode_key(episode: EpisodePlan | EpisodeRecord) -> tuple[object, ...]:
    """Return the key of an episode; the seed of a task is not known in advance."""
    overrides = tuple(sorted(dict(episode.chaos_overrides).items()))
    task = episode.task_id or (episode.scenario, episode.seed, episode.chaos, overrides)
    return episode.policy, task, episode.trial


def _episodes(count: int) -> str:
    return f"{count} episode{'s' * (count != 1)}"


def _difference(record: EpisodeRecord, plans: Iterable[EpisodePlan]) -> str:
    """Return the settings of a record that no plan has, or the episode's name if only their combination is new."""
    settings = _settings_of(record)
    planned = [_settings_of(plan) for plan in plans]
    new = [name for name in settings if all(plan.get(name) != settings[name] for plan in planned)]
    return ", ".join(f"{name} {settings[name]}" for name in new) or name_of(record)


def _settings_of(episode: EpisodePlan | EpisodeRecord) -> dict[str, object]:
    settings = {"policy": episode.policy, "scenario": episode.scenario, "chaos": episode.chaos, "trial": episode.trial}
    if episode.task_id is not None:
        return {**settings, "task": episode.task_id}
    overrides = [f"{name}={rate:g}" for name, rate in sorted(dict(episode.chaos_overrides).items())]
    return {**settings, "override": ", ".join(overrides) or "none", "seed": episode.seed}


def _check_settings(folder: Path, settings: Settings) -> None:
    """Raise RunMismatchError if the run was written by another version, or with other policy settings."""
    try:
        manifest = json.loads((folder / RUN).read_text(encoding="utf-8"))
        run_version, before = manifest["companyos"], manifest["policies"]
    except FileNotFoundError:
        run_version, before = version("companyos"), {}
    except (ValueError, TypeError, KeyError):
        raise RunMismatchError(f"{folder / RUN} cannot be read, so the run cannot be continued") from None
    if run_version != version("companyos"):
        raise RunMismatchError(f"{folder} contains a run of companyos {run_version}; this is {version('companyos')}")
    for policy in sorted({*before, *settings}):
        old, now = before.get(policy, {}), settings.get(policy, {})
        for name in sorted({*old, *now}):
            if old.get(name) != now.get(name):
                was, is_now = json.dumps(old.get(name)), json.dumps(now.get(name))
                raise RunMismatchError(
                    f"{folder} contains another run: {name} of {policy} was {was}, now it is {is_now}"
                )


def _check_is_run(folder: Path) -> None:
    known = (RUN, EPISODES, NEW_EPISODES, TRAJECTORIES, EVIDENCE, MESSAGES)
    unknown = sorted(entry.name for entry in folder.iterdir() if entry.name not in known)
    if unknown:
        raise FileExistsError(f"{folder} is not the folder of a run: it contains {unknown[0]}")


def check_no_run(folder: Path) -> None:
    """Raise RunExistsError if the folder contains an episode or a damaged line."""
    if (folder / EPISODES).exists() and (count := sum(1 for _ in read_audit_lines(folder))):
        raise RunExistsError(folder, count)


def _clear_run(folder: Path) -> None:
    for name in (RUN, EPISODES, NEW_EPISODES):
        (folder / name).unlink(missing_ok=True)
    for part in (TRAJECTORIES, EVIDENCE, MESSAGES):
        if (folder / part).is_dir():
            for file in (folder / part).iterdir():
                file.unlink()
            (folder / part).rmdir()
