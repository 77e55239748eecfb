"""Every command and every snippet of the documentation runs, in order, in an empty folder.

A fenced block marked ``sh`` is run, ``python`` is executed, ``yaml`` or ``json`` with ``file=…`` is written. ``text``
blocks are output or fragments; ``no-test`` blocks say beside them why they are not run here.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    return [(m[1], m[2].strip(), m[3]) for m in FENCE.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_everything_on_the_page_runs(page, tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "118"}
    python = []
    for language, info, body in blocks(page):
        if "no-test" in info:
            continue
        if (name := re.fullmatch(r"file=(\S+)", info)) is not None:
            (tmp_path / name[1]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name[1]).write_text(body, encoding="utf-8")
        elif language == "sh":
            run(["bash", "-euo", "pipefail", "-c", body], tmp_path, env)
        elif language == "python":
            python.append(body)
            run([sys.executable, "-c", "\n".join(python)], tmp_path, env)
        else:
            assert language == "text", f"{page.name}: a block of {language} is neither run nor written"


def run(command, folder, env):
    """Run a command in a process group of its own, so that a server it leaves behind ends with it."""
    log = folder / "output.log"
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=out, stderr=out, start_new_session=True)
        try:
            code = process.wait(timeout=300)
        finally:
            end_group(process.pid)
    assert code == 0, f"{command[-1]}\n{log.read_text()}"


def end_group(group):
    """End what is left of a process group that this test started."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"(?:\]\(|src=\")([^)#\"]+)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_python_block_of_the_reference_names_the_public_interface():
    import dodiag

    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    for name in dodiag.__all__:
        if name not in ("__version__", "Pack", "Plan", "TaskGraph"):
            assert f"`{name}`" in text, name


def test_the_readme_shows_what_the_first_command_prints(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"&& \.venv/bin/(dodiag run dice_sum[^\n]*)", readme)
    shown = next(body for language, _, body in blocks(ROOT / "README.md") if language == "text")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command.split(), cwd=tmp_path, env=env, capture_output=True, text=True, check=True)

    def words(text):
        lines = [" ".join(line.split()) for line in text.splitlines()]
        return [re.sub(r" in [0-9.]+ s,", "", line) for line in lines if line]

    assert words(shown) == words(done.stdout)
