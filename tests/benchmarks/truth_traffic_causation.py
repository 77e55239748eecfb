"""Derive the answers of a Traffic Causation pack again, from the stored tracks alone.

Places are found by an own projection and the boxes of the segmentation, changes, times and orders by differences of
places. What a vehicle reacts to is read off the road: what is just ahead of it in its lane when it brakes, what stands
in the lane that it leaves, what ends when it sets off. No rule of the simulation and no second run of it is used. Run
it as ``python truth_traffic_causation.py PACK``.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from truth_dashcam_counting import SIZES, View, option, point_of

LATE = 0.35
"""Seconds by which a time read off the tracks may differ from the one that the log has."""


def speeds(view: View, name: str) -> np.ndarray:
    """Return the speed along the road at each step, from places; a centimetre of rounding is smoothed away."""
    s = view.track(name)[:, 0]
    steps = np.arange(len(s))
    low, high = np.maximum(steps - 2, 0), np.minimum(steps + 2, len(s) - 1)
    return np.asarray(np.abs(s[high] - s[low]) / (view.step * (high - low)))


def phase(agent: dict[str, Any], time: float) -> str:
    return str([colour for start, colour in agent["phases"] if start <= time + 1e-6][-1])


def when(view: View, clause: str) -> float | None:
    """Return when what a clause says happens, from the tracks."""
    times = np.arange(len(view.ego)) * view.step
    clause = clause[:1].lower() + clause[1:]
    passing = re.match(r"(?:the camera car drives past (.+)|(.+) drives past the camera car)", clause)
    if passing:
        (name,) = (n for n in view.called(passing.group(1) or passing.group(2)) if n != "ego")
        return float(times[int(np.argmax(view.track(name)[:, 0] < view.ego[:, 0]))])
    subject = clause.split(" begins ")[0] if " begins " in clause else clause
    name = view.called(subject)[0]
    agent = view.agents[name]
    if agent["is"] == "light":
        (colour,) = re.findall(r"turns (\w+)", clause)
        return next(start for start, shown in agent["phases"] if shown == colour and start > 0)
    track = view.track(name)
    if agent["is"] == "pedestrian":
        moves = np.hypot(*np.diff(track, axis=0).T) > 0.04
        on = np.abs(track[:, 1]) < view.kerb
        if "starts to walk" in clause:
            return float(times[int(np.argmax(moves))])
        if "stops walking" in clause:
            return float(times[len(moves) - int(np.argmax(moves[::-1]))])
        change = np.flatnonzero(np.diff(on.astype(int)) == (1 if "steps onto" in clause else -1))
        return float(times[change[0] + 1])
    v = speeds(view, name)
    if "comes to a standstill" in clause:
        return float(times[int(np.argmax((v < 0.12) & (np.maximum.accumulate(v) > 1)))])
    if "sets off" in clause:
        still = np.flatnonzero(v < 0.1)
        after = np.flatnonzero((v > 0.3) & (np.arange(len(v)) > still[0]))
        return float(times[after[0]])
    if "move over" in clause:
        return float(times[int(np.argmax(np.abs(track[:, 1] - track[0, 1]) > 0.02))])
    return None if "begins to brake" not in clause else float(times[_brakes(v)])


def _brakes(v: np.ndarray) -> int:
    """Return the first step from which speed falls by 2 m/s without a rise."""
    for row in range(len(v) - 1):
        end = row
        while end + 1 < len(v) and v[end + 1] < v[end] + 0.02:
            end += 1
        if v[row] - v[end] >= 1.9 and v[row] - v[min(row + 3, len(v) - 1)] > 0.25:
            return row
    return 0


def became(view: View, name: str, low: int, high: int) -> str:
    """Return what becomes of an agent between two rows, in the words of the options."""
    agent = view.agents[name]
    if agent["is"] == "light":
        first, last = phase(agent, low * view.step), phase(agent, high * view.step)
        return f"It stays {first}" if first == last else f"It changes from {first} to {last}"
    if agent["is"] == "pedestrian":
        moves = np.hypot(*np.diff(view.track(name)[low : high + 1], axis=0).T) > 0.04
        if moves.all() or not moves.any():
            return f"They {'walk' if moves.all() else 'stand'} all the time"
        return "They begin to walk" if moves[-1] else "They stop walking"
    v, track = speeds(view, name)[low : high + 1], view.track(name)[low : high + 1]
    if abs(track[-1, 1] - track[0, 1]) > 1.2:
        return "It moves over into another lane"
    if v.max() < 0.1:
        return "It stands still all the time"
    if v[-1] < 0.5:
        return "It comes to a standstill"
    if v[0] < 0.5:
        return "It sets off from a standstill"
    return "It slows down but does not stop" if v[0] - v[-1] > 1.5 else "It drives on at the same speed in its lane"


def done(view: View, name: str) -> str:
    """Return what an agent does with respect to the road or the camera car, in the words of the options."""
    track = view.track(name)
    along, across = track[-1] - track[0]
    if view.agents[name]["is"] == "pedestrian":
        if abs(across) > abs(along):
            return f"They cross it from {'right to left' if across > 0 else 'left to right'}"
        if abs(along) < 0.3:
            return "They stay where they are beside it"
        return f"They walk along it, {'in' if along > 0 else 'against'} the direction in which the camera looks"
    if along < -1:
        return "It comes towards the camera car on the other side of the road"
    if abs(along) < 0.1 and abs(track[0, 1]) > 7:
        return "It stays parked at the kerb"
    first, last = (abs(track[row, 1] - view.ego[row, 1]) < 1.5 for row in (0, -1))
    return {
        (True, True): "It keeps to the lane of the camera car, ahead of it",
        (False, False): "It keeps to the lane next to that of the camera car, in the same direction",
        (False, True): "It moves over into the lane of the camera car",
        (True, False): "It moves out of the lane of the camera car",
    }[bool(first), bool(last)]


def hindrance(view: View, name: str, row: int) -> str:
    """Return what is just ahead of a vehicle in its way: a vehicle, a pedestrian on the road, a light that stops it."""
    track = view.track(name)
    length, width, _ = SIZES[view.agents[name]["kind"]]
    front, lane = track[row, 0] + length / 2, track[row, 1]
    ahead: list[tuple[float, str]] = []
    soon = min(row + 12, len(track) - 1)
    for other, agent in view.agents.items():
        if other == name:
            continue
        if agent["is"] == "light":
            if phase(agent, row * view.step) != "green" and agent["line"] > front - 0.5:
                ahead.append((agent["line"] - front, other))
        elif agent["is"] == "pedestrian":
            place = view.track(other)
            crosses = abs(place[-1, 1] - place[0, 1]) > 2 and abs(place[row, 1]) < view.kerb
            coming = (lane - place[row, 1]) * (place[-1, 1] - place[0, 1]) > 0 or abs(
                place[row, 1] - lane
            ) < width / 2 + 1
            if crosses and coming and place[row, 0] > front:
                ahead.append((place[row, 0] - front, other))
        elif agent["is"] == "vehicle":
            place = view.track(other)
            wide = (SIZES[agent["kind"]][1] + width) / 2 + 0.2
            near = min(abs(place[row, 1] - lane), abs(place[soon, 1] - lane)) < wide
            gap = place[row, 0] - SIZES[agent["kind"]][0] / 2 - front
            if near and place[row, 0] > track[row, 0] and agent["direction"] == 1:
                ahead.append((gap, other))
    return min(ahead)[1] if ahead else ""


def blocker(view: View, name: str, row: int) -> str:
    """Return what stands in the lane of a vehicle ahead of it: a vehicle or a work zone."""
    s, d = view.track(name)[row]
    found = []
    for other, agent in view.agents.items():
        if agent["is"] == "zone" and abs(agent["lane"] - d) < 1.75 and agent["from"] > s:
            found.append((agent["from"] - s, other))
        if agent["is"] == "vehicle" and other != name:
            track = view.track(other)
            if np.ptp(track[:, 0]) < 0.1 and abs(track[0, 1] - d) < 1.75 and track[0, 0] > s:
                found.append((track[0, 0] - s, other))
    return min(found)[1] if found else ""


def released(view: View, name: str, time: float) -> str:
    """Return what ends just before a vehicle sets off: a red light, or a pedestrian's way across its lane."""
    row = round(time / view.step)
    s, d = view.track(name)[row]
    for other, agent in view.agents.items():
        if agent["is"] == "light" and any(c == "green" and -0.1 < time - start < 0.8 for start, c in agent["phases"]):
            return other
        if agent["is"] == "pedestrian":
            place = view.track(other)
            width = SIZES[view.agents[name]["kind"]][1]
            if abs(place[-1, 1] - place[0, 1]) > 2 and 0 < place[row, 0] - s < 14:
                left = abs(place[row, 1] - d) - width / 2
                if 0.5 < left < 2.0:
                    return other
    return ""


