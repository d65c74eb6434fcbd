#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--json of the commands that print tables: Python's json reads it, and its values are those of the text."""
import json
import os
import re
import subprocess
import tarfile

from cli_test import BIN, main, spinning, until

DATA = os.path.join(os.environ["SOURCE_DIR"], "tests", "data")
LEAK = r"""
#include <stdlib.h>
void *kept[10];
__attribute__((noipa)) void leaks(void) { for (int i = 0; i < 10; i++) kept[i] = malloc(100); }
int main(void) { leaks(); return 0; }
"""


def of(w, *words, **how):
    return json.loads(w.run(*words, "--json", **how).stdout)


def test_ls_stat_stack(w):
    with spinning(w, "ftrace=function"):
        names = w.run("ls").stdout.decode().splitlines()
        assert of(w, "ls") == names and "current_tracer" in names
        w.run("set", "set_ftrace_filter", "mid")
        w.run("set", "trace_clock", "mono")
        stat, = of(w, "stat", "-o")
        text = w.run("stat", "-o").stdout.decode()
        assert stat["tracer"] == "function" and "Tracer: function" in text
        assert stat["function_filter"] == ["mid"] and "Function Filter:\n mid\n" in text, text
        assert stat["clock"] == re.search(r"Clock: (\w+)", text)[1] == "mono" and stat["tracing"] is True
        options = re.search(r"Options:\n((?:   .*\n)+)", text)[1].split()
        assert sorted(n if on else "no" + n for n, on in stat["options"].items()) == sorted(options)
        w.run("set", "set_ftrace_filter", "")
        w.run("stack", "--start")
        until(lambda: of(w, "stack"))
        w.run("stack", "--stop")
        rows = [l.split(None, 3) for l in w.run("stack").stdout.decode().splitlines()[2:]]
        assert [(int(r[1]), int(r[2]), r[3]) for r in rows] == [(f["depth"], f["size"], f["name"]) for f in of(w, "stack")] and rows
        assert b"leave out --stop" in w.run("stack", "--json", "--stop", status=2).stderr
        checked = of(w, "check-events")
        formats = [n for n in names if re.fullmatch(r"events/[^/]+/[^/]+/format", n)]
        assert checked["failed"] == [] and checked["formats"] == len(formats), (checked, len(formats))


def test_leaks(w):
    prog = w.compile("leak", LEAK)
    leaks = [json.loads(w.run("leaks", "--json", "--", prog).stderr)]
    # of a program without --json, in a text
    text = w.run("leaks", "--", prog).stderr.decode()
    head = re.search(r"^.*?(\d+) bytes in (\d+) blocks.*\n(?:.*stack trace.*\n)?(?: => .*\n)*? => leaks", text, re.M)
    mine, = (l for l in leaks[0] if any(f.startswith("leaks") for f in l["stack"]))
    assert (mine["bytes"], mine["blocks"]) == (1000, 10) == (int(head[1]), int(head[2])), (mine, head and head[0])
    assert mine["oldest"] >= 0 and mine["stack"][-1]


def test_kd(w):
    w.run("record", "-q", "-p", "function_graph", "--", w.prog, "calls", "30")
    rows = {r["name"]: r for r in of(w, "kd")}
    text = {l.split()[0]: l.split()[1:] for l in w.run("kd", "-f", "Fct").stdout.decode().splitlines()[2:]}
    assert {n: r["count"] for n, r in rows.items()} == {n: int(t[0]) for n, t in text.items()} and rows["leaf"]["count"] == 60
    assert all(abs(r["time"] / 1000 - float(text[n][1])) <= 1 for n, r in rows.items()), (rows, text)
    assert rows["mid"]["max_sub"] == "leaf" and rows["mid"]["max_sub_count"] == 60
    calls = of(w, "kd", "-c")
    assert len(calls) == len(w.run("kd", "-c").stdout.splitlines()) - 2 and calls[0]["name"] == "main" and calls[0]["depth"] == 0
    assert len(of(w, "kd", "-n", "2")) == 2
    assert b"leave out -f" in w.run("kd", "--json", "-f", "F", status=2).stderr


def test_bootgraph(w):
    w.run("record", "-q", "-p", "initcall", "--", w.prog)
    rows = of(w, "bootgraph")
    svg = w.run("bootgraph").stdout.decode()
    titles = [(n, int(us)) for n, us in re.findall(r"<title>(.*?) (\d+) usecs", svg)]
    assert [(r["name"] or f"0x{r['address']:x}", r["duration"] // 1000) for r in rows] == titles and titles
    assert [r["start"] for r in rows] == sorted(r["start"] for r in rows)


def test_doctor_and_formats(w):
    doctor = json.loads(w.run("doctor", "--json", w.prog).stdout)
    text = w.run("doctor", w.prog).stdout.decode()
    mine = doctor["objects"][0]
    assert doctor["functions"] == int(re.search(r"^(\d+) functions can be traced", text, re.M)[1]) and mine["path"] == os.path.realpath(w.prog)
    assert mine["functions"] == int(re.search(r"can be traced +(\d+)", text)[1])
    formats = of(w, "convert", "--list")
    assert [f["name"] for f in formats] == [l.split()[0] for l in w.run("convert", "--list").stdout.decode().splitlines()]
    assert ".json" in next(f for f in formats if f["name"] == "chrome")["suffixes"]
    assert b"--json goes with --list" in w.run("convert", "--json", "a", "b", status=2).stderr


def test_blk(w):
    with tarfile.open(os.path.join(DATA, "blk", "amd64-two.tar.xz")) as tar:
        tar.extractall(w.dir)
    at = w.path("amd64-two")

    def run(*words):
        return subprocess.run([BIN, "blk", "times", *words, "sda", "nullb0"], cwd=at, stdout=subprocess.PIPE, check=True).stdout.decode()

    rows, text = json.loads(run("--json")), run("-A")
    everything = text[text.index(" All Devices "):]
    for step, s in rows["all"]["steps"].items():
        row = re.search(rf"^{step} +([\d.]+) +([\d.]+) +([\d.]+) +(\d+)$", everything, re.M)
        assert (f"{s['min']:.9f}", f"{s['avg']:.9f}", f"{s['max']:.9f}", s["n"]) == (row[1], row[2], row[3], int(row[4])), (step, s, row)
    assert "Q2C" in rows["all"]["steps"] and len(rows["devices"]) == 2 and all("name" in p for p in rows["processes"])
    major, minor = rows["devices"][0]["device"].split(",")
    per = text[text.index(" Per Device "):text.index(" All Devices ") if text.index(" All Devices ") > text.index(" Per Device ") else None]
    q2c = rows["devices"][0]["steps"]["Q2C"]
    assert re.search(rf"^\( *{major}, *{minor}\) +{q2c['min']:.9f} +{q2c['avg']:.9f} +{q2c['max']:.9f} +{q2c['n']}$", per, re.M), (q2c, per[-800:])


main(globals())
