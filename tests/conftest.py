"""Shared set-up: the tests' own helper modules are importable, hypothesis is seeded, commands hear Ctrl-C."""

import signal
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell makes what it starts in the background deaf to Ctrl-C, and so would be every command that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "dodiag",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("dodiag")
