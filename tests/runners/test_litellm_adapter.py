"""The litellm adapter against a real server: its own retries are off, and failures keep their kind."""

import pytest
from packs import maze_pack, sums_pack
from servers import completion, failure, serving

import dodiag
from dodiag.runners.retry import RetryPolicy
from dodiag.runners.runner import RunOptions
from dodiag.runners.session import ModelOptions, start

MODEL = "litellm:openai/served"


def run(plan, out, url, retries=2, **options):
    policy = RetryPolicy(max_retries=retries, base=0.01, longest=0.02)
    return start(plan, MODEL, out, ModelOptions(base_url=url, **options), RunOptions(4, policy, quiet=True))


@pytest.fixture
def one_call(tmp_path):
    return dodiag.make_plan(sums_pack(tmp_path / "p", 1), units=["X1"])


def test_the_same_request_goes_out_as_through_our_own_client(tmp_path):
    plan = dodiag.make_plan(maze_pack(tmp_path / "m", 1, 1), units=["X1"])
    bodies = []
    for model in (MODEL, "openai/served"):
        with serving(lambda text, _: "A") as served:
            options = ModelOptions(base_url=served.url, parameters={"temperature": 0, "max_tokens": 5})
            start(plan, model, tmp_path / model.replace("/", "-"), options, RunOptions(quiet=True))
        (body,) = served.bodies
        bodies.append({name: body[name] for name in ("model", "messages", "temperature", "max_tokens")})
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize(("status", "requests"), [(500, 3), (503, 3), (429, 3), (400, 1), (404, 1)])
def test_retries_are_ours_alone(one_call, tmp_path, status, requests):
    with serving(lambda text, _: failure(status)) as served:
        summary = run(one_call, tmp_path / "r", served.url)
        assert served.requests == requests
    assert summary.failed == 1


@pytest.mark.parametrize(("status", "code", "word"), [(429, "insufficient_quota", "quota"), (401, "bad_key", "key")])
def test_quota_and_auth_stop_the_model(tmp_path, status, code, word):
    plan = dodiag.make_plan(sums_pack(tmp_path / "p", 30))
    with serving(lambda text, _: failure(status, code)) as served:
        summary = run(plan, tmp_path / "r", served.url)
        assert served.requests <= 8
    assert word in summary.stopped


@pytest.mark.parametrize(
    "respond",
    [
        lambda: completion("", "content_filter"),
        lambda: completion(None, refusal="I will not"),
        lambda: failure(400, "content_policy_violation"),
    ],
    ids=["filter", "refusal", "policy"],
)
def test_refusals_stay_refusals(one_call, tmp_path, respond):
    with serving(lambda text, _: respond()) as served:
        run(one_call, tmp_path / "r", served.url)
        assert served.requests == 1
    (row,) = dodiag.outcomes(tmp_path / "r").to_dict("records")
    assert (row["outcome"], row["solved"]) == ("refused", 0)


def test_truncated_null_content_is_no_answer(one_call, tmp_path):
    with serving(lambda text, _: completion(None, "length")) as served:
        run(one_call, tmp_path / "r", served.url)
    (row,) = dodiag.outcomes(tmp_path / "r").to_dict("records")
    assert (row["outcome"], row["solved"]) == ("truncated", 0)


def test_a_server_that_is_not_there_is_a_network_failure(one_call, tmp_path):
    with serving(lambda text, _: "1") as served:
        url = served.url
    summary = run(one_call, tmp_path / "r", url, retries=1)
    assert summary.failed == 1
    assert dodiag.outcomes(tmp_path / "r")["outcome"].tolist() == ["error"]
