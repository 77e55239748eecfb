"""Answers from another run's ledger: the same prompts, without a call."""

from __future__ import annotations

from pathlib import Path

from dodiag.runners.keys import prompt_digest
from dodiag.runners.ledger import Ledger
from dodiag.runners.protocol import CallFailed, FailureKind, Reply, Request


class Replay:
    """Adapter ``replay:DIR``: the model of another run, as far as its ledger goes.

    Its name in outcome tables is that of the recorded model. A prompt that the ledger does not hold is a failed call,
    and so missing data.
    """

    def __init__(self, folder: Path) -> None:
        self._ledger = Ledger(folder)
        manifest = self._ledger.manifest
        self.model = str(manifest["model"])
        self.endpoint = f"replay:{manifest['endpoint']}"
        self.sees_media = bool(manifest["sees_media"])
        self.free = True

    async def answer(self, request: Request) -> Reply:
        """Return the recorded reply to this prompt and draw."""
        row = self._ledger.reply_to_prompt(
            prompt_digest(request.prompt, request.instance.id, request.question.id), request.draw
        )
        if row is None:
            raise CallFailed(
                FailureKind.BAD_REQUEST, f"the ledger in {self._ledger.folder} has no reply to this prompt"
            )
        return row.to_reply()

    async def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()
