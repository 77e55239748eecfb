"""What servers say when something is wrong, word for word, and what it means for a call and for a run."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import time, tzset

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict

from dodiag.interventions.price import seconds_of_span
from dodiag.runners.adapters.chat import reply_of, usage_of
from dodiag.runners.adapters.failures import asked_wait, read_error, refused_or_failed, seconds_of
from dodiag.runners.protocol import CallFailed, FailureKind, Finish, Usage


def openai(message, kind=None, code=None):
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(kind, message):
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011"}


def google(code, status, message, *details):
    return [{"error": {"code": code, "message": message, "status": status, "details": list(details)}}]


def google_quota(name, delay=None):
    failure = {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaMetric": "generate_content_free_tier_requests", "quotaId": name, "quotaValue": "15"}],
    }
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    text = "You exceeded your current quota, please check your plan and billing details."
    return google(429, "RESOURCE_EXHAUSTED", text, failure, *([retry] if delay else []))


PLAN = "You exceeded your current quota, please check your plan and billing details."
BODIES = {
    # OpenAI
    "openai key": (401, openai("Incorrect API key provided: x.", "invalid_request_error", "invalid_api_key"), "auth"),
    "openai region": (403, openai("Country, region, or territory not supported", None, "unsupported_country"), "auth"),
    "openai quota": (429, openai(PLAN, "insufficient_quota", "insufficient_quota"), "quota"),
    "openai rate": (429, openai("Rate limit reached for gpt-4o", "requests", "rate_limit_exceeded"), "rate_limit"),
    "openai tokens a minute": (
        429,
        openai("Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 50000.", "tokens", None),
        "bad_request",
    ),
    "openai busy": (503, openai("The engine is currently overloaded, please try again later"), "overloaded"),
    "openai slow down": (503, openai("Slow down", "server_error", "slow_down"), "overloaded"),
    "openai error": (500, openai("The server had an error while processing your request", "server_error"), "internal"),
    "openai long": (
        400,
        openai(
            "This model's maximum context length is 8192 tokens.", "invalid_request_error", "context_length_exceeded"
        ),
        "context_length",
    ),
    "openai parameter": (400, openai("Unsupported parameter: 'top_k'", "invalid_request_error", "x"), "bad_request"),
    "openai model": (
        404,
        openai("The model `gpt-9` does not exist", "invalid_request_error", "model_not_found"),
        "not_found",
    ),
    "openai policy": (
        400,
        openai("Your request was rejected", "invalid_request_error", "content_policy_violation"),
        "refused",
    ),
    "openai prompt": (
        400,
        openai(
            "Invalid prompt: flagged as potentially violating our usage policy.",
            "invalid_request_error",
            "invalid_prompt",
        ),
        "refused",
    ),
    # Azure
    "azure rate": (
        429,
        {"error": {"code": "429", "message": "Requests have exceeded token rate limit. Please retry after 6 seconds."}},
        "rate_limit",
    ),
    "azure key": (401, {"statusCode": 401, "message": "Access denied due to invalid subscription key."}, "auth"),
    "azure deployment": (
        404,
        {"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}},
        "not_found",
    ),
    "azure filter": (
        400,
        {
            "error": {
                "message": "Filtered due to the prompt triggering Azure OpenAI's content management policy.",
                "code": "content_filter",
                "status": 400,
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
        "refused",
    ),
    # Anthropic
    "anthropic busy": (529, anthropic("overloaded_error", "Overloaded"), "overloaded"),
    "anthropic rate": (429, anthropic("rate_limit_error", "This request would exceed your rate limit"), "rate_limit"),
    "anthropic key": (401, anthropic("authentication_error", "invalid x-api-key"), "auth"),
    "anthropic permission": (403, anthropic("permission_error", "Your API key does not have permission"), "auth"),
    "anthropic money": (
        400,
        anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        "quota",
    ),
    "anthropic long": (
        400,
        anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "context_length",
    ),
    "anthropic large": (
        413,
        anthropic("request_too_large", "Request exceeds the maximum allowed bytes"),
        "bad_request",
    ),
    "anthropic filter": (
        400,
        anthropic("invalid_request_error", "Output blocked by content filtering policy"),
        "refused",
    ),
    "anthropic timeout": (504, anthropic("timeout_error", "Request timed out"), "timeout"),
    "anthropic error": (500, anthropic("api_error", "Internal server error"), "internal"),
    "anthropic model": (404, anthropic("not_found_error", "model: claude-9"), "not_found"),
    # Google
    "google a minute": (429, google_quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "34s"), "rate_limit"),
    "google a day": (429, google_quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "20s"), "quota"),
    "google exhausted": (429, google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted."), "rate_limit"),
    "google busy": (503, google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), "overloaded"),
    "google key": (
        400,
        google(
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
        ),
        "auth",
    ),
    "google long": (
        400,
        google(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        "context_length",
    ),
    "google late": (504, google(504, "DEADLINE_EXCEEDED", "Deadline expired"), "timeout"),
    "google permission": (403, google(403, "PERMISSION_DENIED", "Your project has been denied access."), "auth"),
    # vLLM
    "vllm long": (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        "context_length",
    ),
    "vllm model": (
        404,
        {"error": {"message": "The model `x` does not exist.", "type": "NotFoundError", "param": "model", "code": 404}},
        "not_found",
    ),
    "vllm key": (401, {"error": "Unauthorized"}, "auth"),
    "vllm error": (
        500,
        {"object": "error", "message": "EngineCore died", "type": "InternalServerError", "code": 500},
        "internal",
    ),
    # llama.cpp
    "llama.cpp loading": (
        503,
        {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
        "overloaded",
    ),
    "llama.cpp long": (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9000,
                "n_ctx": 4096,
            }
        },
        "context_length",
    ),
    "llama.cpp key": (
        401,
        {"error": {"code": 401, "message": "Invalid API Key", "type": "authentication_error"}},
        "auth",
    ),
    "llama.cpp pictures": (
        500,
        {"error": {"code": 500, "message": "image input is not supported", "type": "server_error"}},
        "internal",
    ),
    "llama.cpp feature": (
        501,
        {"error": {"code": 501, "message": "no tools", "type": "not_supported_error"}},
        "bad_request",
    ),
    # Ollama
    "ollama model": (
        404,
        {"error": {"message": 'model "x" not found, try pulling it first', "type": "not_found_error", "code": None}},
        "not_found",
    ),
    "ollama busy": (503, {"error": "server busy, please try again.  maximum pending requests exceeded"}, "overloaded"),
    "ollama memory": (500, {"error": "model requires more system memory (9 GiB) than is available"}, "internal"),
    # Gateways
    "openrouter money": (402, {"error": {"code": 402, "message": "This request requires more credits"}}, "quota"),
    "openrouter a day": (429, {"error": {"code": 429, "message": "Rate limit exceeded: free-models-per-day"}}, "quota"),
    "openrouter flagged": (
        403,
        {"error": {"code": 403, "message": "This model requires moderation on Novita. Your input was flagged."}},
        "refused",
    ),
    "grok refuses": (
        403,
        {"code": "The caller does not have permission", "error": "Content violates usage guidelines."},
        "refused",
    ),
    "deepseek money": (402, openai("Insufficient Balance", "unknown_error", "invalid_request_error"), "quota"),
    "mistral rate": (
        429,
        {"object": "error", "message": "Service tier capacity exceeded", "type": "service_tier_capacity_exceeded"},
        "rate_limit",
    ),
    "mistral fields": (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request"),
    "cloudflare": (524, "<html>A timeout occurred</html>", "timeout"),
    "nginx": (502, "<html><h1>502 Bad Gateway</h1></html>", "overloaded"),
    "proxy": (408, "", "timeout"),
    "nothing": (500, None, "internal"),
    "conflict": (409, openai("conflict"), "internal"),
}


def failed_with(call):
    """Return the failure of a call, or its reply."""
    try:
        return call()
    except CallFailed as failed:
        return failed


@pytest.mark.parametrize("name", BODIES)
def test_the_errors_of_real_servers_are_told_apart(name):
    status, body, expected = BODIES[name]
    found = failed_with(lambda: refused_or_failed(status, body, {}))
    if expected == "refused":
        assert found.finish is Finish.REFUSAL
    else:
        assert found.kind.value == expected
        assert str(status) in found.message
        assert not found.message.endswith(": ")


def test_the_prompt_repeated_in_an_error_does_not_change_its_kind():
    """A message may hold the user's words: they are not codes."""
    text = "could not parse: 'Does the sign say insufficient_quota, content_filter or invalid_api_key?'"
    assert read_error(400, openai(text)).kind is FailureKind.BAD_REQUEST
    assert not read_error(400, openai(text)).refused


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "0.25"}, 0.25),
        ({"RETRY-AFTER": "0"}, 0),
        ({"Retry-After": "-5"}, 0),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "9", "retry-after-ms": "1500"}, 1.5),
        ({"x-ms-retry-after-ms": "250"}, 0.25),
        ({"x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 1),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "10",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "0",
            },
            360,
        ),
        ({"x-ratelimit-reset": "30"}, 30),
        ({"Retry-After": "2", "x-ratelimit-reset-tokens": "6m0s"}, 2),
        ({"x-ratelimit-reset": "tomorrow"}, None),
        ({"x-request-id": "1"}, None),
        ({}, None),
    ],
)
def test_waits_are_read_from_every_header_that_servers_use(headers, seconds):
    assert asked_wait(headers) == (None if seconds is None else pytest.approx(seconds))


