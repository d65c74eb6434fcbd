# SPDX-License-Identifier: MIT
"""until - wait for a condition, on a machine however busy."""
import time


def comes(condition, seconds=120, step=0.01):
    """Wait for a condition, which is looked at every @step seconds. Return: its value; the last
    false one when the time is over."""
    end = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(step)
    return value


def until(condition, what="waited too long", seconds=120, step=0.01):
    """Wait for a condition that has to come; its value. @what: the message if it does not, or a
    function that returns it."""
    value = comes(condition, seconds, step)
    assert value, what() if callable(what) else what
    return value


def joined(thread, seconds=120):
    """Wait for the end of a thread that has to end. One that does not end fails the test now, and
    not when the test's time is over."""
    thread.join(seconds)
    assert not thread.is_alive(), "a thread does not end"