def causes(view: View, effect: dict[str, Any]) -> list[str]:
    """Return what an effect goes back to, nearest first: the chain of what each vehicle reacts to."""
    name, row = effect["who"], round(effect["time"] / view.step)
    if effect["what"] == "sets off":
        return [released(view, name, effect["time"])]
    if effect["what"] == "moves over":
        return [blocker(view, name, row)]
    chain: list[str] = []
    while True:
        ahead = hindrance(view, name, row)
        if not ahead or ahead in chain:
            return chain
        chain.append(ahead)
        if view.agents[ahead]["is"] != "vehicle":
            return chain
        track = view.track(ahead)
        start = int(np.argmax(np.abs(track[:, 1] - track[0, 1]) > 0.02))
        if np.ptp(track[:, 1]) > 1:  # it comes from another lane: why did it leave that?
            block = blocker(view, ahead, max(start - 1, 0))
            return chain + ([block] if block else [])
        name = ahead


def _checks(instance: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    meta = instance["meta"]
    view = View(meta)
    effect = meta["effect"]
    chain = causes(view, effect)
    for question in instance["questions"]:
        text, unit = question["text"], question["unit"]
        seconds = [int(number) for number in re.findall(r"(\d)\.0 s", text)]
        rows = [round(second / view.step) for second in seconds]
        right = True
        if unit == "X1":
            (name,) = view.called(text.split("lies on")[1])
            boxed = [choice for choice in question["choices"] if view.boxed(name, point_of(choice), rows[0])]
            right = boxed == [option(question)] and view.holds(name, point_of(boxed[0]), rows[0]) is not None
        elif unit == "X2":
            right = option(question) == became(view, view.called(text)[0], rows[0], rows[1])
        elif unit == "X3":
            name = next(n for n in view.called(text.split("what does")[1]))
            right = option(question) == done(view, name)
        elif unit == "X4":
            time = when(view, text.split("is it that ")[1].rstrip("?"))
            start, end = (float(number) for number in re.findall(r"([\d.]+) s", option(question)))
            right = time is not None and start - LATE <= time <= end + LATE
        elif unit == "X5":
            times = [when(view, clause) for clause in option(question).split("; then ")]
            right = None not in times and all(b - a > -0.1 for a, b in itertools.pairwise(times))  # type: ignore[operator]
        elif unit == "X6":
            first, second = (view.called(part)[0] for part in re.search(r"; (.+) and (.+) are there", text).groups())  # type: ignore[union-attr]
            needed = {(1, 0): 0, (0, 1): 1, (1, 1): 2, (0, 0): 3}[first in chain, second in chain]
            right = "ABCD"[needed] == question["answer"]
        elif unit == "Y":
            told = view.called(question["answer"])
            right = bool(chain) and chain[-1] == meta["root"] and meta["root"] in told
            right &= not set(chain) & set(view.called(question["incorrect"])) and meta["blamed"] not in chain
        yield question["id"], right


def disagreements(pack: str | Path) -> list[str]:
    """Return the questions whose stored answers the tracks do not bear out."""
    found = []
    with (Path(pack) / "instances.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            instance = json.loads(line)
            found += [f"{instance['id']} {name}" for name, right in _checks(instance) if not right]
    return found


if __name__ == "__main__":
    wrong = disagreements(sys.argv[1])
    print(*wrong, f"{len(wrong)} disagreements", sep="\n")
