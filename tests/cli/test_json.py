#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--json of the commands that print tables: Python's json reads it, and its values are right."""
import json
import os
import re
import subprocess
import tarfile

from cli_test import BIN, LIBRARY, Beside, main, spinning, until

DATA = os.path.join(os.environ["SOURCE_DIR"], "tests", "data")
LEAK = r"""
#include <stdlib.h>
#include <unistd.h>
void *kept[10];
__attribute__((noipa)) void leaks(void) { for (int i = 0; i < 10; i++) kept[i] = malloc(100); }
int main(int argc, char **argv)
{
	char c;

	if (argc > 1 && (write(1, "ready\n", 6) != 6 || read(0, &c, 1) != 1)) return 1;
	leaks();
	if (argc > 1) return write(1, "ready\n", 6) != 6 || read(0, &c, 1) > 0;
	return 0;
}
"""


def of(w, *words, **how):
    return json.loads(w.run(*words, "--json", **how).stdout)


def test_options(w):
    """The same rows as the text, which is trace-cmd's."""
    text, got = w.run("options").stdout.decode(), of(w, "options")
    rows = [dict(re.findall(r"^ *(\w+):\t(.*)$", part, re.M)) for part in re.split(r"^[-=]{8,}$", text.split("\n\n")[0], flags=re.M)]
    assert got["plugins"] == rows and {"plugin": "fgraph", "option": "depth", "desc": "Show the depth of each entry", "set": "0"} in rows, got
    assert got["trace"] == re.findall(r"^  ([a-z-]+)$", text, re.M) and "funcgraph-proc" in got["trace"], got["trace"]


def test_ls_stat_stack(w):
    with spinning(w, "ftrace=function"):
        names = w.run("ls").stdout.decode().splitlines()
        assert of(w, "ls") == names and "current_tracer" in names
        lists = of(w, "list", "-t", "-o", "-s", "-C", "-B", "-e", "sched:.*")
        words = lambda *flags: w.run("list", *flags).stdout.decode()
        assert lists["tracers"] == words("-t").splitlines()[0].split() and "function_graph" in lists["tracers"], lists
        assert lists["absent"] == words("-t").splitlines()[1:] and lists["instances"] == []
        assert lists["options"] == words("-o").split() and lists["systems"] == words("-s").split() and lists["clocks"] == words("-C").split()
        assert lists["events"] == words("-e", "sched:.*").split() and "sched:sched_switch" in lists["events"]
        assert b"leave out -F" in w.run("list", "-e", "-F", "--json", status=2).stderr
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


def test_leaks_of_a_process(w):
    prog = w.compile("leak", LEAK)
    with Beside(w, prog, "wait", env=dict(w.env, LD_PRELOAD=LIBRARY)) as p:
        p.is_ready()
        w.run("set", "-P", p.pid, "kmemtrace_stacks", "1")
        w.run("start", "-P", p.pid, "-p", "kmemtrace")
        assert not any(f.startswith("leaks") for l in of(w, "leaks", "-P", p.pid) for f in l["stack"])
        p.p.stdin.write(b"\n")
        p.p.stdin.flush()
        p.is_ready()
        rows, text = of(w, "leaks", "-P", p.pid), w.run("leaks", "-P", p.pid).stdout.decode()
    w.run("clean")
    head = re.search(r"^.*?(\d+) bytes in (\d+) blocks.*\n(?:.*stack trace.*\n)?(?: => .*\n)*? => leaks", text, re.M)
    mine, = (l for l in rows if any(f.startswith("leaks") for f in l["stack"]))
    assert (mine["bytes"], mine["blocks"]) == (1000, 10) == (int(head[1]), int(head[2])), (mine, text)


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

    def run(what, *words):
        return subprocess.run([BIN, "blk", what, *words, "sda", "nullb0"], cwd=at, stdout=subprocess.PIPE, check=True).stdout.decode()

    rows, text = json.loads(run("times", "--json")), run("times", "-A")
    everything = text[text.index(" All Devices "):]
    for step, s in rows["all"]["steps"].items():
        row = re.search(rf"^{step} +([\d.]+) +([\d.]+) +([\d.]+) +(\d+)$", everything, re.M)
        assert (f"{s['min']:.9f}", f"{s['avg']:.9f}", f"{s['max']:.9f}", s["n"]) == (row[1], row[2], row[3], int(row[4])), (step, s, row)
    assert "Q2C" in rows["all"]["steps"] and len(rows["devices"]) == 2 and all("name" in p for p in rows["processes"])
    major, minor = rows["devices"][0]["device"].split(",")
    per = text[text.index(" Per Device "):text.index(" All Devices ") if text.index(" All Devices ") > text.index(" Per Device ") else None]
    q2c = rows["devices"][0]["steps"]["Q2C"]
    assert re.search(rf"^\( *{major}, *{minor}\) +{q2c['min']:.9f} +{q2c['avg']:.9f} +{q2c['max']:.9f} +{q2c['n']}$", per, re.M), (q2c, per[-800:])
    same_tables(rows, text)
    same_sums(json.loads(run("parse", "--json", "-s", "-t")), run("parse", "-s", "-t"))
    for flag in "-O", "-f":
        assert b"leave out " + flag.encode() in w.run("blk", "parse", "--json", *[flag, "%a"][:1 + (flag == "-f")], "sda", status=2).stderr
    # numbers that differ: the processes are left out without -s, their waits without -t
    assert "processes" not in json.loads(run("parse", "--json")) and "devices" not in json.loads(run("parse", "--json", "-q"))
    assert "dispatch_wait" not in json.loads(run("parse", "--json", "-s"))["processes"][0]


