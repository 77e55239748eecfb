"""What a medium is by its bytes, and whether it can be used: checks of headers, cheap enough for a whole pack."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dodiag.problems import DodiagError, MissingDependency

if TYPE_CHECKING:
    from PIL import Image

MAX_DECODED_PIXELS = 89_478_485
"""Pictures with more pixels are refused before they are decoded: 256 MiB in colour, Pillow's own limit."""

MAX_PICTURE_FILE = 256 * 2**20
"""Picture files with more bytes are refused before they are read."""

HEAD, TAIL = 256, 16

PICTURES = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/bmp": "BMP",
    "image/tiff": "TIFF",
    "image/avif": "AVIF",
    "image/heic": "HEIF",
    "image/jp2": "JPEG2000",
}
"""Pillow's name for each kind of picture that is read."""

TURNED = ("JPEG", "MPO", "PNG", "WEBP", "AVIF")
"""Formats that Pillow opens as stored; it turns the others by itself."""

TAKEN = "Use PNG, JPEG, WebP, GIF, BMP, TIFF, AVIF, HEIC or JPEG 2000, or MP4, MOV, WebM, Matroska or AVI."
VIDEO_CURE = "Install it: pip install 'dodiag[video]'."

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "image/jp2"),
)
_HEIC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"}
_AVIF_BRANDS = {b"avif", b"avis"}
_HIGH_DEPTH = "I;16"
_NO_RANGE = ("I", "F")


class MediumError(DodiagError):
    """A picture or a video that cannot be used; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the header of a medium says.

    Attributes
    ----------
    mime : str
        By the bytes, never by the name.
    size : tuple of int, optional
        Width and height of a picture held upright, as its EXIF orientation says; None for a video.
    """

    mime: str
    size: tuple[int, int] | None = None

    @property
    def is_video(self) -> bool:
        """Whether it is a video."""
        return self.mime.startswith("video/")


def sniff(head: bytes) -> str | None:
    """Return the MIME type that the first bytes of a file say; None where they say none that is known.

    Examples
    --------
    >>> sniff(b"GIF89a..."), sniff(b"a text file named .png")
    ('image/gif', None)
    """
    for magic, mime in _MAGIC:
        if head.startswith(magic):
            return mime
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"AVI ": "video/x-msvideo"}.get(head[8:12])
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0":
        return "image/bmp"
    if head[4:8] == b"ftyp" and len(head) >= 12:
        return _brand(head)
    if head.startswith(b"\x1aE\xdf\xa3"):
        return "video/webm" if b"webm" in head[:64] else "video/x-matroska"
    return None


def _brand(head: bytes) -> str:
    end = min(int.from_bytes(head[:4], "big"), len(head))
    brands = [head[8:12], *(head[at : at + 4] for at in range(16, end - 3, 4))]
    if brands[0] in _AVIF_BRANDS or (brands[0] in _HEIC_BRANDS and _AVIF_BRANDS & set(brands)):
        return "image/avif"
    if brands[0] in _HEIC_BRANDS:
        return "image/heic"
    return "video/quicktime" if brands[0] == b"qt  " else "video/mp4"


def check_medium(path: Path, name: str) -> Header:
    """Return what a medium is, from its header; a picture that seems to be cut off is decoded to be sure.

    Parameters
    ----------
    path : Path
    name : str
        How messages call it.

    Raises
    ------
    MediumError
        If it is no medium, empty, cut off, damaged in its header, or a decompression bomb.
    """
    try:
        with path.open("rb") as stream:
            length = os.fstat(stream.fileno()).st_size
            head = stream.read(HEAD)
            stream.seek(max(0, length - TAIL))
            tail = stream.read(TAIL)
    except OSError as error:
        raise MediumError(f"medium {name} cannot be read: {error.strerror}", "Restore the file.") from None
    mime = kind_of(head, name)
    if mime.startswith("video/"):
        if importlib.util.find_spec("av") is not None:
            with open_video(path, name):
                pass
        return Header(mime)
    refuse_size(length, name)
    with open_picture(path, mime, name) as picture:
        if not _looks_whole(mime, length, head, tail):
            load(picture, name)
        return Header(mime, upright_size(picture))


def kind_of(head: bytes, name: str) -> str:
    """Return the MIME type of a medium from its first bytes.

    Raises
    ------
    MediumError
        If they are not those of a picture or a video that is read.
    """
    if not head:
        raise MediumError(f"medium {name} is empty", "Restore the file.")
    if head.startswith(b"version https://git-lfs"):
        raise MediumError(f"medium {name} is a Git LFS pointer, not the file itself", "Run: git lfs pull")
    mime = sniff(head)
    if mime is None:
        raise MediumError(f"medium {name} is neither a picture nor a video, whatever its name says", TAKEN)
    return mime


