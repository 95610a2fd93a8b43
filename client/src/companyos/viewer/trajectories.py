"""Reading the lines of a trajectory: what is no step is named with its line and the reason."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

_MAX_FAULTS = 50
"""Bad lines that are named; of more only the count is told."""


class TrajectoryLine(BaseModel):
    """One line of a trajectory, as the runner writes it; fields that it does not know are left alone."""

    model_config = ConfigDict(strict=True)

    step: int = Field(ge=1)
    tool: str
    arguments: Any
    result: Any = None
    error: dict[str, Any] | None = None
    reward: float = Field(allow_inf_nan=False)
    done: bool = False
    now: datetime = Field(strict=False)
    milliseconds: float | None = Field(None, ge=0, allow_inf_nan=False)


@dataclass(frozen=True)
class Trajectory:
    """The steps of a file in their order, and what of it could not be read."""

    lines: tuple[TrajectoryLine, ...]
    faults: tuple[str, ...] = ()


def read_trajectory(file: Path, display_name: str) -> Trajectory:
    """Return what a trajectory holds; `named` is what a fault calls the file. No file is a fault like another."""
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
                raise ValueError(f"step {line.step} was told before")
            lines[line.step] = line
        except ValueError as error:
            faults.append(f"{display_name}, line {number}: {error}")
    return Trajectory(tuple(lines[step] for step in sorted(lines)), _limit_faults(faults, display_name))


def _parse_line(text: bytes) -> TrajectoryLine:
    """Return the step of a line. Raises ValueError."""
    try:
        line_object = json.loads(text.decode("utf-8"), parse_constant=_reject_constant)
    except UnicodeDecodeError as error:
        raise ValueError(f"is no UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"is no JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(line_object, dict):
        raise ValueError("holds no object")
    try:
        return TrajectoryLine.model_validate(line_object)
    except ValidationError as validation_error:
        first = validation_error.errors(include_input=False, include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"is no JSON: {name} is no number there")


def _limit_faults(faults: list[str], display_name: str) -> tuple[str, ...]:
    omitted = len(faults) - _MAX_FAULTS
    return (*faults[:_MAX_FAULTS], *([f"{display_name}: {omitted} more lines"] if omitted > 0 else ()))