def test_of_two_waits_the_longer_is_kept():
    """As where a gateway adds its own header to the server's."""
    for waits in (("5", "60"), ("60", "5"), ("60", "soon")):
        assert asked_wait(CIMultiDict([("Retry-After", wait) for wait in waits])) == 60


@pytest.fixture(params=["UTC", "America/New_York", "Asia/Tokyo"])
def zone(request, monkeypatch):
    monkeypatch.setenv("TZ", request.param)
    tzset()
    yield request.param
    monkeypatch.undo()
    tzset()


def test_moments_are_spans_from_now(zone):
    later = datetime.now(UTC) + timedelta(seconds=30)
    for headers in (
        {"Retry-After": format_datetime(later, usegmt=True)},
        {"x-ratelimit-reset": str(int((time() + 30) * 1000))},
        {"x-ratelimit-reset": str(time() + 30)},
        {"anthropic-ratelimit-requests-reset": later.strftime("%Y-%m-%dT%H:%M:%SZ")},
    ):
        assert asked_wait(headers) == pytest.approx(30, abs=2)
    past = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    assert asked_wait({"Retry-After": past}) == 0
    for form in ("%a, %d %b %Y %H:%M:%S", "%a, %d %b %Y %H:%M:%S -0000", "%a %b %d %H:%M:%S %Y"):
        assert asked_wait({"Retry-After": later.strftime(form)}) == pytest.approx(30, abs=2), zone
    limits = {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": later.isoformat()}
    assert asked_wait({**limits, "anthropic-ratelimit-requests-reset": datetime.now(UTC).isoformat()}) > 20


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        (google_quota("GenerateRequestsPerMinute", "34.5s"), 34.5),
        (openai("Rate limit reached. Please try again in 20ms."), 0.02),
        (openai("Rate limit reached. Please try again in 7m12s."), 432),
        (openai("Requests have exceeded the limit. Please retry after 6 seconds."), 6),
        (openai("Please try again in a moment"), None),
        (openai("Please try again later."), None),
    ],
)
def test_waits_are_read_from_the_body_where_no_header_says_one(body, seconds):
    with pytest.raises(CallFailed) as caught:
        refused_or_failed(429, body, {})
    assert caught.value.retry_after == seconds
    with pytest.raises(CallFailed) as caught:
        refused_or_failed(429, body, {"Retry-After": "3"})
    assert caught.value.retry_after == 3


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"code": 502, "message": "Provider returned error"}}, FailureKind.OVERLOADED),
        ({"error": {"code": 429, "message": "Rate limited upstream"}}, FailureKind.RATE_LIMIT),
        ({"error": {"message": "boom"}}, FailureKind.INTERNAL),
        ({"error": "boom"}, FailureKind.INTERNAL),
        ({"choices": [{"finish_reason": "error", "message": {"content": "The ans"}}]}, FailureKind.INTERNAL),
        ({"choices": [{"finish_reason": "abort", "message": {"content": ""}}]}, FailureKind.INTERNAL),
        ({"choices": [{"error": {"code": 524, "message": "late"}, "message": {"content": "7"}}]}, FailureKind.TIMEOUT),
        ({"choices": []}, FailureKind.INTERNAL),
        ({"choices": [{"error": "boom", "message": {"content": "7"}}]}, FailureKind.INTERNAL),
        (
            {"choices": [{"message": {"content": "7"}}], "error": {"code": 503, "message": "late"}},
            FailureKind.OVERLOADED,
        ),
    ],
)
def test_errors_sent_as_successes_are_failures_and_never_answers(body, kind):
    with pytest.raises(CallFailed) as caught:
        reply_of(body)
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"finish_reason": "stop"},
        {"finish_reason": "stop", "message": None},
        {"finish_reason": "stop", "message": "7"},
        {"finish_reason": "length", "message": ["7"]},
        {"finish_reason": "stop", "text": "7"},
        {"finish_reason": "stop", "delta": {"content": "7"}},
        {"finish_reason": "stop", "message": {"content": 7}},
        {"finish_reason": "stop", "message": {"content": {"text": "7"}}},
        {"finish_reason": "stop", "message": {"content": "7", "refusal": {"text": "no"}}},
        {"finish_reason": "stop", "message": {"content": "7", "refusal": True}},
    ],
)
def test_a_choice_without_a_message_is_missing_and_not_wrong(choice):
    """The model did not say nothing: its server, or something before it, did not say what it said."""
    with pytest.raises(CallFailed, match="not a chat completion") as caught:
        reply_of({"choices": [choice]})
    assert caught.value.kind is FailureKind.INTERNAL
    assert caught.value.maybe_billed