def refuse_size(length: int, name: str) -> None:
    """Raise :class:`MediumError` if a picture's file is too large to be read."""
    if length > MAX_PICTURE_FILE:
        limit = f"at most {MAX_PICTURE_FILE:,} are read"
        raise MediumError(f"medium {name} has {length:,} bytes; {limit}", "Store a smaller copy.")


def _looks_whole(mime: str, length: int, head: bytes, tail: bytes) -> bool:
    """Return whether a file ends as its kind does; one that does not may still be whole."""
    match mime:
        case "image/png":
            return tail[-8:-4] == b"IEND"
        case "image/jpeg":
            return tail.rstrip(b"\0").endswith(b"\xff\xd9")
        case "image/gif":
            return tail.rstrip(b"\0").endswith(b"\0;")
        case "image/webp":
            return int.from_bytes(head[4:8], "little") + 8 <= length
        case "image/bmp":
            return int.from_bytes(head[2:6], "little") <= length
        case _:
            return False


@contextlib.contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn whatever a decoder raises on bytes that are not as they should be into one kind of error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except DodiagError:
        raise
    except Exception as error:
        reason = str(error) or type(error).__name__
        cure = "Restore the file, or store it anew as PNG or JPEG."
        raise MediumError(f"medium {name} is cut off or damaged: {reason}", cure) from None


def open_picture(source: Path | bytes, mime: str, name: str) -> Image.Image:
    """Return a picture of which only the header has been read.

    Raises
    ------
    MediumError
        If the header is damaged, the picture has too many pixels, or this machine cannot read its kind.
    """
    from PIL import Image, UnidentifiedImageError

    if mime not in PICTURES:
        raise MediumError(f"medium {name} is no picture, but {mime}", TAKEN)
    form = PICTURES[mime]
    if form == "HEIF":
        _register_heif(name)
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    with _explained(name):
        try:
            picture = Image.open(stream, formats=[form])
        except UnidentifiedImageError:
            missing = form in ("AVIF", "JPEG2000", "WEBP") and form not in Image.OPEN
            why = f"this Pillow reads no {form}" if missing else f"its header is not that of a {form} file"
            raise MediumError(f"medium {name} cannot be read: {why}", "Store it as PNG or JPEG.") from None
        except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
            raise MediumError(f"medium {name} is too large to decode: {error}", "Store a smaller copy.") from None
    try:
        width, height = picture.size
        if width * height > MAX_DECODED_PIXELS:
            limit = f"at most {MAX_DECODED_PIXELS:,} are decoded"
            raise MediumError(f"medium {name} has {width:,} x {height:,} pixels; {limit}", "Store a smaller copy.")
        if picture.mode in _NO_RANGE:
            what = f"holds numbers without a range (mode {picture.mode}), so it is not known what black and white are"
            raise MediumError(f"medium {name} {what}", "Store it with 8 or 16 bits a channel.")
    except BaseException:
        picture.close()
        raise
    return picture


def load(picture: Image.Image, name: str) -> None:
    """Decode a picture that was opened.

    Raises
    ------
    MediumError
        If it is cut off or damaged.
    """
    with _explained(name):
        picture.load()


def upright_size(picture: Image.Image) -> tuple[int, int]:
    """Return width and height of a picture as its EXIF orientation turns it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            turned = picture.format in TURNED and picture.getexif().get(0x0112) in (5, 6, 7, 8)
    except Exception:
        turned = False
    width, height = picture.size
    return (height, width) if turned else (width, height)


def _register_heif(name: str) -> None:
    try:
        import pillow_heif
    except ImportError:
        cure = "Store it as PNG or JPEG, or install the decoder: pip install pillow-heif."
        raise MediumError(f"medium {name} is HEIC, which Pillow does not read by itself", cure) from None
    pillow_heif.register_heif_opener()


@contextlib.contextmanager
def open_video(path: Path, name: str) -> Iterator[tuple[Any, Any]]:
    """Open a video and give its container and its video stream.

    Raises
    ------
    MissingDependency
        If PyAV is not installed.
    MediumError
        If the file is damaged, or has no picture track.
    """
    try:
        import av
    except ImportError:
        raise MissingDependency("videos need PyAV, which is not installed", VIDEO_CURE) from None
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise MediumError(f"medium {name} is a video file without a picture track", "Store it anew, as MP4.")
            yield container, container.streams.video[0]
    except (av.FFmpegError, EOFError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise MediumError(f"medium {name} is a cut off or damaged video: {reason}", "Restore the file.") from None