def table(text, title, nth=0):
    """The rows of a table of btt's, by device: its numbers."""
    part = text.split(f" {title} ")[1].split("====================\n", 1)[1].split("\n\n")[nth]
    found = re.findall(r"^ *(\( *\d+, *\d+\)|Total Sys) \|(.*)$", part, re.M)
    return {name.replace(" ", "").strip("()"): re.findall(r"-?[\d.]+", row) for name, row in found}


def same_tables(rows, text):
    devices = {d["device"]: d for d in rows["devices"]}

    def same(title, key, numbers, nth=0):
        of_text = table(text, title, nth)
        of_text.pop("TotalSys", None)
        assert of_text and of_text == {n: numbers(d[key]) for n, d in devices.items() if key in d}, (title, of_text, devices)

    same("Device Overhead", "overhead", lambda o: [f"{o[n]:.4f}" for n in ("Q2G", "G2I", "Q2M", "I2D", "D2C")])
    same("Device Merge Information", "merges", lambda m: [str(m["queued"]), str(m["issued"]), f"{m['ratio']:.1f}",
                                                        str(m["min"]), str(int(m["avg"])), str(m["max"]), str(m["total"])])
    for key in "q2q_seeks", "d2d_seeks":
        of_text = table(text, f"Device {key[:3].upper()} Seek Information")
        for name, row in of_text.items():
            s = devices[name][key]
            assert row[:5] == [str(s["n"]), f"{s['mean']:.1f}", str(s["median"]), str(s["modes"][0]), str(s["mode_n"])], (row, s)
        assert of_text
    if any("plugs" in d for d in devices.values()):
        same("Plug Information", "plugs", lambda p: [str(p["n"]), str(p["timer"]), f"{p['percent']:.9f}"])
    same("Active Requests At Q Information", "active_at_q", lambda q: [f"{q:.1f}"])

    def live(a):
        return [str(a["n"]), f"{a['avg']:.9f}", f"{a['avg_pause']:.9f}", f"{a['percent']:.2f}"]

    same("I/O Active Period Information", "active", live)
    assert table(text, "I/O Active Period Information")["TotalSys"] == live(rows["all"]["active"])
    for name, row in table(text, "Q2D Histogram").items():
        n = devices[name]["q2d"]
        assert row == [f"{100 * c / sum(n):.1f}" for c in n], (row, n)
    stretches = re.search(r"# +Total System : q activity\n((?: +[\d.]+ +[\d.]+\n)+)", text)[1].split()[::2]
    assert stretches == [f"{t:.9f}" for r in rows["all"]["q_activity"] for t in (r[0], r[0], r[1], r[1])]


def same_sums(sums, text):
    names = {"queued": "Reads Queued", "issued": "Read Dispatches", "completed": "Reads Completed", "merged": "Read Merges"}

    def same(io, part):
        for key, left in names.items():
            row = re.search(rf"^ {left}: +(\d+), +(\d+)KiB\t.*?: +(\d+), +(\d+)KiB$", part, re.M)
            n = [x for way in ("reads", "writes") for x in (io[key][way]["n"], io[key][way]["bytes"] // 1024)]
            assert n == [int(x) for x in row.groups()], (key, io, part)

    for p in sums["processes"]:
        part = text.split(f"\n{p['name']} ({p['pid']})\n", 1)[1].split("Completion wait:")[0]
        same(p, part)
        row = re.search(r"Dispatch wait: +(\d+) +\t Dispatch wait: +(\d+)$", part, re.M)
        assert [p["dispatch_wait"][way] // 1000 for way in ("reads", "writes")] == [int(x) for x in row.groups()], (p, row)
    for d in sums["devices"]:
        for cpu in d["cpus"]:
            same(cpu, text.split(f"CPU{cpu['cpu']} ({d['device']}):\n", 1)[1].split("IO unplugs")[0])
        if len(d["cpus"]) > 1:
            same(d["total"], text.split(f"Total ({d['device']}):\n", 1)[1].split("IO unplugs")[0])
        end = re.search(rf"Throughput \(R/W\): (\d+)KiB/s / (\d+)KiB/s\nEvents \({d['device']}\): (\d+) ", text)
        assert [d["kib_per_s"]["reads"], d["kib_per_s"]["writes"], d["events"]] == [int(x) for x in end.groups()]
    assert sums["files"] == re.findall(r"^Input file (.*) added$", text, re.M)


main(globals())
