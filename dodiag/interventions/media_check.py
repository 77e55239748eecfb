"""Find every medium that a media rule refuses before any call is made, as far as headers say."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator

from dodiag.interventions.media import MediaRule
from dodiag.interventions.pictures import refuse_animated
from dodiag.interventions.videos import check_length
from dodiag.problems import InvalidInput, Problem
from dodiag.scm.media import PICTURES, MediumError, check_medium, open_picture
from dodiag.scm.pack import INSTANCES, Instance, Pack


def check_media(pack: Pack, rule: MediaRule, instances: Iterable[Instance]) -> None:
    """Raise one error with everything that a rule refuses of some instances of a pack.

    What every rule refuses (missing, damaged or cut off files) is found when a pack is loaded; here it is what depends
    on the rule: animated pictures, long videos. Without PyAV, videos are not looked into: a model that sees no media
    does not need it, and any other run ends before its first video is sent.

    Raises
    ------
    InvalidInput
        With every problem.
    """
    videos = any(kind.startswith("video/") for kind in pack.media_kinds) and importlib.util.find_spec("av") is not None
    if videos or (rule.animated == "refuse" and pack.media_kinds):
        problems = list(_problems(pack, rule, instances))
        if problems:
            raise InvalidInput(problems)


def _problems(pack: Pack, rule: MediaRule, instances: Iterable[Instance]) -> Iterator[Problem]:
    seen: set[str] = set()
    file = str(pack.folder / INSTANCES)
    for instance in instances:
        for name in instance.media:
            if name in seen:
                continue
            seen.add(name)
            try:
                _check(pack, name, rule)
            except MediumError as error:
                yield Problem(file, None, f"instance {instance.id}", error.message, error.cure)


def _check(pack: Pack, name: str, rule: MediaRule) -> None:
    path = pack.medium(name)
    header = check_medium(path, name)
    if header.mime in PICTURES:
        with open_picture(path, header.mime, name) as opened:
            refuse_animated(opened, name, rule)
    elif importlib.util.find_spec("av") is not None:
        check_length(path, name, rule)