@pytest.mark.parametrize(
    ("choice", "text", "finish"),
    [
        ({"finish_reason": "content_filter"}, None, Finish.REFUSAL),
        ({"finish_reason": "length", "message": None}, None, Finish.LENGTH),
        ({"finish_reason": "tool_calls", "message": {"content": None, "tool_calls": [{}]}}, None, Finish.STOP),
        ({"message": {"content": None, "reasoning_content": "hm"}}, None, Finish.STOP),
        ({"message": {"content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}}, "AB", Finish.STOP),
        (
            {"message": {"content": [{"type": "reasoning", "text": "A?"}, {"type": "text", "text": "B"}]}},
            "B",
            Finish.STOP,
        ),
        ({"message": {"content": [{"text": "A"}, None, "x", {"type": "image_url"}]}}, "A", Finish.STOP),
        ({"message": {"content": []}}, "", Finish.STOP),
    ],
)
def test_a_message_is_its_text_and_no_more(choice, text, finish):
    found = reply_of({"choices": [choice]})
    assert (found.text, found.finish) == (text, finish)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", Finish.STOP),
        (None, Finish.STOP),
        ("length", Finish.LENGTH),
        ("MAX_TOKENS", Finish.LENGTH),
        ("model_length", Finish.LENGTH),
        ("content_filter", Finish.REFUSAL),
        ("SAFETY", Finish.REFUSAL),
        ("refusal", Finish.REFUSAL),
    ],
)
def test_reasons_to_finish_in_the_words_of_several_servers(reason, finish):
    assert reply_of({"choices": [{"finish_reason": reason, "message": {"content": "7"}}]}).finish is finish


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, (10, 5, None, None)),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 50,
                "total_tokens": 60,
                "prompt_tokens_details": {"cached_tokens": 8},
                "completion_tokens_details": {"reasoning_tokens": 45},
            },
            (10, 50, 8, 45),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 60,
                "completion_tokens_details": {"reasoning_tokens": 45},
            },
            (10, 50, None, 45),
        ),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 45}},
            (10, 50, None, 45),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, (10, 5, 4, None)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 0}, (10, 5, None, None)),
        ({"prompt_tokens": True, "completion_tokens": -5}, (None, None, None, None)),
        ({"prompt_tokens": 10**30, "completion_tokens": "5"}, (None, None, None, None)),
        (None, (None, None, None, None)),
        ([], (None, None, None, None)),
    ],
)
def test_tokens_have_one_meaning_whoever_reports_them(usage, expected):
    assert usage_of(usage) == Usage(*expected)


