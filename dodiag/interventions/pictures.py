"""Make what is sent of a picture: upright, flattened, within the limits of the media rule, always the same bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dodiag.interventions.media import MediaRule, Medium
from dodiag.scm.media import PICTURES, MediumError, kind_of, load, open_picture, refuse_size

if TYPE_CHECKING:
    from PIL import Image

ALPHA_MODES = ("RGBA", "LA", "PA", "RGBa", "La")
UNTOUCHED_MODES = ("1", "L", "P", "RGB", "RGBA", "LA", "PA")
QUALITIES = (95, 90, 85, 75)
SHRINKINGS = 16
HOPELESS = 1.4
"""A fast PNG that is larger than the limit by this factor is not tried again at the best compression."""

Render = Callable[[tuple[int, int]], "Image.Image"]
"""Gives a picture in a size."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to encode a picture: its share of the full width and height, its format, quality or compression."""

    share: float
    form: str
    setting: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the pack, ready to be sent.

    Attributes
    ----------
    name : str
        How messages call it.
    source : bytes
        The file.
    medium : Medium
        What is sent where nothing is drawn: the file itself wherever the rule allows it.
    rung : int
        Where on the ladder of encodings it stands; a drawn copy starts there, so that both arms lose the same.
    """

    name: str
    source: bytes = field(repr=False)
    medium: Medium
    rung: int

    @property
    def form(self) -> str:
        """Pillow's name of the file's format."""
        return PICTURES[kind_of(self.source, self.name)]


def prepare(source: bytes, name: str, rule: MediaRule) -> Picture:
    """Return what is sent of a picture file: its own bytes where they keep to the rule, else a copy that does.

    Parameters
    ----------
    source : bytes
    name : str
        How messages call it.
    rule : MediaRule

    Raises
    ------
    MediumError
        If it cannot be decoded, or cannot be brought within the rule.
    """
    refuse_size(len(source), name)
    mime = kind_of(source, name)
    with open_picture(source, mime, name) as opened:
        refuse_animated(opened, name, rule)
        if _may_stay(opened, source, mime, name, rule):
            return Picture(name, source, Medium(mime, source), 0)
        base = upright(opened, name, rule.ground)
        medium, rung = encode(lambda size: scaled(base, size), base.size, PICTURES[mime], 0, name, rule)
    return Picture(name, source, medium, rung)


def refuse_animated(opened: Image.Image, name: str, rule: MediaRule) -> None:
    """Raise :class:`MediumError` if a picture is animated and the rule takes none that is."""
    if rule.animated == "refuse" and _is_animated(opened):
        cure = "Store one frame, or send the first (--animated first)."
        raise MediumError(f"medium {name} is animated or has several pages", cure)


def _may_stay(opened: Image.Image, source: bytes, mime: str, name: str, rule: MediaRule) -> bool:
    """Return whether a file can be sent as it is; decodes it, so that nothing damaged is sent."""
    load(opened, name)
    plain = (
        mime.removeprefix("image/") in rule.accepted
        and len(source) <= rule.max_bytes
        and rule.fitted(opened.size) == opened.size
        and opened.mode in UNTOUCHED_MODES
        and not _is_animated(opened)
        and not (mime == "image/png" and source[24] == 16)
        and _orientation(opened) == 1
    )
    return plain and not _shows_ground(opened)


def _is_animated(opened: Image.Image) -> bool:
    # Phones store a second view behind a JPEG (format MPO); a decoder of JPEG sees the first one alone.
    return opened.format != "MPO" and bool(getattr(opened, "is_animated", False))


def _orientation(opened: Image.Image) -> int:
    try:
        found = opened.getexif().get(0x0112, 1)
    except Exception:  # damaged EXIF says nothing: whoever decodes the picture ignores it too
        return 1
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _shows_ground(opened: Image.Image) -> bool:
    """Return whether any pixel is transparent in part."""
    if not opened.has_transparency_data:
        return False
    lowest, _ = opened.convert("RGBA").getchannel("A").getextrema()
    return lowest != 255


def upright(opened: Image.Image, name: str, ground: str) -> Image.Image:
    """Return the first frame of an opened picture with 8 bits a channel, turned upright and on the declared ground.

    Raises
    ------
    MediumError
        If it cannot be decoded.
    """
    from PIL import Image, ImageOps

    load(opened, name)
    profile = opened.info.get("icc_profile")
    turned = opened if _orientation(opened) == 1 else ImageOps.exif_transpose(opened)
    if turned.mode.startswith("I;16"):
        turned = _eight_bits(turned)
    has_alpha = turned.mode in ALPHA_MODES
    if _shows_ground(turned):
        rgba = turned.convert("RGBA")
        flat = Image.alpha_composite(Image.new("RGBA", rgba.size, ground), rgba).convert("RGB")
    elif turned.mode == "CMYK":
        flat, profile = _from_cmyk(turned, profile), None
    else:
        try:
            flat = turned.convert("RGBA" if has_alpha else "RGB")
        except ValueError as error:
            what = f"medium {name} has colours that cannot be converted: {error}"
            raise MediumError(what, "Store it as PNG or JPEG.") from None
    flat = flat.copy() if flat is opened else flat
    keeps = opened.mode in ("RGB", "RGBA", "P") and isinstance(profile, bytes)
    flat.info = {"icc_profile": profile} if keeps else {}
    return flat


def _eight_bits(picture: Image.Image) -> Image.Image:
    """Return a 16-bit grey picture with 8 bits; Pillow's own conversion would cut at 255, leaving white."""
    import numpy as np
    from PIL import Image

    values = np.asarray(picture).astype(np.uint32)
    grey = Image.fromarray(((values + 128) // 257).astype(np.uint8))
    clear = picture.info.get("transparency")
    if not isinstance(clear, int):
        return grey
    return Image.merge("LA", (grey, Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8))))


