"""Prices of tokens: files of them, what a call costs, and spans of time in words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dodiag.api import prices_of
from dodiag.interventions.price import TokenPrices, listed_price, read_prices, seconds_of_span
from dodiag.problems import InvalidInput, UsageError

COUNTS = st.none() | st.integers(0, 10**7)
MONEY = st.floats(0, 1000, allow_nan=False)


@given(MONEY, MONEY, st.none() | MONEY, st.none() | MONEY, COUNTS, COUNTS, COUNTS, COUNTS)
def test_a_call_costs_each_token_once_at_its_own_price(read, write, cached_price, thought_price, i, o, c, r):
    cost = TokenPrices(read, write, cached_price, thought_price).cost(i, o, c, r)
    unknown = (i is None and (read or cached_price)) or (o is None and (write or thought_price))
    if unknown:
        assert cost is None
        return
    cached, thought = min(c or 0, i or 0), min(r or 0, o or 0)
    expected = ((i or 0) - cached) * read + cached * (read if cached_price is None else cached_price)
    expected += ((o or 0) - thought) * write + thought * (write if thought_price is None else thought_price)
    assert cost == pytest.approx(expected / 1e6)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_price_is_0_or_more(value):
    with pytest.raises(UsageError, match="cached_input"):
        TokenPrices(1, 2, cached_input=value)


TABLE = """\
m-large: {input: 2.5, output: 10, cached_input: 1.25}
openai/m-small: {input: 0.1, output: 0.4, reasoning: null}
"""


def test_a_price_file_is_read_and_models_are_found_by_either_name(tmp_path):
    (tmp_path / "prices.yaml").write_text(TABLE)
    table = read_prices(tmp_path / "prices.yaml")
    assert table["m-large"] == TokenPrices(2.5, 10.0, 1.25)
    assert listed_price(table, "openai/m-large") == listed_price(table, "litellm:m-large") == table["m-large"]
    assert listed_price(table, "openai/m-small") == TokenPrices(0.1, 0.4)
    assert listed_price(table, "openai/m") is None
    (tmp_path / "prices.json").write_text(json.dumps({"m": {"input": 1, "output": 2}}))
    assert prices_of("openai/m", tmp_path / "prices.json") == TokenPrices(1.0, 2.0)


def test_all_problems_of_a_price_file_are_named_at_once_with_their_lines(tmp_path):
    file = tmp_path / "prices.yaml"
    file.write_text("a: {input: -1, output: 2}\nb: {input: 1, outputs: 3}\nc: 7\nd: {input: true, output: .nan}\n")
    with pytest.raises(InvalidInput) as caught:
        read_prices(file)
    said = [(problem.line, problem.where) for problem in caught.value.problems]
    assert said == [(1, "a"), (2, "b"), (2, "b"), (3, "c"), (4, "d"), (4, "d")]
    assert "output" in str(caught.value), "the misspelt name is answered with the right one"


@pytest.mark.parametrize("text", ["", "[]", "5"])
def test_a_price_file_is_a_table(tmp_path, text):
    (tmp_path / "prices.yaml").write_text(text)
    with pytest.raises(InvalidInput, match="prices"):
        read_prices(tmp_path / "prices.yaml")


@pytest.mark.parametrize(
    ("given_prices", "match"),
    [
        ({"prices": TokenPrices(1, 2), "input_price": 1.0, "output_price": 2.0}, "both given"),
        ({"input_price": 1.0}, "missing"),
        ({"prices": {"other": TokenPrices(1, 2)}}, "do not have the model"),
    ],
)
def test_prices_that_cannot_be_meant_are_refused(given_prices, match):
    with pytest.raises(UsageError, match=match):
        prices_of("openai/m", **given_prices)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
def test_spans_are_added_up(hours, minutes, seconds):
    expected = 3600 * hours + 60 * minutes + seconds
    for text in (f"{hours}h{minutes}m{seconds}s", f"{hours}h {minutes}m {seconds}s", f"{1000 * expected}ms"):
        assert seconds_of_span(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "5", "soon", "5 days", "1h-2m", "m", None, 5])
def test_what_is_no_span_is_none(text):
    assert seconds_of_span(text) is None
