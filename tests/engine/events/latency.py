# SPDX-License-Identifier: MIT
"""latency - shared by the tests of the latency tracers: the text that `trace` shows."""
import re

LATENCY = re.compile(r"^# latency: (\d+) us, #(\d+)/(\d+), CPU#(\d+) \| \(M:preempt VP:0, KP:0, SP:0 HP:0 #P:\d+\)$", re.M)
TASK = re.compile(r"^#    \| task: (.+)-(\d+) \(uid:(\d+) nice:(-?\d+) policy:(\d+) rt_prio:(\d+)\)$", re.M)
PLACE = re.compile(r"^#  => (started at|ended at|lock|allocated|waited): +(.*)$", re.M)
LINE = re.compile(r"^ *(\S.*)-(\d+) +(\d+)([d.])([N.])([hs.H])([\d.])([\d.]) +(\d+)us(.): (.*)$", re.M)


class Stretch:
    """A stretch as `trace` shows it: us, tid, started, ended, lock, lines (tid, us, text) and their
    flags."""

    def __init__(self, text):
        self.text = text
        found = LATENCY.search(text)
        assert found, text
        self.us, self.shown, self.written, self.cpu = map(int, found.groups())
        self.task = TASK.search(text)
        assert self.task, text
        self.tid = int(self.task[2])
        self.places = PLACE.findall(text)
        self.started, self.ended = (dict(self.places).get(k) for k in ("started at", "ended at"))
        self.lock = dict(self.places).get("lock", "")
        self.lines = [(int(m[2]), int(m[9]), m[11]) for m in LINE.finditer(text)]
        self.flags = ["".join(m.group(4, 5, 6, 7, 8)) for m in LINE.finditer(text)]


def is_near(us, own_us):
    """Within 5 % or 50 us of the program's own clock."""
    return own_us - 50 <= us <= own_us + max(50, own_us * 0.05)


def preempted_a_few_times(test):
    """
    Run a test up to six times, each with a new program. Another process may lengthen a stretch by
    taking the CPU; a real fault shows in all runs.
    """
    def run(b):
        for attempt in range(6):
            try:
                test(b)
                return
            except AssertionError as e:
                if attempt == 5:
                    raise
                print(f"once more: {str(e)[:200]!r}")
    return run


def ask(p, line):
    """Return: us by the program's own clock, the thread's id."""
    words = p.ask(line).split()
    assert words[0] == "done", words
    return int(words[1]), int(words[2])


def measured(p, line):
    """A stretch as long as the program says. Measured again where another process took the CPU
    between the clocks."""
    for _ in range(20):
        assert p.set("tracing_max_latency", "0") is None
        us, tid = ask(p, line)
        s = Stretch(p.get("trace"))
        if is_near(s.us, us):
            break
    assert is_near(s.us, us), (us, s.text)
    assert p.get("tracing_max_latency") == f"{s.us}\n", s.text
    return s, tid