def _from_cmyk(picture: Image.Image, profile: Any) -> Image.Image:
    from PIL import Image, ImageCms

    if isinstance(profile, bytes):
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            converted = ImageCms.profileToProfile(picture, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
        except (ImageCms.PyCMSError, OSError, ValueError):
            converted = None  # a profile that cannot be read is as good as none
        if isinstance(converted, Image.Image):
            return converted
    return picture.convert("RGB")


def scaled(picture: Image.Image, size: tuple[int, int]) -> Image.Image:
    """Return a picture in a size, the same one where it has it."""
    from PIL import Image

    if picture.size == size:
        return picture
    smaller = picture.resize(size, Image.Resampling.LANCZOS)
    smaller.info = dict(picture.info)
    return smaller


def encode(
    render: Render, size: tuple[int, int], form: str, rung: int, name: str, rule: MediaRule
) -> tuple[Medium, int]:
    """Encode a picture on the first rung of the ladder, from a given one on, that keeps to the rule.

    The ladder is the same for every picture of a format: PNG fast and small, JPEG of falling quality, then JPEG of
    falling size (PNG of falling size where JPEG is not accepted).

    Parameters
    ----------
    render : callable
        Gives the picture in a size.
    size : tuple of int
        Full width and height.
    form : str
        Pillow's name of the source's format; JPEG stays JPEG, everything else becomes PNG if that is accepted.
    rung : int
        The first rung that may be used.
    name : str
        How messages call it.
    rule : MediaRule

    Raises
    ------
    MediumError
        If no rung keeps to the rule.
    """
    width, height = rule.fitted(size)
    drawn: tuple[tuple[int, int], Image.Image] | None = None
    before = 0
    for index, step in enumerate(_ladder(form, rule)):
        again = step.form == "PNG" and step.share == 1.0
        if index < rung or (again and before > HOPELESS * rule.max_bytes):
            continue
        target = max(1, round(width * step.share)), max(1, round(height * step.share))
        if drawn is None or drawn[0] != target:
            drawn = target, render(target)
        data = _encoded(drawn[1], step)
        if len(data) <= rule.max_bytes:
            return Medium(f"image/{step.form.lower()}", data), index
        before = len(data)
    limit = f"{rule.max_bytes:,} bytes"
    raise MediumError(f"medium {name} cannot be encoded in {limit}", "Allow more with max_bytes (--max-image-bytes).")


def _ladder(form: str, rule: MediaRule) -> Iterator[Rung]:
    png, jpeg = "png" in rule.accepted, "jpeg" in rule.accepted
    if png and not (jpeg and form == "JPEG"):
        yield from (Rung(1.0, "PNG", 3), Rung(1.0, "PNG", 9))
    if jpeg:
        yield from (Rung(1.0, "JPEG", quality) for quality in QUALITIES)
    last = ("JPEG", 85) if jpeg else ("PNG", 9)
    yield from (Rung(0.75**times, *last) for times in range(1, SHRINKINGS + 1))


def _encoded(picture: Image.Image, step: Rung) -> bytes:
    out = io.BytesIO()
    profile = picture.info.get("icc_profile")
    options: dict[str, Any] = {} if profile is None else {"icc_profile": profile}
    if step.form == "JPEG":
        picture.convert("RGB").save(out, "JPEG", quality=step.setting, subsampling=0, **options)
    else:
        picture.save(out, "PNG", compress_level=step.setting, **options)
    return out.getvalue()
