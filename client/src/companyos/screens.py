"""What an agent with a browser is shown: a picture of its window, and what can be clicked in it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

DEFAULT_WIDTH: Final = 1280
DEFAULT_HEIGHT: Final = 800


def is_absent(value: object) -> bool:
    """Say whether a field has nothing to tell, so that it is left out."""
    return value is None


class Modality(StrEnum):
    """How an agent sees: answers of tools alone, or with each answer a picture of the window of a browser."""

    TEXT = "text"
    SCREENSHOT = "screenshot"


def is_text(modality: object) -> bool:
    """Say whether an agent sees text alone, which needs no saying."""
    return modality is Modality.TEXT


class Viewport(BaseModel):
    """The size of a window, in CSS pixels, each of which is a pixel of the picture."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    width: int = Field(DEFAULT_WIDTH, ge=320, le=1920)
    height: int = Field(DEFAULT_HEIGHT, ge=240, le=1920)


class ScreenElement(BaseModel):
    """Something in the window that takes a click; the box is the part of it that is seen, in pixels of the picture."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: str
    name: str = Field(description="What people read or hear it called.")
    testid: str | None = Field(None, exclude_if=is_absent, description="What `browser_click` finds it by.")
    x: int
    y: int
    width: int
    height: int
    value: str | None = Field(None, exclude_if=is_absent, description="What a field holds.")
    options: tuple[str, ...] | None = Field(None, exclude_if=is_absent, description="What a list offers.")
    checked: bool | None = Field(None, exclude_if=is_absent)
    focused: bool | None = Field(None, exclude_if=is_absent, description="True where typed text goes.")

    @property
    def centre(self) -> tuple[int, int]:
        """Where a click hits it."""
        return self.x + self.width // 2, self.y + self.height // 2


class Screenshot(BaseModel):
    """The window of an episode's browser after an action. Equal states of the window are equal bytes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    png: str = Field(repr=False, description="The picture, base64.")
    viewport: Viewport
    address: str = Field(description="Where the window is, below the episode's apps: `/` is the desk.")
    title: str
    snapshot: str = Field(description="The whole page as Playwright's aria snapshot, YAML.")
    elements: tuple[ScreenElement, ...] = Field(description="What is seen and takes a click, in the page's order.")
    scroll_y: int = Field(ge=0, description="Pixels of the page that lie above the window.")
    page_height: int = Field(ge=0, description="Pixels of the whole page.")
    looks_left: int = Field(ge=0, description="Actions of the browser that may be no step of the episode.")