NAMES = ["error", "code", "type", "message", "details", "metadata", "choices", "usage", "violations"]
NAMES += ["content", "refusal", "text", "finish_reason", "reasoning"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(st.sampled_from([200, 400, 401, 404, 408, 413, 429, 500, 503, 529, 599]), json_values)
def test_no_body_ends_in_anything_but_a_reply_or_a_failure(status, body):
    for read in (lambda: refused_or_failed(status, body, {}), lambda: reply_of(body)):
        found = failed_with(read)
        if isinstance(found, CallFailed):
            assert found.message
        else:
            assert found.finish in Finish
            assert isinstance(found.text, str | None)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["message", "finish_reason", "error", "text"]), json_values, max_size=4))
def test_no_choice_ends_in_anything_but_a_reply_or_a_failure(choice):
    found = failed_with(lambda: reply_of({"choices": [choice]}))
    assert isinstance(found, CallFailed) or isinstance(found.text, str | None)


@settings(max_examples=200)
@given(st.text(max_size=30))
def test_no_header_is_read_as_anything_but_seconds(text):
    for name in ("Retry-After", "retry-after-ms", "x-ratelimit-reset", "x-ratelimit-reset-tokens"):
        wait = asked_wait({name: text})
        assert wait is None or 0 <= wait < float("inf")
    assert seconds_of_span(text) is None or seconds_of_span(text) >= 0
    assert seconds_of(text) is None or seconds_of(text) >= 0
