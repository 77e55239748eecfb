"""Textures of houses: one bay of one storey with a window, and one bay of a ground floor with a shop and a door."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.street.state import Weather

SIZE = 64
SHOP_BAY = 5.8
"""Metres of wall that one repeat of the shop texture covers."""

GLASS = {"day": (0.33, 0.42, 0.52), "overcast": (0.38, 0.42, 0.46), "dusk": (0.98, 0.80, 0.46)}
FRAME = (1.0, 1.0, 1.0)


def facade_texture(style: int, light: Weather) -> NDArray[np.uint8]:
    """Return the texture of a bay, shape (64, 64, 3): wall white (houses tint it), window dark, or lit at dusk."""
    wall = np.full((SIZE, SIZE, 3), 0.97)
    wall[-2:] = 0.86
    left, right, top, bottom = ((20, 44, 14, 50), (14, 50, 18, 48), (18, 46, 10, 54), (24, 40, 10, 54))[style]
    wall[top - 3 : bottom + 3, left - 3 : right + 3] = FRAME
    wall[bottom + 2 : bottom + 5, left - 5 : right + 5] = 0.74
    glass = np.array(GLASS[light])
    shade = np.linspace(0.8, 1.12, bottom - top)[:, None, None]
    wall[top:bottom, left:right] = glass * shade
    if style in (0, 2):
        wall[top:bottom, (left + right) // 2 - 1 : (left + right) // 2 + 1] = FRAME
    if style in (1, 2):
        wall[(2 * top + bottom) // 3 - 1 : (2 * top + bottom) // 3 + 1, left:right] = FRAME
    if style == 3:
        wall[top - 6 : top - 3, left - 5 : right + 5] = 0.80
    return _bytes(wall)


def shop_texture(light: Weather) -> NDArray[np.uint8]:
    """Return the texture of a ground floor's bay, shape (64, 128, 3): a shop window, a door, a sill."""
    wall = np.full((SIZE, 2 * SIZE, 3), 0.93)
    glass = np.array(GLASS[light])
    wall[10:16, 6:82] = 0.42
    wall[18:54, 10:78] = glass * np.linspace(0.75, 1.1, 36)[:, None, None]
    wall[18:54, 43:45] = 0.95
    wall[54:64] = 0.62
    wall[16:62, 92:114] = 0.38
    wall[20:36, 95:111] = 0.8 * glass
    return _bytes(wall)


def _bytes(shares: NDArray[np.float64]) -> NDArray[np.uint8]:
    texture: NDArray[np.uint8] = np.round(255 * np.clip(shares, 0, 1)).astype(np.uint8)
    return texture
