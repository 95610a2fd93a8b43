"""Reads trajectories and reports invalid lines with the reason."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from companyos.errors import first_validation_error

_MAX_FAULTS = 50
"""Maximum number of reported invalid lines; the rest are counted."""


class TrajectoryLine(BaseModel):
    """One line of a trajectory as written by the runner; unknown fields are ignored."""

    model_config = ConfigDict(strict=True)

    step: int = Field(ge=1)
    tool: str
    arguments: Any
    result: Any = None
    error: dict[str, Any] | None = None
    reward: float = Field(allow_inf_nan=False)
    done: bool = False
    now: datetime = Field(strict=False)
    fault: str | None = None
    milliseconds: float | None = Field(None, ge=0, allow_inf_nan=False)


@dataclass(frozen=True)
class Trajectory:
    """The steps of a file in order, and its faults."""

    lines: tuple[TrajectoryLine, ...]
    faults: tuple[str, ...] = ()


def read_trajectory(file: Path, display_name: str) -> Trajectory:
    """Return the content of a trajectory; `display_name` is its name in faults. A missing file is a fault."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        return Trajectory((), (f"{display_name}: {error.strerror or error}",))
    lines: dict[int, TrajectoryLine] = {}
    faults: list[str] = []
    for number, text in enumerate(raw.split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            line = _parse_line(text)
            if line.step in lines:
                raise ValueError(f"duplicate step {line.step}")
            lines[line.step] = line
        except ValueError as error:
            faults.append(f"{display_name}, line {number}: {error}")
    return Trajectory(tuple(lines[step] for step in sorted(lines)), _limit_faults(faults, display_name))


def _parse_line(text: bytes) -> TrajectoryLine:
    """Return the step of a line. Raises ValueError."""
    try:
        line_object = json.loads(text.decode("utf-8"), parse_constant=_reject_constant)
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(line_object, dict):
        raise ValueError("not a JSON object")
    try:
        return TrajectoryLine.model_validate(line_object)
    except ValidationError as error:
        raise ValueError(first_validation_error(error)) from None


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"invalid JSON: {name} is not a number")


def _limit_faults(faults: list[str], display_name: str) -> tuple[str, ...]:
    omitted = len(faults) - _MAX_FAULTS
    return (*faults[:_MAX_FAULTS], *([f"{display_name}: {omitted} more lines"] if omitted > 0 else ()))
