"""What reaches a server of pictures and videos is what the plan's media rule makes, and what show and preview say."""

from __future__ import annotations

import base64
import hashlib
import io
import json

import pytest
from packs import SUMS, maze_pack, picture, sums_instance, write_pack
from PIL import Image
from servers import serving

import dodiag
from dodiag.cli import main
from dodiag.interventions.media import MediaRule
from dodiag.problems import UsageError


def parts(served, kind):
    contents = [body["messages"][-1]["content"] for body in served.bodies]
    return [part[kind]["url"] for content in contents if isinstance(content, list) for part in content if kind in part]


def decoded(url):
    head, _, data = url.partition(",")
    assert head.startswith("data:")
    return base64.b64decode(data)


def run_command(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["dodiag", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code or 0


def test_the_rule_of_the_plan_is_what_is_sent_shown_and_previewed(tmp_path, monkeypatch, capsys):
    pack = maze_pack(tmp_path / "p", 1, 2)
    with serving(lambda text, _: "A") as served:
        code = run_command(
            monkeypatch, "run", str(pack.folder), "--model", "openai/m", "--base-url", served.url,
            "--out", str(tmp_path / "r"), "--max-pixels", "3000", "--quiet",
        )  # fmt: skip
        assert code == 0
        sent = [decoded(url) for url in parts(served, "image_url")]
        requests = served.requests
    assert sent
    for data in sent:
        with Image.open(io.BytesIO(data)) as shown:
            assert shown.width * shown.height <= 3000
            assert shown.width / shown.height == pytest.approx(200 / 150, rel=0.05)
    digests = {hashlib.sha256(data).hexdigest() for data in sent}
    assert len(digests) >= 2, "a drawn copy is another picture"
    run_command(monkeypatch, "show", str(tmp_path / "r"), "0", "--pictures", str(tmp_path / "shown"))
    assert {hashlib.sha256(f.read_bytes()).hexdigest() for f in (tmp_path / "shown").iterdir()} <= digests
    previewed = ["preview", str(pack.folder), "--max-pixels", "3000", "--out", str(tmp_path / "seen")]
    assert run_command(monkeypatch, *previewed) == 0
    files = (tmp_path / "seen" / "pictures").iterdir()
    assert {hashlib.sha256(file.read_bytes()).hexdigest() for file in files} == digests
    capsys.readouterr()
    with serving(lambda text, _: "A") as served:
        summary = dodiag.run(pack, "openai/m", tmp_path / "other", base_url=served.url)
    assert summary.answered == requests, "another rule is another request: nothing is shared"
    with pytest.raises(UsageError, match="another"):
        dodiag.run(pack, "openai/m", tmp_path / "r", base_url="http://127.0.0.1:1/v1")


def test_a_resumed_run_keeps_its_rule(tmp_path):
    pack = maze_pack(tmp_path / "p", 2, 2)
    with serving(lambda text, _: "A") as served:
        options = {"base_url": served.url, "media": MediaRule(max_pixels=3000)}
        dodiag.run(pack, "openai/m", tmp_path / "r", max_calls=3, **options)
        assert dodiag.resume(tmp_path / "r").complete
        sizes = set()
        for url in parts(served, "image_url"):
            with Image.open(io.BytesIO(decoded(url))) as shown:
                sizes.add(shown.size)
    assert len(sizes) == 1


def video(frames=12):
    av = pytest.importorskip("av", reason="videos need the optional PyAV")
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=6)
        stream.width, stream.height = 64, 48
        for index in range(frames):
            still = Image.new("RGB", (64, 48), (20 * index, 0, 255 - 20 * index))
            for packet in stream.encode(av.VideoFrame.from_image(still)):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return out.getvalue()


@pytest.mark.parametrize("mode", ["frames", "native"])
def test_a_video_is_sent_as_frames_or_as_it_is(tmp_path, mode):
    data = video()
    task = SUMS.replace("modality: text", "modality: video")
    instance = {**sums_instance(0), "media": ["media/v.mp4"]}
    pack = dodiag.load_pack(write_pack(tmp_path / "p", task, [instance], {"media/v.mp4": data}))
    rule = MediaRule(video=mode, video_frames=4)
    with serving(lambda text, _: "1") as served:
        found = dodiag.run(pack, "openai/m", tmp_path / "r", base_url=served.url, media=rule, states=["n"])
        assert found.complete
        text = json.dumps(served.bodies[0])
        if mode == "native":
            urls = parts(served, "video_url")
            assert len(urls) == served.requests
            assert all(decoded(url) == data for url in urls)
            assert "frames of one video" not in text
        else:
            urls = parts(served, "image_url")
            assert len(urls) == 4 * served.requests
            assert "Pictures 1 to 4 are frames of one video, at 0.00, 0.67, 1.17, 1.83 seconds." in text


def test_a_text_model_needs_no_pyav_and_sees_no_picture(tmp_path):
    pack = dodiag.load_pack(
        write_pack(tmp_path / "p", SUMS, [{**sums_instance(0), "media": ["x.png"]}], {"x.png": picture()})
    )
    with serving(lambda text, _: "1") as served:
        dodiag.run(pack, "openai/m", tmp_path / "r", base_url=served.url, with_media=False)
        assert served.requests
        assert not parts(served, "image_url")
