#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige tui` in a terminal of 80x24 (tmux): each view shows what `convert --to csv` says."""
import contextlib
import re
import subprocess

from cli_test import BIN, LIBRARY, main, need, until
from test_view import LIVE, PROGRAM


class Terminal:
    """tmux with a server of its own."""

    def __init__(self, w, *words, size=(80, 24)):
        need("tmux")
        self.w, self.socket = w, w.path("tmux")
        env = dict(w.env, TERM="xterm", LC_ALL="C.UTF-8")
        env.pop("TMUX", None)
        self.env = env
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), *words)

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", self.socket, *args], env=self.env, cwd=self.w.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False, timeout=60).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, pattern):
        """Wait until it does. The match."""
        found = []

        def look():
            found[:] = [re.search(pattern, self.screen(), re.M)]
            return found[0]
        until(look)
        return found[0]

    def ended(self):
        return not self.tmux("list-sessions")


@contextlib.contextmanager
def tui(w, *args, **more):
    t = Terminal(w, BIN, "tui", *args, **more)
    try:
        yield t
        t.keys("q")
        until(t.ended)
    finally:
        t.tmux("kill-server")


def test_views(w):
    prog = w.compile("p", PROGRAM)
    w.run("record", "-q", "-p", "function_graph", "-e", "sched", "-o", "t.dat", "--", prog)
    rows = w.rows("t.dat")
    calls = [r for r in rows if r["kind"] == "call"]
    with tui(w, "t.dat") as t:
        t.shows(r"^ Timeline: t\.dat, (.*) of \1 shown")
        t.shows(r"^CPU 0? ?")
        t.keys("+")
        t.shows(r"^ Timeline: t\.dat, ")
        until(lambda: not re.search(r"^ Timeline: t\.dat, (.*) of \1 shown", t.screen(), re.M))
        t.keys("0")
        t.shows(r"^ Timeline: t\.dat, (.*) of \1 shown")
        t.keys("2")
        times = sorted(int(r["time"]) for r in rows)
        t.shows(rf"^ +0 +{times[0] // 10 ** 9}\.{times[0] % 10 ** 9 // 1000:06d}")
        t.keys("End")
        t.shows(rf"^ +{len(rows) - 1} +{times[-1] // 10 ** 9}\.{times[-1] % 10 ** 9 // 1000:06d}")
        t.keys("Home")
        t.shows(r"^ +0 ")
        t.keys("/")
        t.shows("Search:")
        t.keys("jump", "Enter")
        at = t.shows(r"^ +(\d+) .* jump ")
        t.keys("Enter")
        t.shows(r"^jump: .* at ")  # the cursor is on it in the timeline
        t.keys("0", "3")
        fib = [r for r in calls if r["name"] == "fib"]
        t.shows(rf"^ +[\d.]+% .* {len(fib)} fib$")
        want = {(str(sum(r["name"] == f for r in calls)), f) for f in {r["name"] for r in calls}}
        until(lambda: set(re.findall(r"^ +[\d.]+% .* (\d+) (\w+)$", t.screen(), re.M)) == want, t.screen)
        t.keys("4")
        t.shows(rf"^Calls +{len(calls)}; events {len(rows) - len(calls)};")
        t.keys("Tab")
        t.shows("^ Timeline")
        assert at
        # too small is said, and is no end
        t.tmux("resize-window", "-x", "60", "-y", "20")
        t.shows("too small")
        t.tmux("resize-window", "-x", "132", "-y", "50")
        t.shows("^ Timeline")


def test_axis_and_names(w):
    """Ticks of the axis differ, however short the range is, and say where it is; a thread's number
    and kind of row are whole, however long its name is."""
    prog = w.compile("with_a_long_name", PROGRAM)
    w.run("record", "-q", "-p", "function_graph", "-e", "sched", "-o", "t.dat", "--", prog)
    tids = set(re.findall(r"with_a_long_nam-(\d+) ", w.run("report", "-i", "t.dat").stdout.decode()))
    assert tids
    with tui(w, "t.dat", size=(100, 60)) as t:
        t.shows(r"^ Timeline: t\.dat, ")
        def rows():
            shown = re.findall(r"^with_a\w*-(\d+)( st| ev|) ", t.screen(), re.M)
            return {tid for tid, _ in shown}, {kind for _, kind in shown}
        until(lambda: rows() == (tids, {" st", " ev", ""}), t.screen)
        t.keys(*["Right"] * 40, *["+"] * 16)
        unit = {"ns": 1, "us": 1000, "ms": 10 ** 6, "s": 10 ** 9}

        def zoomed():
            """(ns that are shown, ns of each tick)."""
            head, axis = t.screen().split("\n")[:2]
            of = re.search(r" ([\d.]+) (\w+) of ", head)
            if not of:
                return 0, []
            return float(of[1]) * unit[of[2]], [float(n) * unit[u] for n, u in re.findall(r"\|([\d.]+) (\w+)", axis)]

        def is_right():
            """False while the picture is drawn: tmux may show its head of after and its axis of
            before a key."""
            length, ticks = zoomed()
            step = length / 82 * 16
            return length < 20000 and len(ticks) == 5 and ticks[0] > 10 * length and ticks == sorted(set(ticks)) and \
                all(abs(b - a - step) < step / 5 for a, b in zip(ticks, ticks[1:]))
        until(is_right, lambda: f"the axis is not of the range: {zoomed()}")


def test_live(w):
    """-P: functions that a process calls now."""
    prog = w.compile("live", LIVE)
    env = dict(w.env, VESTIGE_BOOT="ftrace=function_graph", LD_PRELOAD=LIBRARY)
    with subprocess.Popen([prog], cwd=w.dir, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        for nr in (1, 3):
            p.stdin.write(b"x" * (nr if nr == 1 else 2))
            p.stdin.flush()
            assert len(p.stdout.read(1 if nr == 1 else 2)) > 0
            if nr == 1:
                t = Terminal(w, BIN, "tui", "-P", str(p.pid))
            t.shows(rf"^ +[\d.]+% .* {nr} step$")
        t.keys("q")
        until(t.ended)
        t.tmux("kill-server")
        p.stdin.close()
    w.run("clean")


def test_errors(w):
    assert "no-such.dat" in w.run("tui", "no-such.dat", status=1).stderr.decode()
    prog = w.compile("p", PROGRAM)
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", prog)
    assert "stdin and stdout must be a terminal" in w.run("tui", "t.dat", status=1).stderr.decode()


if __name__ == "__main__":
    main(globals())
