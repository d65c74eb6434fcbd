# SPDX-License-Identifier: MIT
"""Rows of scripts/bench about the viewer: 100 million calls (--quick: 3 million), from the file to
the screen."""
import contextlib
import glob
import http.client
import json
import os
import random
import re
import signal
import shutil
import statistics
import subprocess
import sys
import time
import urllib.parse

import harness
from harness import ROOT, VESTIGE, row, sh

sys.path.insert(0, f"{ROOT}/tests/view")
from web_packages import node_modules   # noqa: E402

PROGRAM = """
#include <stdlib.h>
__attribute__((noipa)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv) { return fib(atoi(argv[1])) == 0; }
"""
COLUMN_BYTES = 24   # of a call: tools/view/columns.h
WIDTH = 1366        # pixels


class Server:
    """`vestige view`, and the requests of its page."""

    def __init__(self, *words):
        self.begun = time.monotonic()
        env = {**os.environ, "XDG_RUNTIME_DIR": harness.folder, "XDG_CACHE_HOME": f"{harness.folder}/cache"}
        self.p = subprocess.Popen([VESTIGE, "view", *words], stdout=subprocess.PIPE, text=True, env=env, cwd=harness.folder)
        line = self.p.stdout.readline()
        self.redirect = re.search(r"file://(\S+\.html)", line)[1]
        with open(self.redirect, encoding="utf-8") as f:
            port, self.token = re.search(r"127\.0\.0\.1:(\d+)/#token=([0-9a-f]+)", f.read()).groups()
        self.http = http.client.HTTPConnection("127.0.0.1", int(port), timeout=600)

    def asked(self, what, **args):
        """The raw answer, not parsed: so only the server's time counts."""
        self.http.request("GET", f"/api/{what}?{urllib.parse.urlencode(args)}", headers={"X-Vestige-Token": self.token})
        answer = self.http.getresponse()
        body = answer.read()
        assert answer.status == 200, (what, args, answer.status, body[:200])
        return body

    def ask(self, what, **args):
        return json.loads(self.asked(what, **args))

    def picture(self, info, begin, end):
        """All rows of a range, as the page requests them; not parsed."""
        rows = ",".join(f"{t}.{r}" for t, track in enumerate(info["tracks"]) for r in range(len(track["rows"])))
        return self.asked("spans", rows=rows, pixel=max(1, int((end - begin) / WIDTH)), **{"from": int(begin), "to": int(end) + 1})

    def first_picture(self):
        """Seconds from the start of the program."""
        info = self.ask("info")
        self.picture(info, 0, info["duration"])
        return time.monotonic() - self.begun

    def whole(self):
        """Wait until the recording is read; seconds from the start of the program."""
        while (info := self.ask("info"))["reading"]:
            time.sleep(0.05)
        return info, time.monotonic() - self.begun

    def memory(self):
        with open(f"/proc/{self.p.pid}/status", encoding="utf-8") as f:
            return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) * 1024

    def cpu(self):
        """The server's CPU time in seconds: a busy machine changes it little."""
        return time.clock_gettime(~self.p.pid << 3 | 2)  # MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED)

    def end(self):
        self.p.send_signal(signal.SIGINT)
        self.p.wait()
        self.p.stdout.close()


def forget(path):
    """Take a file out of the page cache."""
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def await_index():
    """The path of the index, in a list; [] if it does not come."""
    for _ in range(600):
        found = glob.glob(f"{harness.folder}/*.index") + glob.glob(f"{harness.folder}/cache/vestige/*.index")
        if found:
            return found
        time.sleep(0.1)
    return []


def timed(ask):
    begun = time.monotonic()
    ask()
    return time.monotonic() - begun


def zooms(server, info):
    """Seconds of each step from the whole recording to 10 us, at some places: (passed, of the
    server's CPU)."""
    rng = random.Random(1)
    out = []
    for _ in range(5):
        middle, length = rng.random() * info["duration"], info["duration"]
        while length > 10_000:
            begin, used = max(0, middle - length / 2), server.cpu()
            passed = timed(lambda begin=begin, length=length: server.picture(info, begin, begin + length))
            out.append((passed, server.cpu() - used))
            length /= 2
    return out


