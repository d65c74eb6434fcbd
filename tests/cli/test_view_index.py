#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`vestige view` of a large recording: a coarse picture at once, from FILE.index or from what was
read so far."""
import os
import random
import stat

from cli_test import main
from test_view import MANY, calls_of, server

CALLS = 1028457 + 1  # of fib(28), and main


def recorded(w, folder="."):
    prog = w.compile("many", MANY.replace("fib(30)", "fib(28)"))
    os.makedirs(w.path(folder), exist_ok=True)
    w.env["XDG_CACHE_HOME"] = w.path("cache")
    w.run("record", "-q", "-p", "function_graph", "-b", "200000", "-o", f"{folder}/many.dat", "--", prog)
    return f"{folder}/many.dat"


def whole(c):
    """What the server says once all is read."""
    while True:
        info = c.ask("info")
        if not info["reading"]:
            return info


def await_file(path):
    while not os.path.exists(path):
        pass


def total(c, info, pixel):
    return sum(calls_of(c, info, pixel).values())


def use(w, *words):
    """Read all of it; the index is written."""
    with server(w, *words) as c:
        info = whole(c)
        assert info["calls"] == CALLS and total(c, info, info["duration"] // 1000) == CALLS
        assert c.ask("sql", text="SELECT count(*) FROM slices")["rows"] == [[str(CALLS)]]
    return info


def test_index(w):
    """The second time the whole picture is there before the recording is read; it has each call,
    and the longest ones."""
    dat = recorded(w)
    index = w.path("many.dat.index")
    use(w, dat)
    assert stat.S_IMODE(os.stat(index).st_mode) == 0o600 and not [n for n in os.listdir(w.dir) if n.startswith("many.dat.index.")]
    # less than 8 % of columns of 24 bytes a call
    assert os.path.getsize(index) < CALLS * 24 * 8 // 100
    seen = 0
    for _ in range(50):
        with server(w, dat) as c:
            info = c.ask("info")
            if info["reading"]:
                pixel = info["duration"] // 1366
                coarse = calls_of(c, info, pixel)
                still = c.ask("info")["reading"]
                status, body, _ = c.request("/api/list?at=0&nr=1", X_Vestige_Token=c.token)
                status2, _, _ = c.request("/api/spans?filter=event+eq+fib&rows=0.0", X_Vestige_Token=c.token)
            full = whole(c)
            assert full["calls"] == CALLS
            if not info["reading"] or not still:
                continue
            seen += 1
            assert (status, status2) in ((503, 503), (200, 200), (503, 200)) and (status == 200 or b"is still being read" in body)
            # of the index it is the whole recording
            assert {k: info[k] for k in ("calls", "first", "duration", "names", "list")} == {k: full[k] for k in ("calls", "first", "duration", "names", "list")}
            assert [(t["kind"], t["id"], t["rows"]) for t in info["tracks"]] == [(t["kind"], t["id"], t["rows"]) for t in full["tracks"]]
            fine = calls_of(c, full, pixel)
            assert sum(coarse.values()) == sum(fine.values()) == CALLS
            long = {k for k in fine if k[3] >= 64 * pixel and k[0] == "main"}
            assert long <= set(coarse)
            break
    assert seen, "it was never seen while it was read"


def test_what_makes_it_stale(w):
    """Another state of the file, damage, another version: the index is not used, and written
    anew."""
    dat = recorded(w)
    index = w.path("many.dat.index")
    use(w, dat)
    with open(index, "rb") as f:
        good = f.read()
    rng = random.Random(5)
    bad = {"cut": good[:-8], "longer": good + bytes(8), "empty": b"", "short": good[:64], "version": good[:8] + b"\xff" + good[9:]}
    for i in range(4):
        at = rng.randrange(120, len(good))
        bad[f"byte {at}"] = good[:at] + bytes([good[at] ^ 1 << i]) + good[at + 1:]
    for what, at in (("last time", 0x4b), ("number of calls", 0x51), ("too deep", 0x58), ("has states", 0x68)):
        bad[what] = good[:at] + bytes([good[at] ^ 1]) + good[at + 1:]
    for what, data in bad.items():
        with open(index, "wb") as f:
            f.write(data)
        use(w, dat)
        with open(index, "rb") as f:
            # what has no magic any more is not known as ours and stays
            assert f.read() == (data if what == "empty" else good), what
        if what == "empty":
            os.unlink(index)
    os.utime(w.path("many.dat"), ns=(1, 1))
    use(w, dat)
    with open(index, "rb") as f:
        assert f.read(200) != good[:200]


def test_whose_folder(w):
    """Beside the file only where no other user may write; else in a folder of 0700. No link is
    followed."""
    dat = recorded(w, "d")
    os.chmod(w.path("d"), 0o777)
    use(w, dat)
    (name,) = os.listdir(w.path("cache/vestige"))
    assert name.endswith(".index") and os.listdir(w.path("d")) == ["many.dat"]
    assert stat.S_IMODE(os.stat(w.path("cache/vestige")).st_mode) == 0o700
    os.unlink(w.path(f"cache/vestige/{name}"))
    os.chmod(w.path("cache/vestige"), 0o755)
    use(w, dat)  # another user could have put something there: none is used
    assert not os.listdir(w.path("cache/vestige"))
    os.chmod(w.path("d"), 0o755)
    with open(w.path("precious"), "w", encoding="utf-8") as f:
        f.write("the user's")
    os.symlink("../precious", w.path("d/many.dat.index"))
    use(w, dat)
    os.unlink(w.path("d/many.dat.index"))
    os.rename(w.path("precious"), w.path("d/many.dat.index"))
    use(w, dat)
    with open(w.path("d/many.dat.index"), encoding="utf-8") as f:
        assert f.read() == "the user's"
    os.unlink(w.path("d/many.dat.index"))
    os.mkfifo(w.path("d/many.dat.index"))
    use(w, dat)
    os.unlink(w.path("d/many.dat.index"))
    use(w, "--no-index", dat)
    # an index is of all that is recorded
    use(w, "--demangle=full", dat)
    assert os.listdir(w.path("d")) == ["many.dat"]


def test_small_and_bad_files(w):
    """A small recording gets no index; one that is cut says so and leaves none."""
    dat = recorded(w)
    with open(w.path(dat), "rb") as f:
        data = f.read()
    with open(w.path("bad.dat"), "wb") as f:
        f.write(data[:len(data) // 3])
    err = w.run("view", "bad.dat", status=1).stderr.decode()
    assert "bad.dat" in err
    w.run("record", "-q", "-p", "function_graph", "-l", "main", "-o", "small.dat", "--", w.path("many"))
    with server(w, "small.dat") as c:
        assert whole(c)["calls"] == 1
    assert not os.path.exists(w.path("small.dat.index")) and not os.path.exists(w.path("bad.dat.index"))


if __name__ == "__main__":
    main(globals())
