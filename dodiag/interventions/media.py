"""What a model is sent of a medium: its bytes, and the rule that makes them from the file in the pack."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, get_args

from dodiag.problems import UsageError

Animated = Literal["first", "refuse"]
VideoMode = Literal["frames", "native"]

SENDABLE = ("png", "jpeg", "webp", "gif")
"""Kinds of picture that a rule may send untouched."""


@dataclass(frozen=True)
class Medium:
    """One picture or video as it is sent: its MIME type and its bytes."""

    mime: str
    data: bytes = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class MediaRule:
    """How the media of a pack become what is sent; part of every plan, so of its hash.

    A picture that keeps to the rule is sent byte for byte. Any other is decoded, turned upright, flattened, scaled and
    encoded again; the same file under the same rule gives the same bytes.

    Attributes
    ----------
    max_pixels : int
        Larger pictures are scaled down to it, and their annotations with them.
    max_side : int
        The same for width and height.
    max_bytes : int
        Encoded bytes of one picture. What is larger is encoded again in steps of quality, then of size. The default is
        5 MB in base64, which every large provider takes.
    ground : str
        Colour ``#rrggbb`` behind transparent pictures.
    accepted : tuple of str
        Kinds of picture that are sent as they are: png, jpeg, webp, gif; every other kind is encoded again.
    animated : {"first", "refuse"}
        What becomes of an animated picture: its first frame is sent, or it is refused.
    video : {"frames", "native"}
        Send a video as pictures, or as it is to a model that takes videos.
    video_frames : int
        Frames that are sent of a video, evenly spaced, the first and the last among them.
    video_fps : float, optional
        Frames a second, of which `video_frames` is then the upper limit.
    video_times : bool
        Whether the prompt says when each frame is.
    max_video_seconds : float
        Longer videos are refused.
    max_video_bytes : int
        Larger videos are refused where they are sent as they are.

    Raises
    ------
    UsageError
        If a limit is not positive, or a name is unknown.
    """

    max_pixels: int = 4096 * 4096
    max_side: int = 8000
    max_bytes: int = 3_750_000
    ground: str = "#ffffff"
    accepted: tuple[str, ...] = ("png", "jpeg")
    animated: Animated = "first"
    video: VideoMode = "frames"
    video_frames: int = 8
    video_fps: float | None = None
    video_times: bool = True
    max_video_seconds: float = 600.0
    max_video_bytes: int = 15_000_000

    def __post_init__(self) -> None:
        for name in ("max_pixels", "max_side", "max_bytes", "max_video_bytes", "video_frames"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} is {value}", "Use a whole number, 1 or more.")
        for name in ("max_video_seconds", "video_fps"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"{name} is {value}", "Use a number above 0.")
        if not re.fullmatch(r"#[0-9a-fA-F]{6}", self.ground):
            raise UsageError(f"ground '{self.ground}' is not a colour", "Write it as #rrggbb, such as #ffffff.")
        for name, known in (("animated", get_args(Animated)), ("video", get_args(VideoMode))):
            if getattr(self, name) not in known:
                raise UsageError(f"{name} '{getattr(self, name)}' is unknown", f"Use {' or '.join(known)}.")
        if unknown := [kind for kind in self.accepted if kind not in SENDABLE]:
            raise UsageError(f"picture kind '{unknown[0]}' is unknown", f"Use some of {', '.join(SENDABLE)}.")
        if not {"png", "jpeg"} & set(self.accepted):
            raise UsageError("neither png nor jpeg is accepted", "Pictures are encoded as one of them; accept it.")
        object.__setattr__(self, "ground", self.ground.lower())
        object.__setattr__(self, "accepted", tuple(kind for kind in SENDABLE if kind in self.accepted))

    def fitted(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return the size in which a picture of this size is sent, as far as pixels decide it.

        Examples
        --------
        >>> MediaRule(max_pixels=1_000_000).fitted((4000, 1000)), MediaRule().fitted((640, 480))
        ((2000, 500), (640, 480))
        """
        width, height = size
        ratio = min(1.0, (self.max_pixels / (width * height)) ** 0.5, self.max_side / max(size))
        if ratio == 1.0:
            return size
        scaled = max(1, int(width * ratio + 1e-9)), max(1, int(height * ratio + 1e-9))
        # A line one pixel high cannot shrink in height, so its length has to give way to the limit alone.
        longest = min(self.max_side, self.max_pixels // min(scaled))
        return min(scaled[0], longest), min(scaled[1], longest)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> MediaRule:
        """Return the rule that :meth:`to_dict` wrote."""
        known = {item.name for item in fields(cls)}
        chosen = {name: value for name, value in values.items() if name in known}
        if unknown := set(values) - known:
            raise UsageError(f"the media rule has an unknown field '{min(unknown)}'", "A newer release wrote it.")
        return cls(**{**chosen, "accepted": tuple(chosen.get("accepted", cls().accepted))})

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as JSON values, the form that a plan hashes and a manifest stores."""
        return {**asdict(self), "accepted": list(self.accepted)}
