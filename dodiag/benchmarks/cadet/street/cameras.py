"""Cameras on the ego vehicle: a ring of seven that looks all round, and one behind the windscreen."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from dodiag.benchmarks.rendering import Camera

RING: Mapping[str, float] = MappingProxyType(
    {
        "front centre": 0.0,
        "front left": 45.0,
        "front right": -45.0,
        "side left": 99.0,
        "side right": -99.0,
        "rear left": 153.0,
        "rear right": -153.0,
    }
)
"""The ring's cameras and where they look: degrees counter-clockwise from straight ahead, as on the Argoverse 2 cars."""

RING_HEIGHT = 1.75
WIDTH, HEIGHT = 640, 400


def vertical_fov(horizontal: float, width: int = WIDTH, height: int = HEIGHT) -> float:
    """Return the vertical field of view, degrees, of a picture with this horizontal one."""
    return float(np.degrees(2 * np.arctan(np.tan(np.radians(horizontal) / 2) * height / width)))


def mounted(
    x: float,
    y: float,
    heading: float,
    *,
    turn: float = 0.0,
    horizontal_fov: float = 62.0,
    camera_height: float = RING_HEIGHT,
    down: float = 0.0,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Camera:
    """Return a camera at a place over the road.

    Parameters
    ----------
    x, y, heading : float
        The vehicle it is on, metres and degrees; the camera is exactly above that point.
    turn : float
        Where it looks, degrees counter-clockwise from the vehicle's heading.
    horizontal_fov : float
        Degrees.
    camera_height : float
        Metres above the road.
    down : float
        By how many degrees it looks below the horizon.
    width, height : int
        Pixels.
    """
    azimuth = heading + turn
    level = np.radians(azimuth)
    across, sink = np.cos(np.radians(down)), np.sin(np.radians(down))
    target = (x + np.cos(level) * across, y + np.sin(level) * across, camera_height - sink)
    return Camera(
        target=(float(target[0]), float(target[1]), float(target[2])),
        distance=1.0,
        azimuth=azimuth,
        elevation=down,
        fov=vertical_fov(horizontal_fov, width, height),
        width=width,
        height=height,
    )


def ring(x: float, y: float, heading: float, *, horizontal_fov: float = 62.0) -> dict[str, Camera]:
    """Return the seven cameras of the ring by name."""
    return {name: mounted(x, y, heading, turn=turn, horizontal_fov=horizontal_fov) for name, turn in RING.items()}


def dashcam(x: float, y: float, heading: float, *, width: int = 640, height: int = 360) -> Camera:
    """Return the camera behind the windscreen of a vehicle whose middle is at (x, y): 0.6 m ahead of it, 1.4 m high."""
    ahead = np.radians(heading)
    return mounted(
        x + 0.6 * float(np.cos(ahead)),
        y + 0.6 * float(np.sin(ahead)),
        heading,
        horizontal_fov=66.0,
        camera_height=1.4,
        down=2.0,
        width=width,
        height=height,
    )
