"""Videos as files: H.264 in MP4, the same bytes for the same frames and the same build of the encoder."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.problems import MissingDependency, UsageError

INSTALL = "Install it: pip install 'dodiag[video]'."
ENCODER = "libx264"

Frame = NDArray[np.uint8]


def load_av() -> Any:
    """Import PyAV, and make sure that its build has the encoder.

    Raises
    ------
    MissingDependency
        If PyAV is not installed, or its FFmpeg cannot write H.264.
    """
    if importlib.util.find_spec("av") is None:
        raise MissingDependency("writing videos needs the package av (PyAV), which is not installed", INSTALL)
    import av

    if ENCODER not in av.codecs_available:
        cure = "Install a wheel that has it: pip install --force-reinstall av"
        raise MissingDependency(f"this build of PyAV has no {ENCODER} encoder", cure)
    return av


def mp4(frames: Sequence[Frame], fps: int, quality: int = 26) -> bytes:
    """Return an MP4 file of frames of one size.

    One thread and no encoder metadata, so that the bytes depend on nothing but the frames and the build.

    Parameters
    ----------
    frames : sequence of uint8 arrays of shape (height, width, 3)
        Height and width are even.
    fps : int
        Frames a second.
    quality : int
        The encoder's constant rate factor: 0 (lossless) to 51.

    Raises
    ------
    UsageError
        If there is no frame, sizes differ or are odd, or `fps` or `quality` is out of range.
    MissingDependency
        If PyAV is not installed.
    """
    if not frames:
        raise UsageError("a video has at least one frame", "Give some.")
    height, width, _ = frames[0].shape
    if any(frame.shape != (height, width, 3) for frame in frames):
        raise UsageError("the frames of a video have one size and three channels", "Draw them alike.")
    if height % 2 or width % 2:
        raise UsageError(f"a video of {width} x {height} pixels has an odd side", "Use even sizes.")
    if fps < 1 or not 0 <= quality <= 51:
        raise UsageError(f"cannot write {fps} frames a second at quality {quality}", "Use 1 or more, and 0 to 51.")
    av = load_av()
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream(ENCODER, rate=fps)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.thread_count = 1
        stream.options = {"crf": str(quality), "preset": "medium", "threads": "1", "flags": "+bitexact"}
        for pixels in frames:
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return buffer.getvalue()
