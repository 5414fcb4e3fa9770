"""The one retry policy, and the two headers by which a server asks for a pause."""

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.files.retry import RetryPolicy, Transient, parse_rate_limit, parse_retry_after

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def failing(times: int, retry_after: float | None = None):
    calls = []

    def attempt() -> str:
        calls.append(1)
        if len(calls) <= times:
            raise Transient(OSError(f"failure {len(calls)}"), retry_after)
        return "done"

    return attempt, calls


@pytest.mark.parametrize(("times", "waits"), [(0, []), (1, [0.5]), (3, [0.5, 1.0, 2.0])])
def test_waits_double(times, waits):
    sleeps: list[float] = []
    attempt, calls = failing(times)
    assert RetryPolicy(sleep=sleeps.append).run(attempt, "it") == "done"
    assert sleeps == waits
    assert len(calls) == times + 1


def test_the_last_error_is_raised_with_its_cause():
    sleeps: list[float] = []
    cause = ValueError("why")

    def attempt() -> None:
        error = OSError("what")
        error.__cause__ = cause
        raise Transient(error)

    with pytest.raises(OSError, match="what") as caught:
        RetryPolicy(sleep=sleeps.append).run(attempt, "it")
    assert caught.value.__cause__ is cause
    assert sleeps == [0.5, 1.0, 2.0]


def test_other_errors_are_final():
    sleeps: list[float] = []

    def attempt() -> None:
        raise KeyError("no")

    with pytest.raises(KeyError):
        RetryPolicy(sleep=sleeps.append).run(attempt, "it")
    assert sleeps == []


def test_what_the_server_asks_for_is_honoured_up_to_a_limit():
    sleeps: list[float] = []
    RetryPolicy(sleep=sleeps.append).run(failing(1, 7.0)[0], "it")
    RetryPolicy(sleep=sleeps.append).run(failing(1, 1e9)[0], "it")
    RetryPolicy(sleep=sleeps.append).run(failing(1, 0.0)[0], "it")
    assert sleeps == [7.0, 300.0, 0.0]


def test_one_attempt_only():
    with pytest.raises(OSError, match="failure 1"):
        RetryPolicy(attempts=1).run(failing(1)[0], "it")


@given(st.integers(0, 30), st.one_of(st.none(), st.floats(0, 1e12)))
def test_a_delay_is_never_negative_nor_too_long(attempt, asked):
    assert 0 <= RetryPolicy().delay(attempt, asked) <= 300


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        (" 30 ", 30.0),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        ("Sun, 01 Mar 2026 12:01:30 -0000", 90.0),
        ("Sun, 01 Mar 2026 13:01:30 +0100", 90.0),
        ("Sunday, 01-Mar-26 12:01:30 GMT", 90.0),
        (format_datetime(NOW - timedelta(days=9), usegmt=True), 0.0),
        ("-5", None),
        ("1.5", None),
        ("", None),
        ("soon", None),
        ("\u00b2", None),
        ("Mon, 99 Foo 2026 12:00:00 GMT", None),
        ("9" * 400, None),
        (None, None),
    ],
)
def test_retry_after(value, seconds):
    assert parse_retry_after(value, NOW) == seconds


@given(st.text())
def test_any_header_text_is_a_wait_or_nothing(text):
    for seconds in (parse_retry_after(text, NOW), parse_rate_limit(text)):
        assert seconds is None or 0 <= seconds < float("inf")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ('"api";r=0;t=55', 56.0),
        (' "resolvers" ; r=0 ; t=0 ', 1.0),
        ('"api";r=1;t=55', None),
        ("api;r=0;t=55", None),
        ('"api";t=55', None),
        (None, None),
    ],
)
def test_rate_limit(value, seconds):
    assert parse_rate_limit(value) == seconds
