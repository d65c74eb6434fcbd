#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige view`: the page in a file, and the server, whose answers are compared with convert's
rows."""
import base64
import collections
import contextlib
import hashlib
import http.client
import json
import os
import random
import re
import signal
import socket
import stat
import subprocess
import time
import urllib.parse

from cli_test import BIN, LIBRARY, main, root, until

PROGRAM = r"""
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <unistd.h>
#define FN __attribute__((noipa))
volatile long sum;
static jmp_buf back;
FN int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
FN void jump(int n) { if (!n) longjmp(back, 1); jump(n - 1); sum++; }
FN void work(int n) { sum += fib(n); if (!setjmp(back)) jump(2); }
FN void *thread(void *a) { for (int i = 0; i < 20; i++) { sum += fib(4 + i % 6); usleep(100); } return a; }
int main(void)
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
	for (int i = 0; i < 10; i++) work(i);
}
"""
MANY = r"""
__attribute__((noipa)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { return fib(30) == 0; }
"""


def read(w, name):
    with open(w.path(name), encoding="utf-8") as f:
        return f.read()


def recorded(w, *flags):
    prog = w.compile("p", PROGRAM)
    w.run("record", "-q", "-p", "function_graph", *flags, "-o", "t.dat", "--", prog)
    rows = w.rows("t.dat")
    assert rows
    return rows


class Client:
    """A browser's requests."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.port, self.token = re.search(r"url=http://127.0.0.1:(\d+)/#token=([0-9a-f]{32})\"", f.read()).groups()

    def request(self, path, method="GET", body=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=60)
        with contextlib.closing(c):
            c.request(method, path, body, headers={k.replace("_", "-"): v for k, v in headers.items()})
            answer = c.getresponse()
            return answer.status, answer.read(), answer

    def ask(self, what, **args):
        status, body, _ = self.request(f"/api/{what}?{urllib.parse.urlencode(args)}", X_Vestige_Token=self.token)
        assert status == 200, (what, args, status, body)
        return json.loads(body)


@contextlib.contextmanager
def server(w, *words):
    """A server that ends with Ctrl-C, and removes its file."""
    p = subprocess.Popen([BIN, "view", *words], cwd=w.dir, env=w.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = p.stdout.readline()
        path = re.fullmatch(r"Open file://(/.*/view-\d+\.html) in a browser\.\n", line)
        assert path, (line, p.stderr.read() if not line else "")
        client = Client(path[1])
        client.path, client.pid = path[1], p.pid
        yield client
        begun = time.monotonic()
        p.send_signal(signal.SIGINT)
        status, err = p.wait(60), p.stderr.read()
        assert status == 0 and not err, f"exit status {status} {time.monotonic() - begun:.1f} s after SIGINT: {err[-2000:]}"
        assert not os.path.exists(path[1])
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()
        p.stdout.close()
        p.stderr.close()


def calls_of(client, info, pixel=0):
    """All spans of the calls, as (name, thread, start)."""
    out = collections.Counter()
    rows = [(t, r) for t, track in enumerate(info["tracks"]) if track["kind"] == "calls" for r in range(len(track["rows"]))]
    answer = client.ask("spans", **{"from": 0, "to": info["duration"] + 1}, pixel=pixel, rows=",".join(f"{t}.{r}" for t, r in rows))
    assert len(answer) == len(rows)
    for (t, _), blocks in zip(rows, answer):
        for i in range(0, len(blocks), 7):
            out[info["names"][blocks[i + 2]], info["tracks"][t]["id"], blocks[i] + int(info["first"]), blocks[i + 1]] += blocks[i + 3]
    return out


def test_answers(w):
    """The server's spans, list, search, functions and flame graph are what the rows of `convert
    --to csv` say."""
    rows = recorded(w, "-e", "sched")
    calls = [r for r in rows if r["kind"] == "call"]
    events = [r for r in rows if r["kind"] != "call"]
    with server(w, "t.dat") as c:
        info = c.ask("info")
        assert info["calls"] == len(calls) and info["events"] == len(events) and info["list"] == len(rows)
        expected = collections.Counter((r["name"], int(r["tid"]), int(r["time"]), int(r["duration"])) for r in calls)
        assert calls_of(c, info) == expected
        # of what is drawn together no call gets lost, and the longest one gives the name
        drawn = calls_of(c, info, pixel=info["duration"] // 100)
        assert sum(drawn.values()) == len(calls) > len(drawn)
        longest = max(calls, key=lambda r: int(r["duration"]) if r["name"] == "fib" else -1)
        assert any(k[0] == "fib" and k[2] <= int(longest["time"]) < k[2] + k[3] for k in drawn)
        check_list(c, info, rows)
        check_functions(c, info, calls)
        check_times(c, info, calls)
        check_states(c, info)


def check_list(c, info, rows):
    times = sorted(int(r["time"]) for r in rows)
    entries = []
    while len(entries) < len(rows):
        part = c.ask("list", at=len(entries), nr=997)
        assert part
        entries += part
    assert [e[0] + int(info["first"]) for e in entries] == times
    seen = collections.Counter((info["names"][e[2]], e[0] + int(info["first"])) for e in entries)
    assert seen == collections.Counter((r["name"], int(r["time"])) for r in rows)
    assert all(re.fullmatch(r"[.dbXDBnNpZhHsz1-9a-f]{5}", e[7]) for e in entries if len(e) > 7)
    assert all(0 <= e[6] < os.cpu_count() for e in entries)
    assert c.ask("list", at=len(rows), nr=5) == [] and c.ask("list", at=2 ** 63, nr=5) == []
    rng = random.Random(1)
    for _ in range(20):
        ts = rng.randrange(info["duration"])
        assert c.ask("number", **{"from": ts}) == sum(t < ts + int(info["first"]) for t in times)
        at = rng.randrange(len(rows))
        assert c.ask("list", at=at, nr=3) == entries[at:at + 3]
    check_find(c, info, entries)


def field(text, name):
    found = re.search(rf"(?<!\w){name}[=:] *([^ ,]*)", text)
    return found and found[1]


# steps as the page sends them (tools/view/match.h), and the same of an entry of the list
CONDITIONS = [
    ("event has JUM", lambda e: "jum" in e["event"]),
    ("event eq fib", lambda e: e["event"] == "fib"),
    ("event glob sched:*\nevent eq fib\nor", lambda e: e["event"].startswith("sched:") or e["event"] == "fib"),
    ("info has prev_pid", lambda e: e["is_event"] and "prev_pid" in e["info"]),
    ("info lacks prev_pid", lambda e: e["is_event"] and "prev_pid" not in e["info"]),
    (".prev_pid gt 1", lambda e: e["is_event"] and int(field(e["info"], "prev_pid") or 0) > 1),
    (".prev_pid gt 1\nnot", lambda e: e["is_event"] and 0 <= int(field(e["info"], "prev_pid") or -1) <= 1),
    (".prev_comm eq p\n.next_comm ne p\nand", lambda e: e["is_event"] and field(e["info"], "prev_comm") == "p" and field(e["info"], "next_comm") != "p"),
    ("length ge 1000", lambda e: not e["is_event"] and e["length"] >= 1000),
    ("length lt 1000\nnot\ndepth eq 1\nand", lambda e: not e["is_event"] and e["length"] >= 1000 and e["depth"] == 1),
    ("task eq p\ncpu eq 0\nand", lambda e: e["task"] == "p" and e["cpu"] == 0),
    ("time lt 5000000", lambda e: e["time"] < 5000000),
    ("", lambda e: True),
]


def check_find(c, info, entries):
    """Conditions find, and filters leave, what they say of each entry of the list."""
    things = []
    for e in entries:
        track = info["tracks"][e[3]]
        things.append({"event": info["names"][e[2]], "is_event": len(e) > 7, "info": e[8] if len(e) > 7 else "", "task": track["name"],
                       "pid": track["id"], "cpu": e[6], "length": e[1], "depth": e[4], "time": e[0]})
    conditions = CONDITIONS + [(f"pid eq {things[0]['pid']}", lambda e: e["pid"] == things[0]["pid"])]
    whole = {"from": 0, "to": info["duration"] + 1}
    for steps, met in conditions:
        match = [i for i, e in enumerate(things) if met(e)]
        assert match or "prev_pid gt 1\nnot" in steps or "cpu" in steps or "comm" in steps, steps
        for a, b in ((0, len(entries)), (len(entries) // 3, len(entries) // 2), (5, 5)):
            part = [i for i in match if a <= i < b]
            assert c.ask("find", text=steps, **{"from": a, "to": b}) == [len(part), *((part[0], part[-1]) if part else (-1, -1))], steps
        left = c.ask("list", at=0, nr=len(entries), filter=steps)
        assert [(e[0], e[2], e[3]) for e in left] == [(entries[i][0], entries[i][2], entries[i][3]) for i in match], steps
        assert c.ask("number", filter=steps, **{"from": 2 ** 53}) == len(match)
        calls = sum(not things[i]["is_event"] for i in match)
        rows = [f"{t}.{r}" for t, track in enumerate(info["tracks"]) if track["kind"] == "calls" for r in range(len(track["rows"]))]
        drawn = c.ask("spans", filter=steps, rows=",".join(rows), pixel=info["duration"] // 50, **whole)
        assert sum(b for blocks in drawn for b in blocks[3::7]) == calls
    # more filters than are kept, again
    assert c.ask("number", filter=conditions[0][0], **{"from": 2 ** 53}) == sum(map(conditions[0][1], things))
    for bad in ("and", "event has x\nor", "event", "event has", "event like x", "nosuch eq 1", ". eq 1", "event eq a\nevent eq b", "not",
                "event has x\n" * 65, "event eq x\n" * 1000):
        for what, args in (("find", {"text": bad}), ("list", {"filter": bad, "nr": 1})):
            status, _, _ = c.request(f"/api/{what}?{urllib.parse.urlencode(args)}", X_Vestige_Token=c.token)
            assert status == 400, (what, bad)


def check_functions(c, info, calls):
    table = {info["names"][r[0]]: r[1:] for r in c.ask("table", **{"from": 0, "to": info["duration"] + 1})}
    assert set(table) == {r["name"] for r in calls}
    for name, (nr, total, own, least, most) in table.items():
        mine = [r for r in calls if r["name"] == name]
        assert nr == len(mine)
        assert least == min(int(r["duration"]) for r in mine) and most == max(int(r["duration"]) for r in mine)
        assert own == sum(int(r["self"]) for r in mine), name
        if name == "work":
            assert total == sum(int(r["duration"]) for r in mine)
    fib = [r for r in calls if r["name"] == "fib"]
    outermost = {}
    for r in sorted(fib, key=lambda r: (r["tid"], int(r["time"]), int(r["depth"]))):
        start, end = int(r["time"]), int(r["time"]) + int(r["duration"])
        done = outermost.setdefault(r["tid"], [0, 0])
        if start >= done[1]:
            outermost[r["tid"]] = [done[0] + end - start, end]
    assert table["fib"][1] == sum(total for total, _ in outermost.values())
    flame = c.ask("flame", **{"from": 0, "to": info["duration"] + 1})
    by_name = collections.Counter()
    for _, name, nr, _, own in flame:
        by_name[info["names"][name], "nr"] += nr
        by_name[info["names"][name], "self"] += own
    assert all(by_name[n, "nr"] == t[0] and by_name[n, "self"] == t[2] for n, t in table.items())
    off = c.ask("flame", off=1, **{"from": 0, "to": info["duration"] + 1})
    assert [r[:3] for r in off] and sum(r[3] for r in off) <= sum(r[3] for r in flame)
    check_off_cpu(c, info, off)
    paths = {info["names"][name]: info["names"][flame[up - 1][1]] if up else None for up, name, *_ in flame}
    assert paths["work"] == "main" and paths["main"] is None and paths["jump"] in ("work", "jump")
    # a range: what lies in it
    a, b = info["duration"] // 3, info["duration"] // 2
    part = {info["names"][r[0]]: r[3] for r in c.ask("table", **{"from": a, "to": b})}
    rest = collections.Counter()
    for start, end in ((0, a), (b, info["duration"] + 1)):
        rest.update({info["names"][r[0]]: r[3] for r in c.ask("table", **{"from": start, "to": end})})
    assert all(part.get(n, 0) + rest[n] == t[2] for n, t in table.items())


def check_off_cpu(c, info, off):
    """What the outermost calls were off the CPU is what their threads' states say."""
    whole = {"from": 0, "to": info["duration"] + 1, "pixel": 0}
    expected = 0
    for t, track in enumerate(info["tracks"]):
        states = [s for s, other in enumerate(info["tracks"]) if other["kind"] == "states" and other["id"] == track["id"]]
        if track["kind"] != "calls" or not states:
            continue
        calls, blocks = c.ask("spans", rows=f"{t}.0,{states[0]}.0", **whole)
        for start, length in zip(calls[0::7], calls[1::7]):
            for at, long, name in zip(blocks[0::7], blocks[1::7], blocks[2::7]):
                if info["names"][name] != "running":
                    expected += max(0, min(at + long, start + length) - max(at, start))
    assert sum(r[3] for r in off if r[0] == 0) == expected > 0


def check_times(c, info, calls):
    """All calls of a function: percentiles by nearest rank, powers of two, the longest ones."""
    for number, name in enumerate(info["names"]):
        mine = sorted((int(r["duration"]) for r in calls if r["name"] == name), reverse=True)
        times = c.ask("function", nr=number)
        assert times["calls"] == len(mine) and times["total"] == sum(mine)
        assert [n[1] for n in times["longest"]] == mine[:10]
        for p in (50, 90, 99):
            assert times[f"p{p}"] == (sorted(mine)[-(-len(mine) * p // 100) - 1] if mine else 0), (name, p)
        assert {i: n for i, n in enumerate(times["buckets"]) if n} == collections.Counter(max(d, 1).bit_length() - 1 for d in mine)
    assert c.ask("sql", text="SELECT count(*) AS n FROM slices") == {"names": ["n"], "rows": [[str(len(calls))]], "cut": False}
    assert c.ask("sql", text="SELECT name FROM slices LIMIT 1001")["cut"] == (len(calls) > 1000)
    assert "only SELECT" in c.ask("sql", text="PRAGMA x")["error"] and "error" in c.ask("sql") and "error" in c.ask("sql", text="SELECT 1; SELECT 2")


def check_states(c, info):
    """A thread is in one state at a time, and where it runs its CPU runs it."""
    kinds = collections.Counter(t["kind"] for t in info["tracks"])
    assert kinds["states"] >= 3 and kinds["cpu"] >= 1 and kinds["calls"] == 3 and kinds["events"] >= 3, kinds
    whole = {"from": 0, "to": info["duration"] + 1, "pixel": 0}
    for t, track in enumerate(info["tracks"]):
        if track["kind"] not in ("states", "cpu"):
            continue
        (blocks,) = c.ask("spans", rows=f"{t}.0", **whole)
        assert blocks
        names = {info["names"][n] for n in blocks[2::7]}
        assert track["kind"] == "cpu" or names <= {"running", "woken", "preempted", "blocked"}, names
        ends = [s + n for s, n in zip(blocks[0::7], blocks[1::7])]
        assert all(end <= start for end, start in zip(ends, blocks[7::7]))
        if track["kind"] == "cpu":
            check_cpu(c, info, track["id"], list(zip(blocks[0::7], ends, blocks[6::7])))


def check_cpu(c, info, cpu, runs):
    """A thread's events on a CPU lie in times when that ran it; it is not there from when it left
    until it comes."""
    tracks = [t for t, track in enumerate(info["tracks"]) if track["kind"] == "cpu-events" and track["id"] == cpu]
    assert len(tracks) == 1
    events = [e for e in c.ask("list", at=0, nr=1000) if len(e) > 7 and e[6] == cpu]
    left = [(e[0], int(m[1])) for e in events for m in [re.search(r"prev_pid=(\d+) .*==> .*next_pid=0 ", e[8])] if m]
    threads = {tid for _, _, tid in runs}
    for ts, tid in left:
        assert not any(start <= ts < end and who == tid for start, end, who in runs), (ts, tid)
    for e in events:
        tid = info["tracks"][e[3]]["id"]
        if tid in threads and "stat_runtime" in info["names"][e[2]] and f"pid={tid} " in e[8]:
            assert any(start <= e[0] <= end and who == tid for start, end, who in runs), e


def test_page_in_a_file(w):
    """One file: the data as it is in the recording, one script that the policy names, nothing from
    outside."""
    rows = recorded(w)
    w.run("view", "--html", "t.html", "t.dat")
    w.run("view", "--html", "t.html", "t.dat")
    # a recording is not taken for the page's name
    before = os.path.getsize(w.path("t.dat"))
    assert b"is no page" in w.run("view", "--html", "t.dat", "t.dat", status=None).stderr and os.path.getsize(w.path("t.dat")) == before
    page = read(w, "t.html")
    data, script = re.fullmatch(r'.*<script type="application/json" id="recording">(.*?)</script>\n<script>(.*?)</script>\n</body>\n</html>\n',
                                page, re.S).groups()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
    style = re.search(r"<style>(.*?)</style>", page, re.S)[1]
    assert f"style-src 'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'" in policy
    head = page[:page.index("<style>")] + page[page.index("</style>"):page.index('<script type=')]
    assert not re.search(r"https?:|\bsrc=|\bhref=", head) and "http" not in style
    recording = json.loads(data)
    info = recording["info"]
    calls = collections.Counter()
    for track, columns in zip(info["tracks"], recording["rows"]):
        for starts, lengths, names, *_ in columns or ():
            at = int(info["first"])
            for start, length, name in zip(starts, lengths, names):
                at += start
                if track["kind"] == "calls":
                    calls[info["names"][name], track["id"], at, length] += 1
    assert calls == collections.Counter((r["name"], int(r["tid"]), int(r["time"]), int(r["duration"])) for r in rows if r["kind"] == "call")
    assert info["leftOut"] == info["leftEvents"] == 0


def test_source_lines(w):
    prog = w.compile("p", PROGRAM, "-g")
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", prog)
    w.run("view", "--html", "t.html", "--srcline", "t.dat")
    info = json.loads(re.search(r'id="recording">(.*?)</script>', read(w, "t.html"), re.S)[1])["info"]
    line = 1 + PROGRAM[:PROGRAM.index("FN int fib")].count("\n")
    assert info["places"][info["names"].index("fib")] .endswith(f"/p.c:{line}"), info["places"]


def test_hostile_names(w):
    """A name or a text that ends elements does not end them."""
    bad = "</script><script>alert(1)</script><!--"
    with open(w.path("bad.json"), "w", encoding="utf-8") as f:
        json.dump([{"ph": "X", "name": bad, "pid": 1, "tid": 2, "ts": 1, "dur": 5},
                                    {"ph": "i", "name": bad, "pid": 1, "tid": 2, "ts": 2, "args": {"x": bad}}], f)
    w.run("view", "--html", "bad.html", "bad.json")
    page = read(w, "bad.html")
    assert page.count("</script>") == 2 and "<!--" not in page.replace("<!-- SPDX", "") and "alert(1)" in page
    data = re.search(r'id="recording">(.*?)</script>', page, re.S)[1]
    assert bad in json.loads(data)["info"]["names"]


def test_page_is_small(w):
    """Over 20 MB the shortest calls are left out, and it is said how many."""
    prog = w.compile("many", MANY)
    w.run("record", "-q", "-p", "function_graph", "-b", "200000", "-o", "many.dat", "--", prog)
    err = w.run("view", "--html", "many.html", "many.dat").stderr.decode()
    size = os.path.getsize(w.path("many.html"))
    assert 5 << 20 < size <= 20 << 20, size
    nr, shortest = map(int, re.search(r"vestige: (\d+) calls shorter than (\d+) ns are left out", err).groups())
    data = json.loads(re.search(r'id="recording">(.*?)</script>', read(w, "many.html"), re.S)[1])
    assert data["info"]["leftOut"] == nr and data["info"]["shortest"] == shortest
    kept = [n for track in data["rows"] for row in track or () for n in row[1]]
    assert min(kept) >= shortest and len(kept) == data["info"]["calls"]
    assert len(kept) + nr == 2692537 + 1  # calls of fib(30), and main


def test_refusals(w):
    """Only the page that has the token gets data; no other site's page gets anything."""
    recorded(w)
    with server(w, "t.dat") as c:
        for path in ("/", "/view.js", "/view.css"):
            status, body, answer = c.request(path)
            assert status == 200 and body and c.token.encode() not in body
            for name, value in (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                                ("Cross-Origin-Resource-Policy", "same-origin")):
                assert answer.getheader(name) == value
            policy = answer.getheader("Content-Security-Policy")
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
            assert not answer.getheader("Access-Control-Allow-Origin")
        assert b"<script defer src=" in c.request("/")[1]
        good = {"X_Vestige_Token": c.token}
        assert c.request("/api/info", **good)[0] == 200
        for host in ("localhost", "localhost:1", "[::1]:80", "127.0.0.1"):
            assert c.request("/api/info", Host=host, **good)[0] == 200
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil", "127.0.0.1:80a", "127.0.0.1@evil", ""):
            assert c.request("/api/info", Host=host, **good)[0] == 403, host
            assert c.request("/", Host=host)[0] == 403
        for origin in ("http://evil.example", "null", f"https://127.0.0.1:{c.port}", f"http://127.0.0.1:{int(c.port) ^ 1}"):
            assert c.request("/api/info", Origin=origin, **good)[0] == 403, origin
        assert c.request("/api/info", Origin=f"http://127.0.0.1:{c.port}", **good)[0] == 200
        for token in (None, "", c.token[:-1], c.token[:-1] + ("1" if c.token[-1] == "0" else "0"), c.token + "0", c.token.upper() + " "):
            assert c.request("/api/info", **({} if token is None else {"X_Vestige_Token": token}))[0] == 403 or token == c.token.upper() + " "
        assert c.request(f"/api/info?token={c.token}")[0] == 403
        assert c.request("/api/info", method="POST", **good)[0] == 405
        assert c.request("/api/nosuch", **good)[0] == 404 and c.request("/../etc/passwd")[0] == 404
        for query in ("spans?rows=0", "spans?rows=0.0,", "spans?rows=a.b", "spans?rows=-1.0", "spans?from=-1", "spans?pixel=1e3",
                      "list?at=99999999999999999999", "table?tracks=1,,2", "spans?rows=" + ",".join(["0.0"] * 5000)):
            assert c.request(f"/api/{query}", **good)[0] == 400, query
        # what is not there is empty
        assert c.ask("spans", rows="4000000000.0,0.4000000000", to=2 ** 64 - 1) == [[], []]
        assert c.ask("table", tracks="4000000000") == [] and c.ask("spans", **{"from": 2 ** 64 - 1, "rows": "0.0"}) == [[]]
        check_place(c)


def test_another_user(w):
    """Another user's process cannot read the token, and gets nothing without it."""
    root()
    recorded(w)
    script = ("import http.client, sys\n"
              "try: open(sys.argv[1]); sys.exit('it was read')\n"
              "except PermissionError: pass\n"
              "c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[2]), timeout=60)\n"
              "c.request('GET', '/api/info')\n"
              "print(c.getresponse().status)\n")
    with server(w, "t.dat") as c:
        p = subprocess.run(["python3", "-c", script, c.path, str(c.port)], cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           user=65534, group=65534, extra_groups=[], check=False)
        assert p.stdout == "403\n", (p.stdout, p.stderr)
        # nor is the token in what others see of the server's process
        for name in ("cmdline", "stat", "status"):
            assert c.token not in read(w, f"/proc/{c.pid}/{name}")


def test_folder_of_the_file(w):
    """Where the mount's folder cannot be used, the file is in the cache's."""
    root()
    recorded(w)
    os.chmod(w.dir, 0o755)
    os.chmod(w.path("t.dat"), 0o644)
    home = w.path("home")
    os.mkdir(home)
    os.chown(home, 65534, 65534)
    # as after su or in cron: no XDG_RUNTIME_DIR, and /run is root's
    env = {"PATH": os.environ["PATH"], "HOME": home}
    with subprocess.Popen([BIN, "view", "t.dat", "--no-index"], cwd=w.dir, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          user=65534, group=65534, extra_groups=[]) as p:
        try:
            line = p.stdout.readline()
            assert f"{home}/.cache/vestige/view-{p.pid}.html" in line, (line, p.stderr.read() if not line else "")
            p.send_signal(signal.SIGINT)
            assert p.wait(60) == 0 and not os.listdir(f"{home}/.cache/vestige")
        finally:
            p.kill()


def test_forged_source(w):
    """Debug information that names a file outside of the folder, from its root or upwards, gets
    nothing."""
    secret = w.path("secret.txt")
    with open(secret, "w", encoding="utf-8") as f:
        f.write("secret\n" * 9)
    os.mkdir(w.path("src"))
    for named in (secret, "../secret.txt", "/proc/self/environ"):
        prog = w.compile("p", PROGRAM.replace("FN int fib", f'#line 3 "{named}"\nFN int fib'), "-g")
        w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", prog)
        with server(w, "--source", "src", "t.dat") as c:
            answer = c.ask("source", nr=c.ask("info")["names"].index("fib"))
            assert list(answer) == ["error"] and "is not below the folder" in answer["error"] and named.lstrip("./") in answer["error"], answer


def test_session_file(w):
    """--session FILE is what the page gets and writes, and there is no other way to write."""
    recorded(w)
    with server(w, "--session", "s.json", "t.dat") as c:
        good = {"X_Vestige_Token": c.token}
        assert c.ask("info")["session"] and c.request("/api/session", **good)[:2] == (200, b"")
        assert c.request("/api/session", method="POST", body=b"{}")[0] == 403
        assert c.request("/api/session", method="POST", body=b"{}", Origin="http://evil.example", **good)[0] == 403
        assert not os.path.exists(w.path("s.json"))
        text = b'{"vestige": "view session"}' + b" " * 300000
        assert c.request("/api/session", method="POST", body=text, **good)[0] == 200
        assert c.request("/api/session", **good)[1] == text
        assert c.request("/api/session", method="POST", body=b" " * (2 << 20), **good)[0] == 413
    with open(w.path("s.json"), "rb") as f:
        assert f.read() == text
    os.mkdir(w.path("folder"))
    os.mkfifo(w.path("pipe"))
    with open(w.path("large"), "wb") as f:
        f.truncate((1 << 20) + 1)
    for name, why in (("folder", "'folder' is a folder"), ("pipe", "'pipe' is a device or a pipe"), ("/dev/zero", "is a device"),
                      ("none/s.json", "cannot create 'none/s.json'"), ("large", "'large' has more than 1 MB")):
        p = w.run("view", "--session", name, "t.dat", status=1)
        assert p.stdout == b"" and why in p.stderr.decode(), (name, p.stderr)
    assert not [n for n in os.listdir(w.dir) if ".tmp-" in n]
    # the folder goes away later: the error gives the reason
    os.mkdir(w.path("gone"))
    with server(w, "--session", "gone/s.json", "t.dat") as c:
        os.rmdir(w.path("gone"))
        status, body, _ = c.request("/api/session", method="POST", body=b"{}", X_Vestige_Token=c.token)
        assert status == 500 and b"No such file or directory" in body, body
    with server(w, "t.dat") as c:
        assert not c.ask("info")["session"]
        assert c.request("/api/session", method="POST", body=b"{}", X_Vestige_Token=c.token)[0] == 404


def test_source(w):
    """The source of a function: a file below the folder that was named, and no other."""
    os.mkdir(w.path("src"))
    with open(w.path("src/p.c"), "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    subprocess.run(["cc", "-g", "-O1", "-fpatchable-function-entry=6", "src/p.c", "-o", "p", "-lpthread"], cwd=w.dir, check=True)
    w.run("record", "-q", "-p", "function_graph", "-o", "t.dat", "--", w.path("p"))
    line = 1 + PROGRAM[:PROGRAM.index("FN int fib")].count("\n")
    os.mkdir(w.path("none"))
    for flags, works in (([], True), (["--source", "src"], True), (["--source", "/"], True), (["--source", "none"], False), (["--source", "out"], False)):
        os.makedirs(w.path("out"), exist_ok=True)
        with server(w, *flags, "t.dat") as c:
            info = c.ask("info")
            answer = c.ask("source", nr=info["names"].index("fib"))
            if works:
                assert answer["path"] == w.path("src/p.c") and answer["line"] == line and answer["lines"][line - 1].startswith("FN int fib"), answer
            else:
                assert "is not below the folder" in answer["error"], answer
            assert "error" in c.ask("source", nr=2 ** 40)
    # a link that leads out of the folder
    os.rename(w.path("src/p.c"), w.path("out/p.c"))
    os.symlink("../out/p.c", w.path("src/p.c"))
    with server(w, "--source", "src", "t.dat") as c:
        assert "is not below the folder" in c.ask("source", nr=c.ask("info")["names"].index("fib"))["error"]


def test_several_files(w):
    """Several recordings on one timeline: all of each, moved by what was asked for."""
    rows = {}
    for name in ("a", "b"):
        rows[name] = recorded(w, "-e", "sched")
        os.rename(w.path("t.dat"), w.path(f"{name}.dat"))
    first = {name: min(int(r["time"]) for r in rows[name]) for name in rows}
    for flags, move in ((["--ts-offset", "0,-1.5ms"], {"a": 0, "b": -1500000}), (["--align"], {"a": 0, "b": first["a"] - first["b"]}),
                        (["--align", "--ts-offset", "1us,20"], {"a": 1000, "b": first["a"] - first["b"] + 20})):
        with server(w, *flags, "a.dat", "b.dat") as c:
            info = c.ask("info")
            assert info["files"] == ["a.dat", "b.dat"] and info["offsets"] == [move["a"], move["b"]]
            for file, name in enumerate(rows):
                expected = collections.Counter((r["name"], int(r["tid"]), int(r["time"]) + move[name], int(r["duration"])) for r in rows[name] if r["kind"] == "call")
                only = {**info, "tracks": [{**t, "kind": t["kind"] if t["file"] == file else ""} for t in info["tracks"]]}
                assert calls_of(c, only) == expected
            entries = c.ask("list", at=0, nr=100000)
            assert collections.Counter((e[0] + int(info["first"]), info["names"][e[2]], info["tracks"][e[3]]["id"]) for e in entries) == collections.Counter(
                (int(r["time"]) + move[name], r["name"], int(r["tid"])) for name in rows for r in rows[name])
            assert [e[0] for e in entries] == sorted(e[0] for e in entries)
            # events of a CPU are of its file's CPU
            for t, track in enumerate(info["tracks"]):
                if track["kind"] == "cpu-events":
                    (blocks,) = c.ask("spans", rows=f"{t}.0", to=info["duration"] + 1)
                    mine = [e[0] for e in entries if len(e) > 7 and e[6] == track["id"] and info["tracks"][e[3]]["file"] == track["file"]]
                    assert blocks[0::7] == mine
    w.run("view", "--html", "both.html", "--align", "a.dat", "b.dat")
    assert json.loads(re.search(r'id="recording">(.*?)</script>', read(w, "both.html"), re.S)[1])["info"]["files"] == ["a.dat", "b.dat"]
    for bad in ("1,2,3", "x", "1,,2", "1;2", "1e30", "nan"):
        assert "--ts-offset" in w.run("view", "--html", "x.html", "--ts-offset", bad, "a.dat", "b.dat", status=1).stderr.decode(), bad
    assert "at most 16 files" in w.run("view", *["a.dat"] * 17, status=2).stderr.decode()


LIVE = """
#include <stdio.h>
__attribute__((noipa)) void step(int n) { putchar(n); }
int main(void) { for (int c; (c = getchar()) != EOF; ) { step(c); fflush(stdout); } }
"""


def test_live(w):
    """-P: what a process has in its ring, and what it adds."""
    prog = w.compile("live", LIVE)
    env = dict(w.env, VESTIGE_BOOT="ftrace=function_graph", LD_PRELOAD=LIBRARY)
    with subprocess.Popen([prog], cwd=w.dir, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        def step():
            p.stdin.write(b"x")
            p.stdin.flush()
            assert p.stdout.read(1) == b"x"
        step()
        with server(w, "-P", str(p.pid)) as c:
            assert c.ask("info")["live"]
            for nr in (1, 2, 5):
                while True:
                    info = c.ask("info")
                    name = info["names"].index("step") if "step" in info["names"] else -1
                    got = c.ask("function", nr=name)["calls"] if name >= 0 else 0
                    assert got <= nr
                    if got == nr:
                        break
                before = c.ask("generation")
                for _ in range({1: 1, 2: 3, 5: 0}[nr]):
                    step()
                if nr == 1:
                    while c.ask("generation") == before:
                        pass
        p.stdin.close()
    assert p.returncode == 0, p.returncode
    w.run("clean")
    # one that ends before it has a record is not waited for
    with subprocess.Popen([prog], cwd=w.dir, env=dict(env, VESTIGE_BOOT="trace_buf_size=64k"), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p, \
            subprocess.Popen([BIN, "view", "-P", str(p.pid)], cwd=w.dir, env=w.env, stderr=subprocess.PIPE, text=True) as v:
        try:
            line = v.stderr.readline()
            assert "has no records yet" in line, line
            p.kill()
            p.wait()
            assert v.wait(60) == 1 and "nothing to be shown" in v.stderr.read()
        finally:
            v.kill()
            p.kill()
    w.run("clean")
    err = w.run("view", "-P", "4194303", status=1).stderr.decode()
    assert "4194303" in err, err
    assert "--html is of files" in w.run("view", "--html", "x.html", "-P", "1", status=2).stderr.decode()
    assert "not both" in w.run("view", "-P", "1", "t.dat", status=2).stderr.decode()


def check_place(c):
    """It listens on 127.0.0.1 alone; the token is in one file of this user's."""
    assert stat.S_IMODE(os.stat(c.path).st_mode) == 0o600
    with open(f"/proc/{c.pid}/cmdline", encoding="utf-8") as f:
        assert c.token not in f.read()
    listening = []
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{c.pid}/net/{name}", encoding="utf-8") as f:
            listening += [line.split()[1] for line in f.readlines()[1:] if line.split()[3] == "0A"]
    assert f"0100007F:{int(c.port):04X}" in listening
    assert sum(place.endswith(f":{int(c.port):04X}") for place in listening) == 1


def test_torn_requests(w):
    """Half a request, rubbish, or a very long one: the server goes on."""
    recorded(w)
    with server(w, "t.dat") as c:
        rng = random.Random(2)
        for i in range(60):
            with contextlib.closing(socket.create_connection(("127.0.0.1", int(c.port)))) as s, contextlib.suppress(OSError):
                request = f"GET /api/spans?rows=0.0 HTTP/1.1\r\nHost: localhost\r\nX-Vestige-Token: {c.token}\r\n\r\n".encode()
                if i % 3 == 0:
                    request = request[:rng.randrange(len(request))]
                elif i % 3 == 1:
                    request = bytes(rng.randrange(256) for _ in range(200))
                else:
                    request = request[:-2] + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n"
                s.sendall(request)
        assert c.ask("info")["calls"]


def connections(pid):
    """The sockets of a process, the one that listens among them."""
    return sum(os.path.lexists(f"/proc/{pid}/fd/{fd}") and os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")
               for fd in os.listdir(f"/proc/{pid}/fd"))


def read_state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rsplit(") ", 1)[1][0]


def cpu_of(pid):
    """The CPU time of a process, seconds."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return sum(map(int, f.read().rsplit(") ", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def test_many_connections(w):
    """Half requests of clients that went away are forgotten; with all connections taken SIGINT ends
    the server at once."""
    recorded(w)
    half = b"GET /api/info HTTP/1.1\r\nHost: loc"
    with server(w, "t.dat") as c, contextlib.ExitStack() as stay:
        for _ in range(60):
            with contextlib.closing(socket.create_connection(("127.0.0.1", int(c.port)))) as s:
                s.sendall(half)
        until(lambda: connections(c.pid) == 1)
        assert c.ask("info")["calls"]
        for _ in range(300):
            s = stay.enter_context(contextlib.closing(socket.create_connection(("127.0.0.1", int(c.port)))))
            s.sendall(half)
        until(lambda: connections(c.pid) > 200)
        os.kill(c.pid, signal.SIGINT)
        until(lambda: not os.path.exists(c.path), seconds=120)
        # a second signal may end it at once, by then
        until(lambda: read_state(c.pid) == "Z", seconds=120)


def test_a_query_is_ended(w):
    """SIGINT ends the server while a query runs. The files of servers that were killed are removed
    by the next one."""
    recorded(w)
    query = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
    with server(w, "t.dat") as c:
        ended = subprocess.Popen(["true"])
        ended.wait()
        folder = os.path.dirname(c.path)
        stale, kept = f"{folder}/view-{ended.pid}.html", f"{folder}/view-{os.getpid()}.html"
        for path in stale, kept:
            with open(path, "x", encoding="utf-8"):
                pass
        with server(w, "t.dat"):
            assert not os.path.exists(stale) and os.path.exists(kept) and os.path.exists(c.path)
        os.unlink(kept)
        begun = cpu_of(c.pid)
        s = socket.create_connection(("127.0.0.1", int(c.port)))
        s.sendall(f"GET /api/sql?{urllib.parse.urlencode({'text': query})} HTTP/1.1\r\nHost: localhost\r\nX-Vestige-Token: {c.token}\r\n\r\n".encode())
        until(lambda: cpu_of(c.pid) > begun + 0.2)
        os.kill(c.pid, signal.SIGINT)
        until(lambda: read_state(c.pid) == "Z")
        # a query's own limit is 10 s
        assert cpu_of(c.pid) < begun + 3
        s.close()


def test_hostile_files(w):
    """A recording with changed bytes gives a page or one line that says why not."""
    recorded(w, "-e", "sched")
    w.run("convert", "-q", "--no-native", "-o", "plain.dat", "t.dat")
    rng = random.Random(3)
    good = 0
    for name in ("t.dat", "plain.dat"):
        with open(w.path(name), "rb") as f:
            data = f.read()
        for _ in range(20):
            bad = bytearray(data)
            for _ in range(rng.choice((1, 3, 30))):
                at = rng.randrange(len(bad))
                bad[at] = rng.choice((0, 0xff, 0x80, bad[at] ^ 1 << rng.randrange(8), rng.randrange(256)))
            if not rng.randrange(4):
                del bad[rng.randrange(len(bad)):]
            with open(w.path("bad.dat"), "wb") as f:
                f.write(bad)
            p = w.run("view", "--html", "bad.html", "bad.dat", status=None)
            assert p.returncode in (0, 1) and (p.returncode == 0 or p.stderr.startswith(b"vestige: ")), (p.returncode, p.stderr[-2000:])
            if p.returncode == 0:
                good += 1
                json.loads(re.search(r'id="recording">(.*?)</script>', read(w, "bad.html"), re.S)[1])
                p = w.run("sql", "bad.dat", "SELECT name, median(duration) FROM slices GROUP BY 1 UNION ALL SELECT name, self FROM functions", status=None)
                assert p.returncode in (0, 1), p.stderr[-2000:]
    assert good, "no file with changes was read"


def test_errors(w):
    assert "no-such.dat" in w.run("view", "no-such.dat", status=1).stderr.decode()
    with open(w.path("empty"), "w", encoding="utf-8"):
        pass
    w.run("view", "empty", status=1)
    recorded(w)
    assert "has nothing to be shown" in w.run("view", "--tid", "1", "t.dat", status=1).stderr.decode()
    assert "--port: not a port: 65536" in w.run("view", "--port", "65536", "t.dat", status=2).stderr.decode()
    with contextlib.closing(socket.socket()) as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = str(s.getsockname()[1])
        err = w.run("view", "--port", port, "t.dat", status=1).stderr.decode()
        assert f"cannot listen on 127.0.0.1:{port}" in err and "in use" in err, err
    for name in ("no/such", "t.dat"):
        err = w.run("view", "--port", "1", "--source", name, "t.dat", status=1).stderr.decode()
        assert f"--source {name}: " in err, err
    err = w.run("view", "--html", "no/such/folder.html", "t.dat", status=1).stderr.decode()
    assert "no/such" in err


if __name__ == "__main__":
    main(globals())
