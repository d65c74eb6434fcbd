# SPDX-License-Identifier: MIT
"""`record` caches its analysis of an unmodified program, and the next start reads the cache, with
the same result. A cache file that does not match completely is ignored."""
import os
import struct

from cli_test import main

CACHED = "analysed before"
# Debian's: others may come first in PATH
PROGRAMS = [["/usr/bin/git", "--version"], ["/usr/bin/python3", "-S", "-c", "pass"], ["/usr/bin/bash", "-c", ":"],
            ["/usr/bin/sqlite3", ":memory:", "select 1"]]


def doctor(w, cache, *argv):
    return w.run("doctor", "--unmodified", "-a", "-v", *argv, env={"VESTIGE_CACHE": cache}).stdout.decode()


def program(w):
    return w.compile("plain", "int f(int n) { return n * 3; } int main(void) { return f(0); }",
                     "-fpatchable-function-entry=0", "-Wl,--build-id")


def kept_program(w):
    prog = program(w)
    w.run("record", "-q", "-p", "function", "-o", "one.dat", prog, env={"VESTIGE_CACHE": w.path("cache")})
    names = os.listdir(w.path("cache"))
    assert len(names) == 1 and names[0].endswith(".ways"), names
    return prog, os.path.join(w.path("cache"), names[0])


def same(w, cache, *argv):
    """Whether doctor says of a program what it says without a cache. Return: whether a kept file
    was used."""
    without = doctor(w, "0", *argv)
    text = doctor(w, cache, *argv)
    assert CACHED not in without
    lines = [line for line in text.splitlines() if CACHED not in line]
    assert lines == without.splitlines(), text
    return CACHED in text


def test_the_result_is_the_same(w):
    for argv in PROGRAMS:
        if not os.path.exists(argv[0]):
            continue
        cache = w.path(os.path.basename(argv[0]) + "-cache")
        w.run("record", "-q", "-p", "function", "-o", "one.dat", *argv, env={"VESTIGE_CACHE": cache})
        assert same(w, cache, *argv), argv


def test_nothing_is_kept_with_0(w):
    w.run("record", "-q", "-p", "function", "-o", "one.dat", program(w), env={"VESTIGE_CACHE": "0"})
    prog, _ = kept_program(w)
    assert CACHED not in doctor(w, "0", prog)


def test_a_changed_byte_anywhere_is_as_no_file(w):
    prog, path = kept_program(w)
    cache = os.path.dirname(path)
    assert same(w, cache, prog)
    with open(path, "rb") as f:
        good = f.read()
    for at in [*range(0, 56, 3), 56, 60, 64, 66, 70, len(good) - 1]:
        with open(path, "wb") as f:
            f.write(good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
        assert CACHED not in doctor(w, cache, prog), at
    for bad in good[:-16], good[:40], good + bytes(16), b"":
        with open(path, "wb") as f:
            f.write(bad)
        assert CACHED not in doctor(w, cache, prog), len(bad)
    with open(path, "wb") as f:
        f.write(good)
    assert same(w, cache, prog)


def test_another_file_with_the_same_id_is_analysed(w):
    prog, path = kept_program(w)
    with open(prog, "rb") as f:
        file = bytearray(f.read())
    offset, = struct.unpack_from("<Q", file, 0x20)
    nr, = struct.unpack_from("<H", file, 0x38)
    for i in range(nr):
        kind, flags, at, _, _, size = struct.unpack_from("<IIQQQQ", file, offset + 56 * i)
        if kind == 1 and flags & 1:
            file[at + size - 1] ^= 1    # behind .fini
    os.unlink(prog)
    with open(prog, "wb") as f:
        f.write(file)
    os.chmod(prog, 0o755)
    assert not same(w, os.path.dirname(path), prog)


def test_a_file_of_others_is_not_used(w):
    prog, path = kept_program(w)
    cache = os.path.dirname(path)
    os.chmod(path, 0o666)
    assert CACHED not in doctor(w, cache, prog)
    os.chmod(path, 0o644)
    assert CACHED in doctor(w, cache, prog)
    os.rename(path, path + "x")
    os.symlink(path + "x", path)
    assert CACHED not in doctor(w, cache, prog)
    os.rename(path + "x", path)
    if os.geteuid() == 0:
        os.chown(path, 12345, 0)
        assert CACHED not in doctor(w, cache, prog)


def test_the_kept_is_kept_again_and_clean_removes_it(w):
    prog, path = kept_program(w)
    env = {"VESTIGE_CACHE": os.path.dirname(path)}
    with open(path, "r+b") as f:
        f.truncate(50)
    w.run("record", "-q", "-p", "function", "-o", "one.dat", prog, env=env)
    assert CACHED in doctor(w, env["VESTIGE_CACHE"], prog)
    with open(os.path.join(env["VESTIGE_CACHE"], "other"), "w", encoding="utf-8"):
        pass
    assert w.run("clean", "--cache", "-n", env=env).stdout.decode() == f"would remove {path}\n"
    assert w.run("clean", "--cache", env=env).stdout.decode() == f"removed {path}\n"
    assert os.listdir(env["VESTIGE_CACHE"]) == ["other"]


if __name__ == "__main__":
    main(globals())
