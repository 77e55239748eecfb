"""Prompts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Medium:
    """One picture or video as it is sent: its MIME type and its bytes."""

    mime: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one call shows to a model."""

    text: str
    media: tuple[Medium, ...] = ()
