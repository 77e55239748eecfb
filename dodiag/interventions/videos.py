"""Make what is sent of a video: evenly spaced frames as pictures, or the file itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dodiag.interventions.media import MediaRule, Medium
from dodiag.interventions.pictures import encode, scaled
from dodiag.scm.media import MAX_DECODED_PIXELS, MediumError, kind_of, open_video

if TYPE_CHECKING:
    from PIL import Image

NATIVE = ("video/mp4", "video/webm", "video/quicktime")
"""Kinds of video that are sent as they are."""

RESTORE = "Restore the file."


@dataclass(frozen=True, slots=True)
class Clip:
    """A video of the pack, ready to be sent.

    Attributes
    ----------
    media : tuple of Medium
        Its frames in order, or the file.
    times : tuple of float
        Seconds of each frame from the first; empty where the prompt does not say them.
    """

    media: tuple[Medium, ...]
    times: tuple[float, ...] = ()

    def note(self, first: int) -> str:
        """Return the line of the prompt that says which pictures are frames of this video, and when they are.

        Examples
        --------
        >>> frame = Medium("image/jpeg", b"")
        >>> Clip((frame, frame), (0.0, 1.5)).note(2)
        'Pictures 2 to 3 are frames of one video, at 0.00, 1.50 seconds.'
        """
        times = ", ".join(f"{time:.2f}" for time in self.times)
        if len(self.media) == 1:
            return f"Picture {first} is the only frame of a video."
        return f"Pictures {first} to {first + len(self.media) - 1} are frames of one video, at {times} seconds."


def clip(path: Path, name: str, rule: MediaRule) -> Clip:
    """Return what is sent of a video file.

    Parameters
    ----------
    path : Path
    name : str
        How messages call it.
    rule : MediaRule

    Raises
    ------
    MissingDependency
        If PyAV is not installed.
    MediumError
        If the video is empty, damaged, cut off or longer than the rule allows, or cannot be sent as it is.
    """
    if rule.video == "native":
        return _native(path, name, rule)
    stamps, base = _timeline(path, name, rule)
    chosen = pick(len(stamps), _count(stamps, base, rule))
    wanted = [stamps[index] for index in chosen]
    media = tuple(_still(frame, name, rule) for frame in _frames(path, name, wanted))
    times = tuple(float((stamp - stamps[0]) * base) for stamp in wanted) if rule.video_times else ()
    return Clip(media, times)


def _still(frame: Image.Image, name: str, rule: MediaRule) -> Medium:
    return encode(lambda size: scaled(frame, size), frame.size, "JPEG", 0, name, rule)[0]


def pick(frames: int, count: int) -> list[int]:
    """Return which frames are sent: evenly spaced, the first and the last among them, none twice.

    Examples
    --------
    >>> pick(100, 4), pick(3, 8), pick(9, 1)
    ([0, 33, 66, 99], [0, 1, 2], [4])
    """
    if count >= frames:
        return list(range(frames))
    if count == 1:
        return [(frames - 1) // 2]
    return [(2 * i * (frames - 1) + count - 1) // (2 * (count - 1)) for i in range(count)]


def check_length(path: Path, name: str, rule: MediaRule) -> None:
    """Refuse a video that the rule does not take, as far as its header says.

    Raises
    ------
    MediumError
        If it is too long; or where it is to be sent as it is, too large or of another kind.
    MissingDependency
        If PyAV is not installed.
    """
    if rule.video == "native":
        _refuse_native(path, name, rule)
    with open_video(path, name) as (container, stream):
        declared = _declared(container, stream)
        if declared is not None:
            _refuse_long(declared, name, rule)


def expected_frames(path: Path, name: str, rule: MediaRule) -> tuple[int, tuple[int, int]]:
    """Return how many frames of a video are sent, and in which size they are stored, as far as its header says.

    Raises
    ------
    MissingDependency
        If PyAV is not installed.
    MediumError
        If the video is sent as it is, so that its frames are not known, or is damaged.
    """
    if rule.video == "native":
        raise MediumError(f"medium {name} is sent as it is", "Send frames (--video frames).")
    with open_video(path, name) as (container, stream):
        declared = _declared(container, stream)
        count = rule.video_frames
        if rule.video_fps is not None and declared is not None:
            count = min(count, max(1, math.ceil(float(declared) * rule.video_fps - 1e-9)))
        if stream.frames:
            count = min(count, stream.frames)
        return count, (stream.codec_context.width, stream.codec_context.height)


def _native(path: Path, name: str, rule: MediaRule) -> Clip:
    mime = _refuse_native(path, name, rule)
    _timeline(path, name, rule)
    return Clip((Medium(mime, path.read_bytes()),))


def _refuse_native(path: Path, name: str, rule: MediaRule) -> str:
    with path.open("rb") as stream:
        mime = kind_of(stream.read(256), name)
    if mime not in NATIVE:
        raise MediumError(f"medium {name} is {mime}, which is not sent as it is", "Store it as MP4, or send frames.")
    size = path.stat().st_size
    if size > rule.max_video_bytes:
        cure = "Send frames (--video frames), or allow more (max_video_bytes)."
        raise MediumError(f"medium {name} has {size:,} bytes, more than {rule.max_video_bytes:,}", cure)
    return mime


def _declared(container: Any, stream: Any) -> Fraction | None:
    """Return the length in seconds that the header says."""
    if stream.duration is not None and stream.time_base is not None:
        return Fraction(int(stream.duration)) * Fraction(stream.time_base)
    return None if container.duration is None else Fraction(container.duration, 1_000_000)


def _refuse_long(seconds: Fraction, name: str, rule: MediaRule) -> None:
    if seconds > rule.max_video_seconds:
        cure = "Cut it, or allow more (--max-video-seconds)."
        raise MediumError(f"medium {name} is {float(seconds):.1f} s long, more than {rule.max_video_seconds:g} s", cure)


def _timeline(path: Path, name: str, rule: MediaRule) -> tuple[list[int], Fraction]:
    """Return the time stamps of all frames in order, and their unit, without decoding any.

    A file that holds less than its header promises has been cut off.
    """
    with open_video(path, name) as (container, stream):
        declared = _declared(container, stream)
        if declared is not None:
            _refuse_long(declared, name, rule)
        width, height = stream.codec_context.width, stream.codec_context.height
        if width * height > MAX_DECODED_PIXELS:
            raise MediumError(f"medium {name} has frames of {width:,} x {height:,} pixels", "Store a smaller copy.")
        promised, base = stream.frames, Fraction(stream.time_base)
        packets = [(p.pts, p.duration or 0) for p in container.demux(stream) if p.size and not p.is_discard]
    if any(pts is None for pts, _ in packets):
        raise MediumError(f"medium {name} has frames without a time stamp", "Store it anew, as MP4.")
    stamps = sorted({pts for pts, _ in packets})
    if not stamps:
        raise MediumError(f"medium {name} has no frames", RESTORE)
    length = Fraction(stamps[-1] - stamps[0] + max(duration for _, duration in packets)) * base
    _refuse_long(length, name, rule)
    short = promised > len(packets) and promised - len(packets) > 1
    late = declared is not None and promised == 0 and length < declared * Fraction(9, 10) - 1
    if short or late:
        what = f"holds {len(packets)} of {promised} frames" if short else f"ends after {float(length):.1f} s"
        raise MediumError(f"medium {name} is cut off: it {what}", RESTORE)
    return stamps, base


def _count(stamps: Sequence[int], base: Fraction, rule: MediaRule) -> int:
    if rule.video_fps is None:
        return rule.video_frames
    seconds = float((stamps[-1] - stamps[0]) * base)
    return max(1, min(rule.video_frames, int(seconds * rule.video_fps + 1e-9) + 1))


def _frames(path: Path, name: str, wanted: Sequence[int]) -> Iterator[Image.Image]:
    """Yield the frames with these time stamps, upright, one at a time."""
    left = list(reversed(wanted))
    with open_video(path, name) as (container, stream):
        stream.thread_type = "AUTO"
        for frame in container.decode(stream):
            if frame.pts is None or frame.pts < left[-1]:
                continue
            if frame.pts != left[-1] or frame.is_corrupt:
                break
            yield _upright(frame)
            left.pop()
            if not left:
                return
    raise MediumError(f"medium {name} is damaged: the frame at stamp {left[-1]} cannot be decoded", RESTORE)


def _upright(frame: Any) -> Image.Image:
    """Return a frame as a picture, turned as the file says."""
    from PIL import Image

    picture: Image.Image = frame.to_image()
    turns = {90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_270}
    turn = turns.get(round(frame.rotation) % 360)
    return picture if turn is None else picture.transpose(turn)
