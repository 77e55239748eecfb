"""What is sent of a picture: the file itself where it keeps to the rule, else a faithful copy, always the same."""

import io
import json
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packs import SUMS, maze_pack, picture, sums_instance, write_pack
from PIL import Image, ImageChops, ImageDraw, PngImagePlugin
from servers import serving

from dodiag import load_pack, make_plan
from dodiag.interventions.annotate import annotate, annotated
from dodiag.interventions.design import Design
from dodiag.interventions.media import MediaRule
from dodiag.interventions.pictures import prepare
from dodiag.interventions.prompts import Assembler
from dodiag.problems import DodiagError, InvalidInput, UsageError
from dodiag.runners.adapters.openai_compatible import OpenAICompatible
from dodiag.runners.keys import prompt_digest
from dodiag.runners.protocol import Request
from dodiag.scm.media import MAX_DECODED_PIXELS, MediumError, sniff
from dodiag.scm.pack import Annotation
from dodiag.vocabulary import Configuration

RED = "#ff2d2d"
DEFAULT = MediaRule()


def saved(image, form="PNG", **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def opened(data):
    return Image.open(io.BytesIO(data))


def sent(data, rule=DEFAULT):
    return prepare(data, "x.png", rule).medium


def photo(size=(200, 150), seed=0):
    """A picture that compresses badly, with a gradient that shows which way is up."""
    rng = np.random.default_rng(seed)
    height, width = size[1], size[0]
    values = rng.integers(0, 60, (height, width, 3)) + np.linspace(0, 190, height)[:, None, None]
    return Image.fromarray(values.astype(np.uint8))


def corners(size=(60, 40)):
    """A picture whose top left quarter is red, whose top right is green, on blue."""
    image = Image.new("RGB", size, "#0000ff")
    canvas = ImageDraw.Draw(image)
    canvas.rectangle((0, 0, size[0] // 2 - 1, size[1] // 2 - 1), fill="#ff0000")
    canvas.rectangle((size[0] // 2, 0, size[0], size[1] // 2 - 1), fill="#00ff00")
    return image


def nearly(colour, expected, tolerance=6):
    return all(abs(a - b) <= tolerance for a, b in zip(colour, expected, strict=True))


def frames_of(form, **options):
    first, second = Image.new("RGB", (40, 30), "#ff0000"), Image.new("RGB", (40, 30), "#0000ff")
    return saved(first, form, save_all=True, append_images=[second, first], duration=100, **options)


ORDINARY = {
    "RGB PNG": lambda: picture(),
    "JPEG": lambda: picture("JPEG"),
    "grey JPEG": lambda: saved(Image.new("L", (30, 20), 7), "JPEG"),
    "grey PNG": lambda: saved(Image.new("L", (30, 20), 7)),
    "one-bit PNG": lambda: saved(Image.new("1", (30, 20), 1)),
    "palette PNG": lambda: saved(corners().quantize(4)),
    "opaque RGBA PNG": lambda: saved(corners().convert("RGBA")),
    "JPEG that says upright": lambda: saved(corners(), "JPEG", exif=oriented(1)),
    "JPEG with a trailing zero": lambda: picture("JPEG") + b"\0",
    "progressive JPEG": lambda: saved(photo(), "JPEG", progressive=True),
}


def oriented(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_picture_is_sent_byte_for_byte(name):
    data = ORDINARY[name]()
    found = sent(data)
    assert found.data == data
    assert found.mime == sniff(data)


EIGHT_BIT = {
    "CMYK JPEG": lambda: saved(corners().convert("CMYK"), "JPEG", quality=95, subsampling=0),
    "WebP": lambda: saved(corners(), "WEBP", lossless=True),
    "GIF": lambda: saved(corners(), "GIF"),
    "BMP": lambda: saved(corners(), "BMP"),
    "TIFF": lambda: saved(corners(), "TIFF"),
    "CMYK TIFF": lambda: saved(corners().convert("CMYK"), "TIFF"),
    "AVIF": lambda: saved(corners(), "AVIF", quality=95, subsampling="4:4:4"),
    "JPEG 2000": lambda: saved(corners(), "JPEG2000"),
    "transparent palette": lambda: saved(corners().quantize(4), transparency=0),
}


@pytest.mark.parametrize("name", EIGHT_BIT)
def test_what_a_provider_may_not_take_is_encoded_again_and_looks_the_same(name):
    data = EIGHT_BIT[name]()
    found = sent(data)
    assert found.mime in ("image/png", "image/jpeg")
    assert sniff(found.data) == found.mime
    shown = opened(found.data)
    assert shown.size == (60, 40)
    assert shown.mode == "RGB"
    if name != "transparent palette":
        for place, colour in (((10, 10), (255, 0, 0)), ((50, 10), (0, 255, 0)), ((10, 30), (0, 0, 255))):
            assert nearly(shown.getpixel(place), colour, 12), place


def test_heic_is_read_where_the_decoder_is_installed():
    heif = pytest.importorskip("pillow_heif", reason="HEIC needs the optional decoder pillow-heif")
    out = io.BytesIO()
    heif.from_pillow(corners((64, 64))).save(out, quality=95)
    assert sniff(out.getvalue()) == "image/heic"
    assert nearly(opened(sent(out.getvalue()).data).getpixel((10, 10)), (255, 0, 0), 12)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_orientation_is_applied_and_annotations_refer_to_the_upright_picture(form, orientation):
    upright = corners((60, 40))
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Image.Transpose members that give what a camera stores
    stored = upright.transpose(undo[orientation]) if orientation > 1 else upright
    options = {"quality": 95} if form in ("JPEG", "WEBP") else {}
    data = saved(stored, form, exif=oriented(orientation), **options)
    shown = opened(sent(data).data)
    assert shown.getexif().get(0x0112, 1) == 1
    assert shown.size == upright.size
    assert nearly(shown.convert("RGB").getpixel((10, 10)), (255, 0, 0), 40)
    assert nearly(shown.convert("RGB").getpixel((50, 10)), (0, 255, 0), 40)
    drawn = opened(annotate(data, [("#ffffff", Annotation(box=(35, 22, 50, 36)))])).convert("RGB")
    changed = ImageChops.difference(drawn, upright).convert("L").point(lambda v: 255 * (v > 120)).getbbox()
    assert changed[0] in (34, 35)
    assert changed[1] in (21, 22)
    assert changed[2] in (50, 51, 52)
    assert changed[3] in (36, 37, 38)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
@pytest.mark.parametrize("ground", ["#ffffff", "#000000", "#10c0a0"])
def test_transparency_is_flattened_on_the_declared_ground(mode, ground):
    if mode == "P":
        image = Image.new("P", (20, 20), 0)
        image.putpalette([255, 0, 0, 0, 0, 255])
        data = saved(image, transparency=0)
    else:
        clear = Image.new("RGBA", (20, 20), (90, 90, 90, 0))
        data = saved(clear.convert(mode))
    shown = opened(sent(data, MediaRule(ground=ground)).data)
    expected = tuple(int(ground[i : i + 2], 16) for i in (1, 3, 5))
    assert shown.mode == "RGB"
    assert shown.getpixel((5, 5)) == expected
    drawn = opened(annotate(data, [(RED, Annotation(point=(15, 15)))], MediaRule(ground=ground)))
    assert drawn.convert("RGB").getpixel((0, 0)) == expected


def test_half_transparent_pixels_are_blended_with_the_ground():
    data = saved(Image.new("RGBA", (4, 4), (255, 0, 0, 128)))
    assert nearly(opened(sent(data, MediaRule(ground="#0000ff")).data).getpixel((0, 0)), (128, 0, 127), 1)


def test_sixteen_bit_grey_keeps_its_range():
    values = np.linspace(0, 65535, 256).astype(np.uint16)[None, :].repeat(8, axis=0)
    data = saved(Image.fromarray(values))
    found = sent(data)
    shown = np.asarray(opened(found.data).convert("L")).astype(int)
    assert found.data != data
    assert shown[0, 0] == 0
    assert shown[0, 255] == 255
    assert np.abs(shown[0] - np.arange(256)).max() <= 1


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def raw_png(width, height, depth, colour_type, rows, *extra):
    head = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)
    parts = [chunk(b"IHDR", head), *extra, chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_sixteen_bit_colour_is_sent_with_eight():
    row = b"\0" + struct.pack(">HHH", 0xFFFF, 0x8080, 0) * 3
    found = sent(raw_png(3, 2, 16, 2, row * 2))
    assert found.data[24] == 8
    assert opened(found.data).getpixel((0, 0)) == (255, 128, 0)


def test_the_clear_value_of_sixteen_bit_grey_shows_the_ground():
    row = b"\0" + struct.pack(">HH", 1000, 65535)
    data = raw_png(2, 2, 16, 0, row * 2, chunk(b"tRNS", struct.pack(">H", 1000)))
    shown = opened(sent(data, MediaRule(ground="#0000ff")).data)
    assert shown.getpixel((0, 0)) == (0, 0, 255)
    assert shown.getpixel((1, 0)) == (255, 255, 255)


@pytest.mark.parametrize("values", [np.float32, np.int32])
def test_numbers_without_a_range_are_refused(values):
    data = saved(Image.fromarray(np.linspace(0, 3, 64).reshape(8, 8).astype(values)), "TIFF")
    with pytest.raises(MediumError, match="without a range"):
        sent(data)


ANIMATED = {
    "GIF": lambda: frames_of("GIF"),
    "WebP": lambda: frames_of("WEBP", lossless=True),
    "APNG": lambda: frames_of("PNG"),
    "TIFF of several pages": lambda: frames_of("TIFF"),
}


@pytest.mark.parametrize("name", ANIMATED)
def test_of_an_animated_picture_the_first_frame_is_sent_or_none(name):
    data = ANIMATED[name]()
    first = opened(sent(data).data)
    assert not getattr(first, "is_animated", False)
    assert nearly(first.convert("RGB").getpixel((3, 3)), (255, 0, 0))
    with pytest.raises(MediumError, match=r"x\.png is animated"):
        sent(data, MediaRule(animated="refuse"))
    accepting = MediaRule(accepted=("png", "gif", "webp"))
    assert not getattr(opened(sent(data, accepting).data), "is_animated", False)


def test_a_single_frame_is_not_animated():
    strict = MediaRule(animated="refuse", accepted=("png", "gif", "webp"))
    for form in ("PNG", "GIF", "WEBP"):
        data = picture(form)
        assert sent(data, strict).data == data


def test_large_pictures_are_scaled_down_and_their_annotations_with_them():
    data = saved(Image.new("RGB", (1200, 800), "#202020"))
    rule = MediaRule(max_pixels=240_000)
    shown = opened(sent(data, rule).data)
    assert shown.size == (600, 400)
    drawn = opened(annotate(data, [("#ffffff", Annotation(box=(800, 200, 1000, 600)))], rule))
    assert drawn.size == shown.size
    changed = ImageChops.difference(drawn.convert("RGB"), shown.convert("RGB")).getbbox()
    assert all(abs(a - b) <= 3 for a, b in zip(changed, (400, 100, 500, 300), strict=True))


@given(st.integers(1, 30_000), st.integers(1, 30_000), st.integers(1, 10**7), st.integers(1, 9000))
def test_a_fitted_size_keeps_to_the_rule_and_to_the_shape(width, height, pixels, side):
    rule = MediaRule(max_pixels=pixels, max_side=side)
    fitted = rule.fitted((width, height))
    assert fitted[0] * fitted[1] <= pixels
    assert min(fitted) >= 1
    assert max(fitted) <= side
    if width * height <= pixels and max(width, height) <= side:
        assert fitted == (width, height)
    elif min(fitted) > 1:
        ratio = min((pixels / (width * height)) ** 0.5, side / max(width, height))
        assert abs(fitted[0] - width * ratio) <= 1
        assert abs(fitted[1] - height * ratio) <= 1


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["PNG", "JPEG", "WEBP"]), st.integers(700, 60_000), st.integers(0, 3))
def test_encoded_bytes_keep_to_the_rule_whatever_it_says(form, limit, seed):
    data = saved(photo((120, 90), seed), form)
    rule = MediaRule(max_bytes=limit)
    found = sent(data, rule)
    assert len(found.data) <= limit
    assert sniff(found.data) == found.mime
    drawn = annotated(prepare(data, "x", rule), [(RED, Annotation(box=(20, 20, 60, 60), label="here"))], rule)
    assert len(drawn.data) <= limit
    assert opened(drawn.data).width <= opened(found.data).width
    if found.mime == "image/jpeg" and len(data) > limit:
        assert drawn.mime == "image/jpeg"


def test_only_png_shrinks_where_jpeg_is_not_accepted():
    found = sent(saved(photo((400, 300))), MediaRule(max_bytes=40_000, accepted=("png",)))
    assert found.mime == "image/png"
    assert len(found.data) <= 40_000


def test_a_limit_that_cannot_be_kept_is_refused_with_its_cure():
    with pytest.raises(MediumError, match=r"cannot be encoded in 60 bytes.*max_bytes"):
        sent(picture(), MediaRule(max_bytes=60))


@pytest.mark.parametrize("name", [*EIGHT_BIT, *ANIMATED])
def test_the_same_file_and_rule_give_the_same_bytes(name):
    data = {**EIGHT_BIT, **ANIMATED}[name]()
    drawing = [(RED, Annotation(box=(5, 5, 20, 20), label="a"))]
    assert sent(data) == sent(data)
    assert annotate(data, drawing) == annotate(data, drawing)


def test_another_process_gives_the_same_bytes(tmp_path):
    data = saved(photo(), "WEBP")
    (tmp_path / "x.webp").write_bytes(data)
    rule = MediaRule(max_pixels=10_000, max_bytes=9_000)
    code = (
        "import sys; from dodiag.interventions.pictures import prepare\n"
        "from dodiag.interventions.media import MediaRule\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "print(prepare(data, 'x', MediaRule(max_pixels=10_000, max_bytes=9_000)).medium.digest)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "x.webp"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sent(data, rule).digest


def test_colour_profiles_stay_with_a_copy():
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = saved(corners(), "TIFF", icc_profile=profile)
    assert opened(sent(data).data).info["icc_profile"] == profile
    cmyk = saved(corners().convert("CMYK"), "TIFF", icc_profile=b"no profile at all")
    assert opened(sent(cmyk).data).mode == "RGB"


# --- what cannot be used -------------------------------------------------------------------------------------------


def bomb_png(width, height):
    """A PNG of a few bytes that claims to be huge."""
    return raw_png(width, height, 8, 0, b"\0")


UNUSABLE = {
    "a text file": (b"this is text, not a picture", "neither a picture nor a video"),
    "an HTML page": (b"<!DOCTYPE html><html></html>", "neither a picture nor a video"),
    "SVG": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "neither a picture nor a video"),
    "PDF": (b"%PDF-1.7\n", "neither a picture nor a video"),
    "a Git LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00", "git lfs pull"),
    "an empty file": (b"", "is empty"),
    "magic bytes alone": (b"\x89PNG\r\n\x1a\n", "cannot be read|cut off"),
    "JPEG magic alone": (b"\xff\xd8\xff", "cannot be read|cut off"),
    "half a PNG": (saved(photo())[:20_000], "cut off or damaged"),
    "half a JPEG": (saved(photo(), "JPEG")[:3000], "cut off or damaged"),
    "half a WebP": (saved(photo(), "WEBP")[:2000], "cut off or damaged|cannot be read"),
    "half a BMP": (saved(photo(), "BMP")[:5000], "cut off or damaged"),
    "half a TIFF": (saved(photo(), "TIFF")[:5000], "cut off or damaged|cannot be read"),
    "a bomb": (bomb_png(30_000, 30_000), "pixels"),
    "a bomb beside Pillow's limit": (bomb_png(MAX_DECODED_PIXELS + 1, 1), "pixels"),
    "an overflowing header": (bomb_png(2**31 - 1, 2**31 - 1), "pixels|cannot be read|cut off"),
    "no pixels": (bomb_png(0, 5), "cannot be read|cut off|pixels"),
}


def one_medium(folder, data, name="media/x.png", **changes):
    instance = {**sums_instance(0), "media": [name], **changes}
    return write_pack(folder, SUMS, [instance], {name: data})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", UNUSABLE)
def test_what_cannot_be_used_is_refused_when_the_pack_is_loaded(tmp_path, name):
    data, expected = UNUSABLE[name]
    folder = one_medium(tmp_path / "p", data)
    with pytest.raises(InvalidInput, match=expected) as caught:
        load_pack(folder)
    (problem,) = caught.value.problems
    assert "media/x.png" in problem.problem
    assert problem.where == "instance s00000"
    assert problem.cure


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_cannot_be_used_is_refused_when_it_would_be_sent(tmp_path, name):
    data, expected = UNUSABLE[name]
    pack = load_pack(one_medium(tmp_path / "p", picture()))
    pack.medium("media/x.png").write_bytes(data)
    instance = pack.instance("s00000")
    with pytest.raises(MediumError, match=expected):
        Assembler(pack).prompt(instance, instance.question("a"), Configuration())


def test_damage_inside_a_picture_is_found_before_it_is_sent():
    data = bytearray(saved(photo()))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(MediumError, match="cut off or damaged"):
        sent(bytes(data))


def test_a_bomb_is_refused_without_decoding_it():
    code = (
        "import resource, sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_pictures import bomb_png\n"
        "from dodiag.interventions.media import MediaRule\n"
        "from dodiag.interventions.pictures import prepare\n"
        "from dodiag.problems import DodiagError\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: prepare(bomb_png(60_000, 60_000), 'x', MediaRule())\n"
        "except DodiagError: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    here = __file__.rsplit("/", 1)[0]
    environment = {"PYTHONPATH": f"{here}/..:{here}/../..", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", code, here]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert int(done.stdout) < 50_000


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"]), st.data())
def test_no_bytes_give_anything_but_a_picture_or_a_typed_error(form, data):
    content = bytearray(saved(corners((16, 12)), form))
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        found = sent(cut)
    except DodiagError:
        return
    assert sniff(found.data) == found.mime
    opened(found.data).load()


@given(st.binary(max_size=80))
def test_sniffing_takes_any_bytes(data):
    assert sniff(data) is None or "/" in sniff(data)


def test_every_bad_medium_of_a_pack_is_reported_at_once(tmp_path):
    names = [f"media/{index}.png" for index in range(6)]
    instances = [{**sums_instance(index), "media": [name]} for index, name in enumerate(names)]
    media = dict(
        zip(names, [b"text", picture(), b"", picture("JPEG"), picture()[:80], bomb_png(20_000, 20_000)], strict=True)
    )
    with pytest.raises(InvalidInput) as caught:
        load_pack(write_pack(tmp_path / "p", SUMS, instances, media))
    assert [problem.line for problem in caught.value.problems] == [1, 3, 5, 6]


def test_a_strict_rule_reports_every_animated_picture_before_any_call(tmp_path):
    names = [f"media/{index}.gif" for index in range(4)]
    instances = [{**sums_instance(index), "media": [name]} for index, name in enumerate(names)]
    media = {name: frames_of("GIF") if index % 2 else picture("GIF") for index, name in enumerate(names)}
    pack = load_pack(write_pack(tmp_path / "p", SUMS, instances, media))
    make_plan(pack)
    strict = MediaRule(animated="refuse")
    with pytest.raises(InvalidInput) as caught:
        make_plan(pack, media=strict)
    assert [problem.where for problem in caught.value.problems] == ["instance s00001", "instance s00003"]
    make_plan(pack, media=strict, limit=1)


def test_the_extension_says_nothing(tmp_path):
    pack = load_pack(one_medium(tmp_path / "p", picture("JPEG")))
    assert pack.media_kinds == {"image/jpeg": 1}
    instance = pack.instance("s00000")
    (medium,) = Assembler(pack).prompt(instance, instance.question("a"), Configuration()).media
    assert (medium.mime, medium.data) == ("image/jpeg", picture("JPEG"))


@pytest.mark.parametrize(
    ("annotation", "fits"),
    [
        ({"box": [150, 100, 400, 400]}, True),
        ({"box": [201, 10, 240, 40]}, False),
        ({"point": [200, 150]}, True),
        ({"point": [-1, 10]}, False),
        ({"path": [[-50, 10], [50, 10]]}, True),
        ({"path": [[10, 151], [50, 900]]}, False),
    ],
)
def test_an_annotation_that_nobody_could_see_is_refused(tmp_path, annotation, fits):
    instance = sums_instance(0)
    instance["questions"][0]["annotations"] = [annotation]
    folder = one_medium(tmp_path / "p", picture(), questions=instance["questions"])
    if fits:
        load_pack(folder)
    else:
        with pytest.raises(InvalidInput, match=r"outside media/x\.png, which has 200 x 150 pixels"):
            load_pack(folder)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_bounds_of_annotations_are_those_of_the_upright_picture(tmp_path, form):
    data = saved(Image.new("RGB", (60, 40)), form, exif=oriented(6))
    instance = sums_instance(0)
    instance["questions"][0]["annotations"] = [{"point": [20, 55]}]
    load_pack(one_medium(tmp_path / "p", data, questions=instance["questions"]))
    instance["questions"][0]["annotations"] = [{"point": [55, 20]}]
    with pytest.raises(InvalidInput, match="40 x 60"):
        load_pack(one_medium(tmp_path / "q", data, questions=instance["questions"]))


# --- the rule in the plan and in the key -----------------------------------------------------------------------------


def test_the_default_rule_leaves_plan_hashes_as_they_were_and_is_pinned(tmp_path):
    """A default that changes changes what is sent: then TEMPLATE_VERSION has to change too."""
    assert DEFAULT.to_dict() == {
        "max_pixels": 16_777_216,
        "max_side": 8000,
        "max_bytes": 3_750_000,
        "ground": "#ffffff",
        "accepted": ["png", "jpeg"],
        "animated": "first",
        "video": "frames",
        "video_frames": 8,
        "video_fps": None,
        "video_times": True,
        "max_video_seconds": 600.0,
        "max_video_bytes": 15_000_000,
    }
    pack = maze_pack(tmp_path / "m")
    assert make_plan(pack).digest == make_plan(pack, media=DEFAULT).digest


OTHER_RULES = [
    {"max_pixels": 1000},
    {"max_side": 100},
    {"max_bytes": 1000},
    {"ground": "#000000"},
    {"accepted": ("png",)},
    {"animated": "refuse"},
    {"video": "native"},
    {"video_frames": 4},
    {"video_fps": 1.0},
    {"video_times": False},
    {"max_video_seconds": 5.0},
    {"max_video_bytes": 10},
]


def test_every_field_of_the_rule_is_part_of_the_plan_hash(tmp_path):
    pack = maze_pack(tmp_path / "m")
    rules = [DEFAULT, *(MediaRule(**changes) for changes in OTHER_RULES)]
    assert {name for changes in OTHER_RULES for name in changes} == set(DEFAULT.to_dict())
    assert len({make_plan(pack, media=rule).digest for rule in rules}) == len(rules)
    for rule in rules:
        design = make_plan(pack, media=rule).design
        assert Design.from_dict(json.loads(json.dumps(design.to_dict()))) == design


def test_a_design_without_a_rule_has_the_default_one():
    values = Design().to_dict()
    del values["media"]
    assert Design.from_dict(values) == Design()


def digest(pack, rule, configuration="X1=1"):
    plan = make_plan(pack, media=rule)
    instance = pack.instance("m0")
    question = instance.question("y1")
    prompt = plan.assembler().prompt(instance, question, Configuration.parse(configuration))
    return prompt_digest(prompt, instance.id, question.id)


def test_rules_that_send_the_same_bytes_share_a_reply_and_others_do_not(tmp_path):
    pack = maze_pack(tmp_path / "m")
    for configuration in ("X1=1", "X1=n"):
        default = digest(pack, DEFAULT, configuration)
        assert digest(pack, MediaRule(max_pixels=10**6, ground="#000000"), configuration) == default
        assert digest(pack, MediaRule(max_pixels=5000), configuration) != default


def test_other_bytes_at_one_path_are_another_call_and_the_same_bytes_at_two_are_one(tmp_path):
    pack = maze_pack(tmp_path / "m")
    before = digest(pack, DEFAULT)
    pack.medium("media/0.png").write_bytes(picture(colour="#000000"))
    assert digest(pack, DEFAULT) != before
    moved = maze_pack(tmp_path / "elsewhere")
    assert digest(moved, DEFAULT) == before


BAD_RULES = [
    {"max_pixels": 0},
    {"max_pixels": 10.5},
    {"max_pixels": True},
    {"max_bytes": -1},
    {"ground": "white"},
    {"ground": "#fff"},
    {"accepted": ("png", "heic")},
    {"accepted": ("webp",)},
    {"animated": "all"},
    {"video": "auto"},
    {"video_frames": 0},
    {"video_fps": 0.0},
    {"video_fps": float("nan")},
    {"max_video_seconds": float("inf")},
]


@pytest.mark.parametrize("changes", BAD_RULES, ids=str)
def test_a_rule_that_makes_no_sense_is_refused(changes):
    with pytest.raises(UsageError):
        MediaRule(**changes)


def test_a_rule_of_a_newer_release_is_refused():
    with pytest.raises(UsageError, match="unknown field 'sharpness'"):
        MediaRule.from_dict({"sharpness": 3})


async def asked(adapter, request):
    try:
        return await adapter.answer(request)
    finally:
        await adapter.close()


def test_the_server_receives_exactly_the_bytes_that_the_key_is_of(tmp_path):
    import asyncio
    import base64

    pack = maze_pack(tmp_path / "m")
    pack.medium("media/0.png").write_bytes(saved(corners((200, 150)), "WEBP", lossless=True))
    plan = make_plan(pack, media=MediaRule(max_pixels=7500))
    instance = pack.instance("m0")
    question = instance.question("y1")
    prompt = plan.assembler().prompt(instance, question, Configuration.parse("X1=1"))
    with serving(lambda text, count: "A") as served:
        adapter = OpenAICompatible("m", served.url)
        asyncio.run(asked(adapter, Request(prompt, {}, plan.task, instance, question, 0)))
        (part,) = [part for part in served.bodies[0]["messages"][0]["content"] if part["type"] == "image_url"]
    head, _, content = part["image_url"]["url"].partition(";base64,")
    assert head == "data:image/png"
    data = base64.b64decode(content)
    assert data == prompt.media[0].data
    assert opened(data).size == (100, 75)


def test_a_large_pack_is_checked_fast_and_in_flat_memory(tmp_path):
    """The header check opens every file once; 2,000 stand for 100,000, which the docs give a figure for."""
    import time
    import tracemalloc

    data = saved(photo((64, 48)))
    count = 2000
    names = [f"media/{index}.png" for index in range(count)]
    instances = [{**sums_instance(index), "media": [name]} for index, name in enumerate(names)]
    folder = write_pack(tmp_path / "p", SUMS, instances, dict.fromkeys(names, data))
    load_pack(folder)
    start = time.process_time()
    load_pack(folder)
    assert time.process_time() - start < 4.0
    tracemalloc.start()
    pack = load_pack(folder)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pack.media_kinds == {"image/png": count}
    assert peak - held < 2_000_000
    assert held < 1000 * count


def test_text_in_a_png_is_no_reason_to_touch_it():
    note = PngImagePlugin.PngInfo()
    note.add_text("comment", "x" * 1000)
    data = saved(corners(), pnginfo=note)
    assert sent(data).data == data


def test_heic_without_its_decoder_is_refused_with_the_cure(tmp_path):
    heif = pytest.importorskip("pillow_heif", reason="HEIC needs the optional decoder pillow-heif")
    out = io.BytesIO()
    heif.from_pillow(corners((64, 64))).save(out)
    folder = one_medium(tmp_path / "p", out.getvalue())
    code = (
        "import sys; sys.modules['pillow_heif'] = None\n"
        "import dodiag\n"
        "try: dodiag.load_pack(sys.argv[1])\n"
        "except dodiag.problems.InvalidInput as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert "is HEIC" in done.stdout
    assert "pip install pillow-heif" in done.stdout
