#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige view --record` shows the calls of the program that it ran."""
import os
import signal
import subprocess

from cli_test import BIN, main, until
from test_view import server

PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define FN __attribute__((noipa))
static volatile int n, asked;
static void on_signal(int s) { asked = s; }
FN void leaf(void) { n++; }
int main(int argc, char **argv)
{
	signal(SIGINT, on_signal);
	for (int i = 0; i < 7; i++) leaf();
	if (argc > 2) { fclose(fopen(argv[2], "w")); while (!asked) pause(); leaf(); }
	return argc > 1 ? atoi(argv[1]) : 0;
}
"""


def leaves(client):
    rows = client.ask("sql", text="SELECT calls FROM functions WHERE name = 'leaf'")["rows"]
    return [int(row[0]) for row in rows]


def whole(client):
    until(lambda: not client.ask("info")["reading"])
    return client


def test_record(w):
    """The file is made anew, the program's words are its own, and its status does not matter."""
    prog = w.compile("p", PROGRAM)
    with server(w, "--record", "--", prog, "3") as c:
        assert leaves(whole(c)) == [7] and os.path.exists(w.path("trace.dat"))
    with server(w, "--rec", "mine.dat", "--", prog) as c:
        assert leaves(whole(c)) == [7] and c.ask("info")["path"].endswith("mine.dat")
    w.run("view", "--record", "--html", "x.html", "x.dat", "--", prog, "--help")
    assert os.path.getsize(w.path("x.html")) > 10000


def test_ctrl_c_is_the_programs(w):
    """Ctrl-C while it records ends the program, and what it did until then is shown."""
    prog = w.compile("p", PROGRAM)
    p = subprocess.Popen([BIN, "view", "--record", "t.dat", "--", prog, "0", w.path("runs")], cwd=w.dir, env=w.env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        until(lambda: os.path.exists(w.path("runs")))
        os.killpg(p.pid, signal.SIGINT)
        assert p.stdout.readline().startswith("Open file://")
        p.send_signal(signal.SIGINT)
        assert p.wait(100) == 0 and not p.stderr.read()
    finally:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
        p.stdout.close()
        p.stderr.close()
    rows = w.run("sql", "--csv", "t.dat", "SELECT calls FROM functions WHERE name = 'leaf'").stdout
    assert rows == b"calls\n8\n", rows


def test_nothing_to_show(w):
    """When nothing was recorded, nothing is shown, not even an older file."""
    prog = w.compile("p", PROGRAM)
    w.run("record", "-q", "-o", "trace.dat", "--", prog)
    before = os.stat(w.path("trace.dat"))
    err = w.run("view", "--record", "--", "./nosuch", status=127).stderr.decode()
    assert err.count("\n") == 1 and "nosuch" in err, err
    assert os.stat(w.path("trace.dat")).st_ino == before.st_ino
    for words, text in ((["--record"], "no program is named"), (["--record", "--"], "no program is named"), (["--record", "a", "b", "--", prog], "leave out the others"),
                        (["--record", "-P", "1", "--", prog], "leave out -P")):
        assert text in w.run("view", *words, status=2).stderr.decode(), words


if __name__ == "__main__":
    main(globals())
