#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige sql`: the answers of sqlite3 to the same queries, with the rows of `vestige convert --to
csv` in tables of its own."""
import csv
import io
import json
import os
import signal
import sqlite3
import subprocess

from cli_test import BIN, main
from test_view import recorded

QUESTIONS = (
    "SELECT count(*), sum(duration), min(start), max(start + duration) FROM slices",
    "SELECT name, tid, count(*) AS n, sum(duration) AS d, max(depth) FROM slices GROUP BY name, tid ORDER BY name, tid",
    "SELECT * FROM slices WHERE name = 'fib' AND duration > 1000 ORDER BY start, depth, tid",
    "SELECT count(*) FROM slices WHERE name = 'FIB' COLLATE NOCASE",
    "SELECT count(*) FROM slices WHERE start >= {a} AND start < {b}",
    "SELECT count(*) FROM slices WHERE start > {a} AND start <= {b} AND name = 'fib'",
    "SELECT count(*) FROM slices WHERE start BETWEEN {a}.5 AND {b}.5",
    "SELECT count(*) FROM slices WHERE start > 1e300 OR start < -1e300",
    "SELECT count(*) FROM slices WHERE start >= -5 AND start < 9223372036854775807",
    "SELECT count(*) FROM slices WHERE start < NULL",
    "SELECT count(*) FROM slices WHERE start < 'x'",
    "SELECT start, duration FROM slices WHERE tid = {tid} ORDER BY start DESC, duration LIMIT 20 OFFSET 3",
    "SELECT count(*) FROM slices WHERE tid = {tid}.0 AND depth = 1",
    "SELECT name, count(*) FROM events GROUP BY name ORDER BY name",
    "SELECT start, cpu, tid, text FROM events WHERE start > {a} ORDER BY start, cpu, tid, text LIMIT 50",
    "SELECT s.name, count(e.start) FROM slices s JOIN events e ON e.tid = s.tid AND e.start BETWEEN s.start AND s.start + s.duration "
    "WHERE s.name = 'thread' GROUP BY 1",
    "WITH long AS (SELECT * FROM slices WHERE duration > (SELECT avg(duration) FROM slices)) SELECT name, count(*) FROM long GROUP BY 1 ORDER BY 1",
    # by names, which the tables give in order
    "SELECT name, count(*), sum(duration), min(start), max(depth) FROM slices GROUP BY name",
    "SELECT name, object, count(*), max(duration) FROM slices GROUP BY name, object",
    "SELECT object, name, count(*) FROM slices GROUP BY object, name",
    "SELECT DISTINCT name FROM slices WHERE start > {a} AND start < {b} ORDER BY name",
    "SELECT name, count(*) FROM slices WHERE tid = {tid} AND name > 'f' GROUP BY name HAVING count(*) > 1 ORDER BY 2 DESC, 1",
    "SELECT name, count(*) FROM slices WHERE name = 'fib' GROUP BY name",
    "SELECT name, count(*) FROM slices WHERE name IN ('fib', 'main', NULL, 3, x'666962') GROUP BY name ORDER BY name",
    "SELECT count(*) FROM slices WHERE name = 'fib' || char(0) UNION ALL SELECT count(*) FROM slices WHERE name = x'666962'",
    "SELECT count(*) FROM slices WHERE name = NULL OR name = 3 UNION ALL SELECT count(*) FROM slices WHERE name = 'fib' AND name = 'main'",
    "SELECT count(DISTINCT name), count(DISTINCT tid) FROM slices",
    "SELECT name FROM slices ORDER BY name DESC LIMIT 3",
    "SELECT a.name, count(*), (SELECT count(*) FROM slices b WHERE b.name = a.name) FROM slices a GROUP BY a.name",
    "SELECT name COLLATE NOCASE AS n, count(*) FROM slices GROUP BY n ORDER BY n",
    "SELECT name, count(*) FROM (SELECT name FROM slices ORDER BY name LIMIT 100) GROUP BY name ORDER BY name",
    "SELECT name, 1 FROM slices WHERE start < -1 GROUP BY name UNION ALL SELECT 'x', 2",
    # a part of the rows by each of two ways
    "SELECT count(*) FROM slices WHERE name = 'fib' OR tid = {tid}",
    "SELECT count(*), sum(duration) FROM slices WHERE start < {a} OR start >= {b}",
    "SELECT count(*) FROM events WHERE start < {a} OR start >= {b}",
    "SELECT count(*) FROM slices WHERE name = 'fib' OR (start > {a} AND tid = {tid}) OR start < {a}",
    "SELECT upper(name), length(text) FROM events WHERE text LIKE '%runtime%' ORDER BY start, tid LIMIT 5",
)


def ask(w, query, *flags, status=0):
    return w.run("sql", *flags, "t.dat", query, status=status)


def test_as_sqlite3(w):
    rows = recorded(w, "-e", "sched")
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE slices(start INTEGER, duration INTEGER, name TEXT, object TEXT, depth INTEGER, tid INTEGER)")
    db.execute("CREATE TABLE events(start INTEGER, cpu INTEGER, tid INTEGER, name TEXT, text TEXT)")
    for r in rows:
        if r["kind"] == "call":
            db.execute("INSERT INTO slices VALUES(?,?,?,?,?,?)", [r[k] for k in ("time", "duration", "name", "object", "depth", "tid")])
        else:
            db.execute("INSERT INTO events VALUES(?,?,?,?,?)", [r[k] for k in ("time", "cpu", "tid", "name", "text")])
    # between the two there are calls, and behind the first events, however many come before the
    # first call
    times = sorted(int(r["time"]) for r in rows)
    calls = sorted(int(r["time"]) for r in rows if r["kind"] == "call")
    a = min(times[len(times) // 3], calls[len(calls) // 3])
    b = max(times[2 * len(times) // 3], calls[2 * len(calls) // 3])
    tid = next(r["tid"] for r in rows if r["name"] == "thread")
    for query in QUESTIONS:
        query = query.format(a=a, b=b, tid=tid)
        query = query.replace("*) FROM", "*) FROM").replace("SELECT * FROM slices WHERE name", "SELECT start, duration, name, object, depth, tid FROM slices WHERE name")
        expected = [["" if v is None else str(v) for v in row] for row in db.execute(query)]
        assert expected or "NULL" in query, query
        found = list(csv.reader(io.StringIO(ask(w, query, "--csv").stdout.decode())))[1:]
        assert found == expected, (query, found[:5], expected[:5])
    check_percentiles(w, db)


def check_percentiles(w, db):
    values = sorted(v for v, in db.execute("SELECT duration FROM slices"))
    (answer,) = json.loads(ask(w, "SELECT percentile(duration, 0) a, percentile(duration, 100) b, percentile(duration, 90) c, median(duration) d FROM slices",
                               "--json").stdout)
    at = (len(values) - 1) * 0.9
    p90 = values[int(at)] + (at - int(at)) * (values[min(int(at) + 1, len(values) - 1)] - values[int(at)])
    middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
    assert answer["a"] == values[0] and answer["b"] == values[-1] and abs(answer["c"] - p90) < 1e-6 * p90 + 1e-6 and answer["d"] == middle
    assert json.loads(ask(w, "SELECT median(duration) m FROM slices WHERE 0", "--json").stdout) == [{"m": None}]
    assert "not numbers" in ask(w, "SELECT median(name) FROM slices", status=1).stderr.decode()
    assert "not from 0 to 100" in ask(w, "SELECT percentile(duration, 101) FROM slices", status=1).stderr.decode()


def test_functions_and_tracks(w):
    rows = [r for r in recorded(w, "-e", "sched") if r["kind"] == "call"]
    functions = {f["name"]: f for f in json.loads(ask(w, "SELECT * FROM functions", "--json").stdout)}
    for name, f in functions.items():
        mine = [r for r in rows if r["name"] == name]
        assert f["calls"] == len(mine) and f["self"] == sum(int(r["self"]) for r in mine), name
        assert f["longest"] == max(int(r["duration"]) for r in mine)
    # sums that are made once are equal to each slice's
    sums = ask(w, "SELECT name, object, calls, duration, shortest, longest FROM functions ORDER BY name, object", "--csv").stdout.splitlines()[1:]
    plain = ask(w, "SELECT name, object, count(*), sum(duration), min(duration), max(duration) FROM slices GROUP BY name, object ORDER BY name, object",
                "--csv").stdout.splitlines()[1:]
    assert sums == plain and any(f["duration"] > f["total"] for f in functions.values()), (sums, plain)
    tracks = json.loads(ask(w, "SELECT * FROM tracks", "--json").stdout)
    assert sum(t["spans"] for t in tracks if t["kind"] == "calls") == len(rows)
    # a thread runs where its CPU runs it
    both = json.loads(ask(w, "SELECT count(*) n FROM states s JOIN cpus c ON c.tid = s.tid AND c.cpu = s.cpu AND c.start < s.start + s.duration "
                             "AND s.start < c.start + c.duration WHERE s.state = 'blocked'", "--json").stdout)
    running = json.loads(ask(w, "SELECT count(*) n FROM states WHERE state = 'running'", "--json").stdout)
    assert running[0]["n"] and both[0]["n"] < running[0]["n"]


def test_errors_behind_rows(w):
    """An error after the first row is reported in each form."""
    recorded(w)
    for form in (), ("--json",), ("--csv",):
        said = ask(w, "SELECT 1 UNION ALL SELECT x'41'", *form, status=1).stderr.decode()
        assert "vestige: " in said, (form, said)


def test_nothing_else(w):
    """One SELECT of our tables is allowed: no file, no setting, no extension. The limits hold."""
    recorded(w)
    before = sorted(os.listdir(w.dir))
    for query in ("ATTACH 'x.db' AS x", "PRAGMA user_version", "SELECT * FROM sqlite_master", "SELECT * FROM sqlite_schema",
                     "SELECT * FROM pragma_database_list", "CREATE TABLE x(y)", "CREATE VIRTUAL TABLE x USING fts5(y)", "DELETE FROM slices",
                     "INSERT INTO slices VALUES(1)", "UPDATE slices SET tid = 1", "DROP TABLE slices", "SELECT load_extension('x')", "VACUUM INTO 'x.db'",
                     "BEGIN", "EXPLAIN SELECT 1 FROM sqlite_master", "ANALYZE", "DETACH main", "REINDEX", "SAVEPOINT a"):
        err = ask(w, query, status=1).stderr.decode()
        assert "vestige: sql: " in err, err
    assert sorted(os.listdir(w.dir)) == before
    assert "one query at a time" in ask(w, "SELECT 1; SELECT 2", status=1).stderr.decode()
    assert "syntax error" in ask(w, "SELEC", status=1).stderr.decode()
    assert "no such column" in ask(w, "SELECT nosuch FROM slices", status=1).stderr.decode()
    ask(w, "", status=1)
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT {} FROM r"
    assert "it took over 1 s" in ask(w, endless.format("count(*)"), "--max-time", "1", status=1).stderr.decode()
    p = ask(w, endless.format("n"), "--max-rows", "5", "--csv")
    assert p.stdout == b"n\n1\n2\n3\n4\n5\n" and b"more than 5 rows" in p.stderr
    for large in ("zeroblob(2000000000)", "group_concat(hex(zeroblob(100000)))", "instr(hex(zeroblob(10000000)), hex(zeroblob(5000000)) || '1')"):
        assert "has more than 262144 bytes" in ask(w, f"SELECT {large} FROM slices", status=1).stderr.decode()
    # one step of SQLite is short, so that the limit of time holds
    slow = "SELECT count(*) FROM slices a JOIN slices b ON instr(hex(zeroblob(120000 + a.tid % 2)), hex(zeroblob(60000 + b.tid % 2)) || '1')"
    assert "it took over 1 s" in ask(w, slow, "--max-time", "1", status=1).stderr.decode()
    assert "pattern" in ask(w, "SELECT 1 FROM slices WHERE name LIKE '" + "%a" * 200 + "'", status=1).stderr.decode()
    assert "not from 0 to 100" in ask(w, "SELECT percentile(duration, 'x') FROM slices", status=1).stderr.decode()
    for flags in ([], ["--json"], ["--csv"]):
        p = ask(w, "SELECT x'00ff' AS b", *flags, status=1)
        assert "b is a blob: hex() prints it" in p.stderr.decode() and not p.stdout, p
    none = "SELECT name AS n FROM slices WHERE 0"
    assert [ask(w, none, *flags).stdout for flags in ([], ["--json"], ["--csv"])] == [b"", b"[]\n", b"n\n"]
    assert "cannot be used together" in ask(w, "SELECT 1", "--csv", "--json", status=2).stderr.decode()
    assert "vestige sql t.dat 'SELECT ...'" in w.run("sql", "t.dat", status=2).stderr.decode()


def test_ctrl_c(w):
    recorded(w)
    p = subprocess.Popen([BIN, "sql", "t.dat", "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"],
                         cwd=w.dir, env=w.env, stderr=subprocess.PIPE, text=True)
    try:
        assert "Ctrl-C" in p.stderr.readline()  # the hint comes after a second
        p.send_signal(signal.SIGINT)
        p.wait(100)
        text = p.stderr.read()
        assert p.returncode == 1 and "interrupted" in text, text
    finally:
        p.kill()
        p.wait()
        p.stderr.close()


def test_output(w):
    """Columns are aligned, control characters do not reach the terminal, and a closed pipe is no
    error."""
    recorded(w)
    out = ask(w, "SELECT 'a' AS name, 1 AS n UNION ALL SELECT 'bcd', 20000").stdout.decode()
    assert out == "name      n\na         1\nbcd   20000\n", out
    assert ask(w, "SELECT char(27) || '[2J' AS x").stdout == b"x\n\\x1b[2J\n"
    assert json.loads(ask(w, "SELECT 1 WHERE 0", "--json").stdout) == []
    assert ask(w, "SELECT 1 AS x WHERE 0", "--csv").stdout == b"x\n"
    assert ask(w, "SELECT 'a,b\"c' AS x", "--csv").stdout == b'x\n"a,b""c"\n'
    p = subprocess.run(f"'{BIN}' sql t.dat 'WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r' | head -2; "
                       "echo ${PIPESTATUS[0]}", shell=True, executable="/bin/bash", cwd=w.dir, env=w.env, stdout=subprocess.PIPE, text=True, check=True)
    assert p.stdout.split() in (["n", "1", "0"], ["n", "1", "141"]), p.stdout
    tables = w.run("sql", "--tables").stdout.decode()
    for name in ("slices", "events", "states", "cpus", "tracks", "functions"):
        assert f"{name}(" in tables
    assert "there is no query" in w.run("sql", status=2).stderr.decode()
    # one word that names a file: the error is about that file
    with open(w.path("bad.dat"), "wb") as f:
        f.write(bytes(range(256)) * 4)
    for name, text in (("bad.dat", "'bad.dat' is neither a trace.dat nor a spool nor an area"), (".", "'.' is a folder that no known tool has written"),
                       ("/nonexistent/x", "cannot open '/nonexistent/x': No such file or directory")):
        assert w.run("sql", name, status=1).stderr.decode() == f"vestige: {text}\n", name
    assert "there is no query: vestige sql t.dat" in w.run("sql", "t.dat", status=2).stderr.decode()
    os.rename(w.path("t.dat"), w.path("trace.dat"))
    assert w.run("sql", "--csv", "SELECT 6/2 AS x").stdout == b"x\n3\n"
    os.rename(w.path("trace.dat"), w.path("t.dat"))
    with open("/dev/full", "wb") as full:
        p = subprocess.run([BIN, "sql", "t.dat", "SELECT 1"], cwd=w.dir, env=w.env, stdout=full, stderr=subprocess.PIPE, check=False)
        assert p.returncode == 1 and b"No space left" in p.stderr


if __name__ == "__main__":
    main(globals())
