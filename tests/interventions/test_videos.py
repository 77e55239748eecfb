"""What is sent of a video: evenly spaced frames with their times, or the file itself; and what is refused."""

import asyncio
import base64
import io
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packs import SUMS, picture, sums_instance, write_pack
from PIL import Image
from servers import serving

from dodiag import load_pack, make_plan
from dodiag.interventions.media import MediaRule
from dodiag.interventions.price import Assumptions, medium_tokens, price
from dodiag.interventions.prompts import Assembler
from dodiag.interventions.videos import clip, pick
from dodiag.problems import InvalidInput
from dodiag.runners.adapters.openai_compatible import OpenAICompatible
from dodiag.runners.keys import prompt_digest
from dodiag.runners.protocol import Request
from dodiag.scm.media import MediumError, check_medium, sniff
from dodiag.vocabulary import Configuration

av = pytest.importorskip("av")

CODECS = {"mp4": "mpeg4", "webm": "libvpx", "mov": "libx264", "matroska": "libx264", "avi": "mpeg4"}


def video(frames=20, rate=10, form="mp4", size=(64, 48), options=None):
    """Return an encoded video whose n-th frame is grey of brightness 10 + 10 n (mod 240); H.264 has B-frames."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        write_video(path, frames, rate, form, size, options or {})
        return path.read_bytes()


def write_video(path, frames, rate, form, size, options):
    with av.open(str(path), "w", format=form, options=options) as container:
        stream = container.add_stream(CODECS[form], rate=rate)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        stream.bit_rate = 400_000
        stream.gop_size = 5
        for index in range(frames):
            grey = 10 + 10 * index % 240
            frame = av.VideoFrame.from_image(Image.new("RGB", size, (grey, grey, grey)))
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def sound():
    """Return a file of sound alone."""
    out = io.BytesIO()
    out.name = "x.mp4"
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=8000)
        frame = av.AudioFrame(format="fltp", layout="mono", samples=1024)
        frame.sample_rate = 8000
        frame.planes[0].update(bytes(4096))
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return out.getvalue()


def written(folder, data):
    folder.mkdir(exist_ok=True)
    path = folder / "x.bin"
    path.write_bytes(data)
    return path


def shown(folder, data, **rule):
    return clip(written(folder, data), "x", MediaRule(**rule))


def brightness(medium):
    return Image.open(io.BytesIO(medium.data)).convert("L").getpixel((30, 20))


def one_video(folder, data, name="media/x.mp4", **changes):
    return write_pack(folder, SUMS, [{**sums_instance(0), "media": [name], **changes}], {name: data})


@pytest.mark.parametrize("form", CODECS)
def test_frames_are_the_right_ones_in_order_whatever_the_container(tmp_path, form):
    found = shown(tmp_path, video(form=form), video_frames=4)
    assert len(found.media) == 4
    assert [round(brightness(medium) / 10) - 1 for medium in found.media] == [0, 6, 13, 19]
    assert found.times == pytest.approx((0.0, 0.6, 1.3, 1.9), abs=0.01)
    assert {medium.mime for medium in found.media} == {"image/jpeg"}


@given(st.integers(1, 3000), st.integers(1, 200))
def test_picked_frames_are_evenly_spaced_with_both_ends(frames, count):
    chosen = pick(frames, count)
    assert len(chosen) == min(frames, count)
    assert chosen == sorted(set(chosen))
    if count > 1 or frames == 1:
        assert (chosen[0], chosen[-1]) == (0, frames - 1)
    gaps = {b - a for a, b in pairwise(chosen)}
    assert not gaps or max(gaps) - min(gaps) <= 1


def test_a_video_shorter_than_the_count_gives_all_its_frames(tmp_path):
    found = shown(tmp_path, video(frames=3), video_frames=8)
    assert [round(brightness(medium) / 10) - 1 for medium in found.media] == [0, 1, 2]
    assert len(shown(tmp_path, video(frames=1)).media) == 1


def test_frames_a_second_decide_the_count_up_to_the_limit(tmp_path):
    data = video(frames=31, rate=10)
    assert len(shown(tmp_path, data, video_fps=2.0).media) == 7
    assert len(shown(tmp_path, data, video_fps=10.0, video_frames=5).media) == 5
    assert len(shown(tmp_path, data, video_fps=0.01).media) == 1


@pytest.mark.parametrize(
    "rule",
    [{}, {"video_frames": 3}, {"video_fps": 2.0}, {"video_fps": 0.01}, {"max_pixels": 400}, {"video_frames": 50}],
)
def test_the_price_of_a_video_is_that_of_the_frames_that_are_sent(tmp_path, rule):
    pack = load_pack(one_video(tmp_path / "p", video(frames=31, rate=10)))
    plan = make_plan(pack, units=["X1"], media=MediaRule(**rule))
    blind, seeing = (price(plan, Assumptions(with_media=flag)).input_tokens for flag in (False, True))
    (call,) = plan.calls()
    media = plan.assembler().prompt(call.instance, call.question, call.configuration).media
    assert seeing - blind == pytest.approx(sum(map(medium_tokens, media)), abs=1)


def test_frames_keep_to_the_rule_of_pictures(tmp_path):
    found = shown(tmp_path, video(), max_pixels=300, accepted=("png",))
    assert {Image.open(io.BytesIO(medium.data)).size for medium in found.media} == {(20, 15)}
    assert {medium.mime for medium in found.media} == {"image/png"}


def test_the_same_video_gives_the_same_bytes(tmp_path):
    data = video()
    assert shown(tmp_path, data) == shown(tmp_path, data)


def rotated(data, quarter_turns):
    """Return an MP4 whose track header turns it by quarter turns."""
    at = data.index(b"tkhd") + 4 + 40
    one = (1 << 16).to_bytes(4, "big", signed=True)
    minus, zero = (-(1 << 16)).to_bytes(4, "big", signed=True), bytes(4)
    matrix = {1: (zero, one, minus, zero), 2: (minus, zero, zero, minus), 3: (zero, minus, one, zero)}[quarter_turns]
    a, b, c, d = matrix
    return data[:at] + a + b + zero + c + d + zero + data[at + 24 :]


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_frames_are_upright_as_players_show_them(tmp_path, turns):
    out = io.BytesIO()
    out.name = "x.mp4"
    image = Image.new("RGB", (64, 48), "#202020")
    image.paste("#ffffff", (0, 0, 20, 16))
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        container.mux(stream.encode(av.VideoFrame.from_image(image)))
        container.mux(stream.encode())
    (medium,) = shown(tmp_path, rotated(out.getvalue(), turns)).media
    frame = Image.open(io.BytesIO(medium.data)).convert("L")
    assert frame.size == ((64, 48) if turns == 2 else (48, 64))
    # The matrix of an MP4 turns clockwise: the top left corner goes right, then down, then left.
    corner = {1: (-5, 5), 2: (-5, -5), 3: (5, -5)}[turns]
    assert frame.getpixel((corner[0] % frame.width, corner[1] % frame.height)) > 200


def cut(data, share):
    return data[: int(len(data) * share)]


UNUSABLE = {
    "a header alone": lambda: video()[:32],
    "a cut off MP4": lambda: cut(video(frames=60), 0.7),
    "a cut off MP4 whose index comes first": lambda: cut(video(frames=60, options={"movflags": "faststart"}), 0.7),
    "a cut off WebM": lambda: cut(video(frames=300, form="webm"), 0.3),
    "sound alone": sound,
    "noise behind a header": lambda: video()[:32] + bytes(range(256)) * 40,
}


@pytest.mark.parametrize("name", UNUSABLE)
@pytest.mark.parametrize("mode", ["frames", "native"])
def test_damaged_videos_are_refused_before_they_are_sent(tmp_path, name, mode):
    with pytest.raises(MediumError, match=r"cut off|damaged|no frames|without a picture track") as caught:
        shown(tmp_path, UNUSABLE[name](), video=mode)
    assert caught.value.cure


@pytest.mark.parametrize("name", ["a header alone", "a cut off MP4", "sound alone", "noise behind a header"])
def test_a_pack_with_a_damaged_video_is_refused_when_it_is_loaded(tmp_path, name):
    with pytest.raises(InvalidInput, match=r"media/x\.mp4"):
        load_pack(one_video(tmp_path / "p", UNUSABLE[name]()))


@pytest.mark.parametrize("mode", ["frames", "native"])
def test_videos_that_are_too_long_are_refused_before_any_call(tmp_path, mode):
    pack = load_pack(one_video(tmp_path / "p", video(frames=40, rate=10)))
    make_plan(pack, media=MediaRule(video=mode, max_video_seconds=4.5))
    with pytest.raises(InvalidInput, match=r"instance s00000: medium media/x\.mp4 is 4\.0 s long, more than 3\.5 s"):
        make_plan(pack, media=MediaRule(video=mode, max_video_seconds=3.5))
    with pytest.raises(MediumError, match=r"more than 3\.5 s"):
        clip(pack.medium("media/x.mp4"), "x", MediaRule(video=mode, max_video_seconds=3.5))


def test_a_native_video_is_the_file_itself_in_a_kind_and_size_that_providers_take(tmp_path):
    data = video(form="webm")
    (medium,) = shown(tmp_path, data, video="native").media
    assert (medium.mime, medium.data) == ("video/webm", data)
    with pytest.raises(MediumError, match="bytes, more than 100"):
        shown(tmp_path, data, video="native", max_video_bytes=100)
    with pytest.raises(MediumError, match="video/x-msvideo, which is not sent as it is"):
        shown(tmp_path, video(form="avi"), video="native")
    pack = load_pack(one_video(tmp_path / "p", video(form="avi"), "media/x.avi"))
    make_plan(pack)
    with pytest.raises(InvalidInput, match="not sent as it is"):
        make_plan(pack, media=MediaRule(video="native"))


def test_kinds_are_told_apart_by_bytes():
    kinds = {form: sniff(video(frames=2, form=form)[:256]) for form in CODECS}
    assert kinds == {
        "mp4": "video/mp4",
        "webm": "video/webm",
        "mov": "video/quicktime",
        "matroska": "video/x-matroska",
        "avi": "video/x-msvideo",
    }


def prompt_of(pack, rule=None, configuration=""):
    instance = pack.instance("s00000")
    question = instance.question("a" if configuration == "" else "y")
    return make_plan(pack, media=rule).assembler().prompt(instance, question, Configuration.parse(configuration))


def test_the_prompt_says_which_pictures_are_frames_and_when(tmp_path):
    media = {"media/a.png": picture(), "media/v.mp4": video(), "media/w.mp4": video(frames=1)}
    instance = {**sums_instance(0), "media": list(media)}
    pack = load_pack(write_pack(tmp_path / "p", SUMS, [instance], media))
    plain = Assembler(pack, with_media=False)
    found = pack.instance("s00000")
    text = plain.prompt(found, found.question("a"), Configuration()).text
    prompt = prompt_of(pack, MediaRule(video_frames=3))
    first = "Pictures 2 to 4 are frames of one video, at 0.00, 1.00, 1.90 seconds."
    notes = f"{first}\nPicture 5 is the only frame of a video.\n"
    assert prompt.text == notes + text
    assert len(prompt.media) == 5
    assert prompt_of(pack, MediaRule(video_times=False)).text == text
    assert prompt_of(pack, MediaRule(video="native")).text == text
    states = [prompt_of(pack, MediaRule(video_frames=3), f"X1={s},X2={s}") for s in "10n"]
    assert all(state.text.startswith(notes) for state in states)
    assert all(state.media == prompt.media for state in states)


def test_counts_and_modes_are_different_calls(tmp_path):
    pack = load_pack(one_video(tmp_path / "p", video()))
    rules = [MediaRule(), MediaRule(video_frames=4), MediaRule(video="native"), MediaRule(video_times=False)]
    assert len({prompt_digest(prompt_of(pack, rule), "s00000", "a") for rule in rules}) == 4
    long = MediaRule(max_video_seconds=10.0)
    assert prompt_digest(prompt_of(pack, long), "s", "a") == prompt_digest(prompt_of(pack), "s", "a")


def test_nothing_is_drawn_on_a_video(tmp_path):
    instance = sums_instance(0)
    instance["questions"][0]["annotations"] = [{"point": [3, 3]}]
    with pytest.raises(InvalidInput, match=r"question a: an annotation is on the video media/x\.mp4"):
        load_pack(one_video(tmp_path / "p", video(), questions=instance["questions"]))


async def asked(adapter, request):
    try:
        return await adapter.answer(request)
    finally:
        await adapter.close()


@pytest.mark.parametrize("mode", ["frames", "native"])
def test_a_server_receives_the_frames_or_the_video(tmp_path, mode):
    data = video()
    pack = load_pack(one_video(tmp_path / "p", data))
    plan = make_plan(pack, media=MediaRule(video=mode))
    instance = pack.instance("s00000")
    question = instance.question("a")
    prompt = plan.assembler().prompt(instance, question, Configuration())
    with serving(lambda text, count: "0") as served:
        request = Request(prompt, {}, plan.task, instance, question, 0)
        asyncio.run(asked(OpenAICompatible("m", served.url), request))
        *parts, text = served.bodies[0]["messages"][0]["content"]
    assert text["type"] == "text"
    if mode == "native":
        (part,) = parts
        assert part["type"] == "video_url"
        head, _, content = part["video_url"]["url"].partition(";base64,")
        assert (head, base64.b64decode(content)) == ("data:video/mp4", data)
    else:
        assert [part["type"] for part in parts] == ["image_url"] * 8
        sent = [base64.b64decode(part["image_url"]["url"].partition(";base64,")[2]) for part in parts]
        assert sent == [medium.data for medium in prompt.media]


def test_without_pyav_packs_load_and_blind_models_run_but_no_video_is_sent(tmp_path):
    folder = one_video(tmp_path / "p", video())
    code = """
import sys
sys.modules["av"] = None
import dodiag
from dodiag.problems import MissingDependency
from dodiag.vocabulary import Configuration
pack = dodiag.load_pack(sys.argv[1])
plan = dodiag.make_plan(pack)
instance = pack.instance("s00000")
question = instance.question("a")
print(len(plan.assembler(False).prompt(instance, question, Configuration()).media))
try:
    plan.assembler().prompt(instance, question, Configuration())
except MissingDependency as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "0",
        "videos need PyAV, which is not installed. Install it: pip install 'dodiag[video]'.",
    ]


def test_the_header_of_a_video_has_no_size(tmp_path):
    header = check_medium(written(tmp_path, video()), "x")
    assert header.is_video
    assert header.size is None
