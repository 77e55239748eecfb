"""Pictures of MuJoCo scenes, without a display: the library and its GL stack are looked for when a picture is wanted.

Physics and geometry need no GL; only :class:`Renderer` does. On Linux the GL library is chosen by the environment
variable ``MUJOCO_GL``. Where it is not set, EGL is taken, or OSMesa where EGL cannot start.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType, TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.problems import MissingDependency

Vector = tuple[float, float, float]
Floats = NDArray[np.float64]

HIDDEN_GROUP = 3
"""Geoms of this group collide but are not drawn."""

BACKENDS = ("egl", "osmesa")
PROBE_SECONDS = 60
_PROBE = "import mujoco; mujoco.Renderer(mujoco.MjModel.from_xml_string('<mujoco/>'), 16, 16).render()"

INSTALL_WHEEL = "Install it with: pip install 'dodiag[render]'"
INSTALL_GL = "On Debian and Ubuntu install one with: apt-get install -y libegl1 libopengl0 libgl1-mesa-dri"


@lru_cache(maxsize=1)
def load_mujoco() -> ModuleType:
    """Import MuJoCo with a GL library that works on this machine.

    Raises
    ------
    MissingDependency
        If MuJoCo is not installed, or ``MUJOCO_GL`` names a GL library that it does not know.
    """
    if importlib.util.find_spec("mujoco") is None:
        raise MissingDependency("drawing 3-D scenes needs the package mujoco, which is not installed", INSTALL_WHEEL)
    if sys.platform == "linux" and not os.environ.get("MUJOCO_GL") and "mujoco" not in sys.modules:
        os.environ["MUJOCO_GL"] = _working_backend()
    try:
        return importlib.import_module("mujoco")
    except Exception as error:  # what a broken GL stack raises depends on the stack: OSError, AttributeError, …
        raise _cannot_draw(error) from error


def _working_backend() -> str:
    """Return the first GL library that draws; each is tried in its own process, since the first import is final."""
    reasons = []
    for backend in BACKENDS:
        if (reason := _why_not(backend)) is None:
            return backend
        reasons.append(f"{backend}: {reason}")
    raise MissingDependency(f"MuJoCo finds no GL library to draw with ({'; '.join(reasons)})", INSTALL_GL)


def _why_not(backend: str) -> str | None:
    environment = os.environ | {"MUJOCO_GL": backend}
    command = [sys.executable, "-c", _PROBE]
    try:
        probe = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no picture within {PROBE_SECONDS} s"
    if probe.returncode == 0:
        return None
    lines = [line for line in probe.stderr.splitlines() if line.strip()]
    return lines[-1].strip().rstrip(".") if lines else f"ended with status {probe.returncode}"


def _cannot_draw(error: Exception) -> MissingDependency:
    reason = (" ".join(str(error).split()) or type(error).__name__).rstrip(".")
    chosen = os.environ.get("MUJOCO_GL")
    if chosen:
        cure = f"Unset MUJOCO_GL to have one chosen. {INSTALL_GL}"
        return MissingDependency(f"MuJoCo cannot draw with MUJOCO_GL={chosen}: {reason}", cure)
    cure = "Set MUJOCO_GL=egl before Python starts: mujoco was imported before a GL library was chosen"
    return MissingDependency(f"MuJoCo cannot draw: {reason}", cure if sys.platform == "linux" else "")


@dataclass(frozen=True, slots=True)
class Camera:
    """A pinhole camera without roll that looks at a point.

    Attributes
    ----------
    target : tuple of 3 floats
        The point it looks at, in metres; z is up.
    distance : float
        Metres from the target.
    azimuth, elevation : float
        Degrees. The direction of view in the plane, counter-clockwise from x; the height above the horizon.
    fov : float
        Vertical field of view, degrees.
    width, height : int
        Pixels of the picture.
    """

    target: Vector
    distance: float
    azimuth: float
    elevation: float
    fov: float
    width: int
    height: int

    @property
    def axes(self) -> Floats:
        """Rows right, up, forward: unit vectors in world coordinates, shape (3, 3)."""
        azimuth, elevation = np.radians((self.azimuth, self.elevation))
        level = np.array((np.cos(azimuth), np.sin(azimuth), 0.0))
        forward = np.cos(elevation) * level - np.sin(elevation) * np.array((0.0, 0.0, 1.0))
        right = np.array((level[1], -level[0], 0.0))
        return np.array((right, np.cross(right, forward), forward))

    @property
    def position(self) -> Floats:
        """Where the camera is, metres."""
        position: Floats = np.asarray(self.target) - self.distance * self.axes[2]
        return position

    @property
    def focal(self) -> float:
        """Focal length in pixels."""
        return float(self.height / 2 / np.tan(np.radians(self.fov) / 2))

    def project(self, points: Floats) -> Floats:
        """Return the pixel coordinates (x right, y down) of world points in front of the camera.

        Parameters
        ----------
        points : array of shape (..., 3)

        Returns
        -------
        array of shape (..., 2)
            The top left corner of the picture is (0, 0), its bottom right corner (width, height).
        """
        seen = (points - self.position) @ self.axes.T
        middle = np.array((self.width / 2, self.height / 2))
        pixels: Floats = middle + self.focal * seen[..., :2] / seen[..., 2:] * np.array((1.0, -1.0))
        return pixels

    def directions(self, pixels: Floats) -> Floats:
        """Return the directions in which the camera sees pixels: (..., 2) to (..., 3), not normalised."""
        middle = np.array((self.width / 2, self.height / 2))
        across = (pixels - middle) / self.focal * np.array((1.0, -1.0))
        directions: Floats = across @ self.axes[:2] + self.axes[2]
        return directions


class Renderer:
    """Draws one model; a context manager, because GL memory has to be given back.

    Raises
    ------
    MissingDependency
        If no GL context can be made.
    """

    def __init__(self, model: Any, width: int, height: int) -> None:
        self._mujoco = load_mujoco()
        self._model = model
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        try:
            self._renderer = self._mujoco.Renderer(model, height, width)
        except Exception as error:  # see load_mujoco
            raise _cannot_draw(error) from error
        self._options = self._mujoco.MjvOption()
        self._options.geomgroup[HIDDEN_GROUP] = 0

    def __enter__(self) -> Renderer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._renderer.close()

    def picture(self, data: Any, camera: Camera) -> NDArray[np.uint8]:
        """Return the picture, shape (height, width, 3)."""
        return self._draw(data, camera, shadows=True)

    def geoms(self, data: Any, camera: Camera) -> NDArray[np.int32]:
        """Return the id of the geom that each pixel shows, −1 for none; shape (height, width)."""
        self._renderer.enable_segmentation_rendering()
        try:
            ids, kinds = np.moveaxis(self._draw(data, camera, shadows=False), -1, 0)
        finally:
            self._renderer.disable_segmentation_rendering()
        # Compared with the enum itself, numpy would go through the pixels one by one.
        return np.where(kinds == int(self._mujoco.mjtObj.mjOBJ_GEOM), ids, -1).astype(np.int32)

    def _draw(self, data: Any, camera: Camera, *, shadows: bool) -> NDArray[Any]:
        view = self._mujoco.MjvCamera()
        view.type = self._mujoco.mjtCamera.mjCAMERA_FREE
        view.lookat[:] = camera.target
        view.distance = camera.distance
        view.azimuth = camera.azimuth
        view.elevation = -camera.elevation
        self._model.vis.global_.fovy = camera.fov
        self._renderer.update_scene(data, view, self._options)
        self._renderer.scene.flags[self._mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        picture: NDArray[Any] = self._renderer.render()
        return picture
