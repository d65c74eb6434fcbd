#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""vestige share: no byte of its file, unpacked too, has a word that the program had as data; the
calls are the same."""
import ctypes
import json
import os
import re
import socket

from cli_test import main

PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <vestige/vestige.h>
#define FN __attribute__((noipa))
FN int leaf(const char *s, int n) { return s[0] + n; }
FN int use(const char *s, int n) { return leaf(s, n) + leaf(s, n + 1); }
FN void *other(void *s)
{
	prctl(PR_SET_NAME, "SecretThread");
	for (int i = 0; i < 50; i++)
		use(s, i);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t;
	char word[64];
	int fd = open(argv[2], O_RDWR | O_CREAT, 0600);
	snprintf(word, sizeof(word), "Secret%s", "Result");
	for (int i = 0; i < 200; i++)
		use(argv[1], i);
	trace_printk("SecretPrintk %s %d\n", word, argc);
	vestige_mark("SecretMark");
	if (write(fd, "SecretData", 10) != 10)
		return 1;
	pthread_create(&t, NULL, other, argv[1]);
	pthread_join(t, NULL);
	return 0;
}
"""


def frames(data):
    """What all of zstd's frames in @data unpack to."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_findFrameCompressedSize.restype = zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_findFrameCompressedSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out, at = [], 0
    while (at := data.find(b"\x28\xb5\x2f\xfd", at)) >= 0:
        size = zstd.ZSTD_findFrameCompressedSize(data[at:], len(data) - at)
        if size <= len(data) - at:
            room = ctypes.create_string_buffer(8 << 20)
            n = zstd.ZSTD_decompress(room, len(room), data[at:at + size], size)
            assert n <= len(room), n
            out.append(room.raw[:n])
            at += size
        else:
            at += 4
    return out


def all_bytes(w, name):
    with open(w.path(name), "rb") as f:
        data = f.read()
    unpacked = frames(data)
    assert unpacked
    return b"\0".join([data, *unpacked])


def record(w, *flags):
    prog = w.compile("SecretProgram", PROGRAM, "-I" + os.environ["SOURCE_DIR"] + "/include", "-rdynamic")
    w.run("record", "-q", "-p", "function_graph", "--funcgraph-args", "-O", "funcgraph-retval", "-e", "syscalls:sys_enter_*",
          "-e", "files", "-e", "task", *flags, "--", prog, "SecretArgument", w.path("SecretPath"), env={"SECRET_ENVIRONMENT": "SecretEnvironment"})


def profile(w, name):
    rows = json.loads(w.run("profile", "--json", name).stdout)
    return rows


def test_no_word_is_left(w):
    for flags, name in (((), "trace.dat"), (("--native", "-o", "trace.native"), "trace.native")):
        record(w, *flags)
        host = b"Linux " + socket.gethostname().encode()
        said = w.run("share", name, "out.dat").stdout.decode()
        whole, left = all_bytes(w, "trace.dat"), all_bytes(w, "out.dat")
        # the recording has them, or the test looks in the wrong place
        for word in (b"SecretPrintk", b"SecretMark", b"SecretPath", b"SecretThread", os.fsencode(w.dir), host):
            assert word in whole, word
        for word in (b"Secret", b"SECRET", os.fsencode(w.dir), os.fsencode(os.path.dirname(w.dir)), host, b"sys_enter", b"/lib"):
            assert word not in left, (word, left[max(0, left.find(word) - 40):][:120])
        assert b"leaf" in left
        assert profile(w, name) == profile(w, "out.dat")
        rows = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"^(\S.*?) +(\d+) +(\d+)$", said, re.M)}
        calls = rows["calls and functions"]
        assert calls == (752, 752), said  # 3 times 250 and 2
        for what, (before, after) in rows.items():
            if what not in ("calls and functions", "threads", "records of other buffers", "formats of events"):
                assert before > 0 and after == 0, (what, said)
        assert rows["threads"] == (2, 2) and rows["formats of events"][1] == 0, said
        # the times and threads are as in the recording
        flags = ("convert", "-q", "--to", "csv")
        one, two = ([l.split(",") for l in w.run(*flags, n, "-").stdout.decode().splitlines() if l.startswith("call,")] for n in (name, "out.dat"))
        assert [r[1:5] + [r[6]] + [r[8]] for r in one] == [r[1:5] + [r[6]] + [r[8]] for r in two]


def test_parts(w):
    record(w)
    rows = [l.split(",") for l in w.run("convert", "-q", "--to", "csv", "trace.dat", "-").stdout.decode().splitlines() if l.startswith("call,")]
    tids = sorted({r[6] for r in rows}, key=int)
    assert len(tids) == 2
    assert w.run("share", "-q", "--tid", tids[1], "trace.dat", "out.dat").stdout == b""
    left = [l.split(",") for l in w.run("convert", "-q", "--to", "csv", "out.dat", "-").stdout.decode().splitlines()[1:]]
    assert [r[:5] + [r[8]] for r in left] == [r[:5] + [r[8]] for r in rows if r[6] == tids[1]]
    start = min(int(r[1]) for r in rows)
    leaves = sorted(int(r[1]) for r in rows if r[8] == "leaf")
    middle = leaves[100]
    w.run("share", "-r", f"~{middle / 1e9:.9f}", "trace.dat", "out.dat")
    left = [l.split(",") for l in w.run("convert", "-q", "--to", "csv", "out.dat", "-").stdout.decode().splitlines()[1:]]
    assert sorted(int(r[1]) for r in left if r[8] == "leaf") == leaves[:101], (start, middle)
    w.run("share", "-r", "0us~1s", "trace.dat", "out.dat")
    assert profile(w, "out.dat") == profile(w, "trace.dat")


def test_faults(w):
    record(w)
    os.rename(w.path("trace.dat"), w.path("t.dat"))
    for words, status, why in ((["t.dat"], 2, "name the recording, and the file"), (["t.dat", "a", "b"], 2, "name the recording"),
                               (["nosuch", "out.dat"], 1, "nosuch"), (["--tid", "x", "t.dat", "out.dat"], 2, "not numbers of threads"),
                               (["-r", "5", "t.dat", "out.dat"], 2, "not FROM~TO"), (["--tid", "1", "t.dat", "out.dat"], 1, "no call in 't.dat' is left"),
                               (["-r", "10000s~20000s", "t.dat", "out.dat"], 1, "no call in 't.dat' is left"),
                               (["t.dat", "no/such/out.dat"], 1, "no/such/out.dat"),
                               (["t.dat", "-"], 2, "a trace.dat is a file: name it instead of -")):
        p = w.run("share", *words, status=status)
        assert why in p.stderr.decode() and p.stdout == b"", (words, p.stderr)
        assert not os.path.exists(w.path("out.dat")) and not os.path.exists(w.path("-")), words
    # the recording is never lost
    before = all_bytes(w, "t.dat")
    assert b"is the recording itself" in w.run("share", "-q", "t.dat", "./t.dat", status=1).stderr
    assert all_bytes(w, "t.dat") == before and b"Secret" in before


main(globals())