def page_rows(server):
    """The page in Chromium, which paints without a graphics card."""
    env = {"HOME": harness.folder, "XDG_CONFIG_HOME": harness.folder, "XDG_CACHE_HOME": harness.folder}
    text = sh("node", f"{harness.BENCH}/view_page.mjs", node_modules(), shutil.which("chromium"), server.redirect, env=env, timeout=600).stdout
    for of in json.loads(text):
        frame, size = statistics.median(of["frames"]), f"{of['width']}x{of['height']}"
        row(f"page: a frame, {size}", f"{frame:.1f} ms", "<= 16 ms", frame <= 16, f"{of['nodes']} spans on the screen; the slowest {max(of['frames']):.1f} ms")
        row(f"page: memory of its own, {size}", f"{of['bytes'] / 1e6:.0f} MB", "<= 300 MB", of["bytes"] <= 300e6)


def tree_row():
    """The tree alone, of calls with random lengths and names: the worst for it."""
    tools = [f"{ROOT}/tools/{name}.c" for name in ("view/span_row", "base/fail", "base/spill", "base/spill_array", "base/read_at")]
    program = harness.compiled("span-tree", ["-O2", f"-I{ROOT}"], f"{harness.BENCH}/span_tree.c", *tools)
    words = sh(program, "3" if harness.quick else "100").stdout.split()
    spans, columns, tree, seconds = map(float, words[1::2])
    rate = spans / seconds / 1e6
    row("trees, made from columns", f"{rate:.1f} M spans/s", ">= 20 M/s", rate >= 20,
        f"{spans / 1e6:.0f} M spans: columns {columns / 1e6:.0f} MB, trees {tree / 1e6:.0f} MB, {100 * tree / columns:.1f} %")


def bench_view():
    print("the viewer")
    tree_row()
    source, dat = f"{harness.folder}/view.c", f"{harness.folder}/view.dat"
    with open(source, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    program = harness.compiled("view-calls", harness.PATCHABLE, source)
    sh(VESTIGE, "record", "-q", "-p", "function_graph", "-o", dat, "--", program, "31" if harness.quick else "38", check=False)
    forget(dat)
    with contextlib.ExitStack() as stack:
        server = Server(dat)
        stack.callback(server.end)
        coarse = server.first_picture()
        info, whole = server.whole()
        calls = info["calls"]
        row("first picture without an index", f"{coarse:.2f} s", "<= 2 s", coarse <= 2, f"{calls / 1e6:.0f} M calls, {os.path.getsize(dat) / 1e9:.2f} GB")
        used = server.cpu()
        row("recording read, with its trees", f"{calls / whole / 1e6:.1f} M calls/s", note=f"{whole:.1f} s, of CPU {used:.1f} s; {server.memory() / calls:.0f} bytes a call")
        index = await_index()   # it is written beside the answers
        passed, used = (sorted(of) for of in zip(*zooms(server, info)))
        row("a zoom step, the slowest", f"{passed[-1] * 1000:.0f} ms", "<= 50 ms", passed[-1] <= 0.05,
            f"median {statistics.median(passed) * 1000:.1f} ms; of CPU {used[-1] * 1000:.1f} ms, median {statistics.median(used) * 1000:.1f} ms")
        for what, question, bar in (("SQL: sums by function", "SELECT name, calls, total, self FROM functions", 2),
                                    ("SQL: count(*), sum(duration) of slices", "SELECT count(*), sum(duration) FROM slices", None)):
            used = server.cpu()
            took = timed(lambda question=question: server.ask("sql", text=question))
            row(what, f"{took:.2f} s", f"<= {bar} s" if bar else "", took <= bar if bar else None, f"of CPU {server.cpu() - used:.2f} s")
        page_rows(server)
    if not index:
        row("index", "not written", note="of a recording of over a million calls")
        return
    share = os.path.getsize(index[0]) / (calls * COLUMN_BYTES)
    row("index / columns", f"{100 * share:.1f} %", "<= 8 %", share <= 0.08, f"{os.path.getsize(index[0]) / 1e6:.0f} MB")
    forget(dat)
    forget(index[0])
    server = Server(dat)
    first, used = server.first_picture(), server.cpu()
    server.end()
    row("first picture with an index", f"{first:.2f} s", "<= 1 s", first <= 1, f"both files out of the page cache; of CPU {used:.2f} s")
