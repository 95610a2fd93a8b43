"""The card of a submission: `card.toml`, written by its authors."""

from __future__ import annotations

import tomllib
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from companyos.leaderboard.tracks import TRACKS

CARD = "card.toml"
_MAX_CARD_BYTES = 64 * 1024


class CardError(ValueError):
    """Raised for an invalid card; `faults` name the fields."""

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class Weights(StrEnum):
    """Availability of a model's weights."""

    OPEN = "open"
    CLOSED = "closed"


def _check_printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise PydanticCustomError("not-one-line", "must be one line of printable characters without outer blanks")
    return text


def _check_track(name: str) -> str:
    if name not in TRACKS:
        raise PydanticCustomError("unknown-track", "must be one of {known}", {"known": ", ".join(TRACKS)})
    return name


Text = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_check_printable)]


class Card(BaseModel):
    """Description of an agent. Results, tokens, cost and time are not part of it: they come from the run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    track: Annotated[str, AfterValidator(_check_track)] = Field(description="`single` or `month-storm`.")
    agent: Text = Field(description="Name of the agent.")
    version: Text = Field(description="Version of the agent.")
    organisation: Text = Field(description="The organisation or person that submits it.")
    model: Text | None = Field(None, description="The model as in the run's usage; absent for a script.")
    weights: Weights | None = Field(None, description="`open` or `closed`; required with a model.")
    license: Text = Field(description="License of the agent.")
    date: date
    link: HttpUrl | None = Field(None, description="Page or repository of the agent.")
    contact: Text | None = None
    reference: bool = Field(False, strict=True, description="A row to compare with, which has no rank.")

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        if (self.model is None) != (self.weights is None):
            raise PydanticCustomError("weights", "model and weights must be set together")
        return self


def read_card(file: Path) -> Card:
    """Return the card in a TOML file. Raises CardError with the invalid fields, and OSError."""
    with file.open("rb") as opened:
        raw = opened.read(_MAX_CARD_BYTES + 1)
    if len(raw) > _MAX_CARD_BYTES:
        raise CardError(f"{file.name}: must have at most {_MAX_CARD_BYTES:,} bytes")
    try:
        return Card.model_validate(tomllib.loads(raw.decode()))
    except ValidationError as error:
        raise CardError(*(_format_fault(file.name, fault) for fault in error.errors(include_url=False))) from None
    except (ValueError, RecursionError) as error:
        raise CardError(f"{file.name}: {error}") from None


def _format_fault(name: str, fault: object) -> str:
    assert isinstance(fault, dict)
    field = ".".join(map(str, fault["loc"]))
    value = fault["input"]
    got = f"; got {value!r:.100}" if fault["type"] not in ("missing", "weights") else ""
    return f"{name}: {field}{': ' if field else ''}{fault['msg']}{got}"
