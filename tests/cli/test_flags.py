# SPDX-License-Identifier: MIT
"""vestige flags, and C++ built as users build it: g++ 12 cannot link two files with
-fpatchable-function-entry=6 alone."""
import os
import shutil
import subprocess

from cli_test import BIN, FLAG, Skip, main, need, until

BUILD = os.environ["BUILD_DIR"]

# Both files have the vector's growth, of which the linker keeps one.
FILES = {
    "a.cc": """
#include "h.h"
int grow(std::vector<unsigned> &v, unsigned x) { v.push_back(x); shape s; return s.area(1); }
""",
    "b.cc": """
#include "h.h"
int grow(std::vector<unsigned> &v, unsigned x);
struct square : shape { int area(int n) override { return n * n; } };
shape *make() { return new shape; }
int main()
{
	std::vector<unsigned> v;
	for (unsigned i = 0; i < 10; i++) { v.push_back(i); grow(v, i); }
	shape *s = make();
	int n = s->area(2);
	delete s;
	return n - 2;
}
""",
    "h.h": """
#include <vector>
struct shape { virtual ~shape() {} virtual int area(int n) { return n; } };
""",
}


def write(w):
    for name, text in FILES.items():
        with open(w.path(name), "w") as f:
            f.write(text)


def compiler(w, *words, status=0):
    return subprocess.run(words, cwd=w.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).returncode == status


def recorded(w, program):
    w.run("record", "-q", "-p", "function", program)
    return w.counts()


def each_cxx():
    for cxx in "g++", "clang++":
        if shutil.which(cxx):
            yield cxx


def test_two_files(w):
    write(w)
    for cxx in each_cxx():
        flags = w.run("flags", cxx).stdout.decode().split()
        for level in "-O0", "-O2":
            assert compiler(w, cxx, level, *flags, "-o", "two", "a.cc", "b.cc"), (cxx, flags)
            calls = recorded(w, "./two")
            assert calls["main"] == 1 and sum(n for name, n in calls.items() if "grow" in name) == 10, calls


def test_compiled_then_linked(w):
    write(w)
    for cxx in each_cxx():
        compile_with = w.run("flags", "--cflags", cxx).stdout.decode().split()
        link_with = w.run("flags", "--ldflags", cxx).stdout.decode().split()
        for name in "a", "b":
            assert compiler(w, cxx, "-O2", *compile_with, "-c", f"{name}.cc")
        assert compiler(w, cxx, *link_with, "-o", "two", "a.o", "b.o")
        assert recorded(w, "./two")["main"] == 1


def test_pkg_config(w):
    need("pkg-config")
    need("g++")
    write(w)
    env = dict(os.environ, PKG_CONFIG_PATH=f"{BUILD}/meson-private")

    def said(name):
        return subprocess.run(["pkg-config", "--define-variable=libdir=" + BUILD, "--variable=" + name, "vestige"],
                              env=env, check=True, stdout=subprocess.PIPE).stdout.decode().split()

    assert compiler(w, "g++", "-O2", *said("trace_cflags"), *said("trace_ldflags"), "-o", "two", "a.cc", "b.cc")
    assert recorded(w, "./two")["main"] == 1


def test_other_linkers(w):
    """The build's own flags are tried together with ours."""
    write(w)
    tried = 0
    for linker in "gold", "lld":
        if not (shutil.which("g++") and shutil.which(f"ld.{linker}")):
            continue
        tried += 1
        flags = w.run("flags", "--cflags", "g++", f"-fuse-ld={linker}").stdout.decode().split()
        link_with = w.run("flags", "--ldflags", "g++", f"-fuse-ld={linker}").stdout.decode().split()
        for name in "a", "b":
            assert compiler(w, "g++", "-O2", *flags, "-c", f"{name}.cc")
        assert compiler(w, "g++", f"-fuse-ld={linker}", *link_with, "-o", "two", "a.o", "b.o"), linker
        assert recorded(w, "./two")["main"] == 1
    if not tried:
        raise Skip("neither gold nor lld is installed")


def test_c(w):
    for cc in "gcc", "clang":
        if shutil.which(cc):
            assert w.run("flags", cc).stdout.decode().strip() == FLAG


def test_none_works(w):
    with open(w.path("cc-without"), "w") as f:
        f.write("#!/bin/sh\nexit 1\n")
    os.chmod(w.path("cc-without"), 0o755)
    err = w.run("flags", "./cc-without", status=1).stderr.decode()
    assert "no flag works with ./cc-without" in err and "record --unmodified" in err, err
    assert "rustc" not in err, err
    os.rename(w.path("cc-without"), w.path("rustc"))
    err = w.run("flags", "./rustc", status=1).stderr.decode()
    assert "-Zpatchable-function-entry=6" in err, err
    err = w.run("flags", "no-such-compiler++", status=1).stderr.decode()
    assert "no-such-compiler++: no such compiler" in err, err
    w.run("flags", "--cflags", "--ldflags", status=2)


def test_nothing_left(w):
    env = {"TMPDIR": w.path("tmp")}
    os.mkdir(w.path("tmp"))
    w.run("flags", "cc", env=env)
    w.run("flags", "false", env=env, status=1)
    assert os.listdir(w.path("tmp")) == []
    err = w.run("flags", "cc", env={"TMPDIR": w.path("nowhere")}, status=1).stderr.decode()
    assert "set TMPDIR" in err, err
    # a compiler that waits until a file is there
    with open(w.path("cc-slow"), "w") as f:
        f.write('#!/bin/sh\ncase $* in *--version*) exit 0; esac\n: > began\nwhile [ ! -e on ]; do sleep 0.02; done\nexit 1\n')
    os.chmod(w.path("cc-slow"), 0o755)
    p = subprocess.Popen([BIN, "flags", "./cc-slow"], cwd=w.dir, env={**w.env, **env}, stderr=subprocess.PIPE, text=True)
    until(lambda: os.path.exists(w.path("began")))
    p.terminate()
    with open(w.path("on"), "w"):
        pass
    err = p.communicate(timeout=100)[1]
    assert p.returncode == 1 and "interrupted" in err, (p.returncode, err)
    assert os.listdir(w.path("tmp")) == []


def test_doctor_names_it(w):
    need("g++")
    write(w)
    assert compiler(w, "g++", "-O2", "-o", "two", "a.cc", "b.cc")
    out = w.run("doctor", "./two").stdout.decode()
    assert "vestige\nflags g++" in out, out


def test_doctor_and_system_libraries(w):
    out = w.run("doctor", w.prog).stdout.decode()
    assert "system libraries, which are not part of the program" in out and "libc.so.6" in out, out
    assert out.count("build it with") <= 1, out


main(globals())
