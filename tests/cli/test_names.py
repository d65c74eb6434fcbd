# SPDX-License-Identifier: MIT
"""Functions can be named as in the C++ or Rust source, in all commands and control files."""
import contextlib
import ctypes
import http.server
import os
import re
import shutil
import subprocess
import threading

from cli_test import Skip, main, need

LIBRARY = os.environ["BUILD_DIR"] + "/libvestige.so"
SOURCE = os.environ["SOURCE_DIR"]
FLAG = "-fpatchable-function-entry=6"

# Reads numbers and calls everything so often.
TEXT = r"""
#include <cstdio>
#include <cstdlib>
#define FN __attribute__((noinline))
extern "C" FN void plain(int i) { asm volatile("" ::"r"(i)); }
extern "C" FN void both(int i) { asm volatile("" ::"r"(i)); }
FN void both(const char *s) { asm volatile("" ::"r"(s)); }
FN void leaf(int i) { asm volatile("" ::"r"(i)); }
FN void leaf(const char *s) { asm volatile("" ::"r"(s)); }
namespace ns {
FN void leaf(int i) { asm volatile("" ::"r"(i)); }
FN void two(int i) { leaf(i); ::leaf(i); asm volatile(""); }
struct box { FN box() { asm volatile(""); } FN ~box() { asm volatile(""); }
	FN void *operator new(size_t n) { asm volatile(""); return malloc(n); } FN bool operator<(int n) { asm volatile(""); return n > 3; } };
}
template <class T> FN T tpl(T t) { asm volatile(""); return t + 1; }
FN void all() { plain(1); both(1); both("b"); leaf(1); leaf("x"); ns::two(2); ns::box *b = new ns::box; (void)(*b < 3); delete b;
	tpl<int>(1); tpl<long>(2); asm volatile(""); }
int main(int argc, char **argv)
{
	int n;
	if (argc > 1) { for (n = 0; n < atoi(argv[1]); n++) all(); return 0; }
	puts("ready"); fflush(stdout);
	while (scanf("%d", &n) == 1) { for (int i = 0; i < n; i++) all(); printf("%d\n", n); fflush(stdout); }
}
"""

# a pattern, and the calls that it means, once each
PATTERNS = [
    ("leaf", ["leaf(int)", "leaf(char const*)", "leaf(int)"]),
    ("leaf(int)", ["leaf(int)", "leaf(int)"]),
    ("leaf( char const* )", ["leaf(char const*)"]),
    ("_Z4leafi", ["leaf(int)", "leaf(int)"]),
    ("ns::leaf", ["ns::leaf(int)"]),
    ("ns::*", ["ns::two(int)", "ns::leaf(int)", "ns::box::operator new(unsigned long)", "ns::box::box()",
               "ns::box::operator<(int)", "ns::box::~box()"]),
    ("ns::box::operator<", ["ns::box::operator<(int)"]),
    ("ns::box::operator new", ["ns::box::operator new(unsigned long)"]),
    ("ns::box::box", ["ns::box::box()"]),
    ("ns::box::~box()", ["ns::box::~box()"]),
    ("tpl", ["int tpl<int>(int)", "long tpl<long>(long)"]),
    ("tpl<int>", ["int tpl<int>(int)"]),
    ("long tpl<long>(long)", ["long tpl<long>(long)"]),
    ("both", ["both", "both(char const*)"]),        # one of C, one of C++
    ("both(char const*)", ["both(char const*)"]),
    ("pl*", ["plain"]),
    ("ns::leaf,plain,leaf(char const*)", ["ns::leaf(int)", "plain", "leaf(char const*)"]),
]


def program(w):
    need("g++")
    with open(w.path("names.cc"), "w") as f:
        f.write(TEXT)
    subprocess.run(["g++", "-O1", "-g", FLAG, w.path("names.cc"), "-o", w.path("names")], check=True)
    return w.path("names")


def recorded(w, name="trace.dat"):
    """The called functions in order, with the source's names."""
    text = w.run("report", "--format=trace", "--demangle=full", name).stdout.decode()
    return re.findall(r" [\d.]+: (.*) <-", text)


@contextlib.contextmanager
def running(w, prog, **env):
    p = subprocess.Popen([prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=w.dir,
                         env=dict(w.env, LD_PRELOAD=LIBRARY, **env))
    try:
        assert p.stdout.readline() == b"ready\n"
        yield p
    finally:
        p.kill()
        p.wait()
        p.stdin.close()
        p.stdout.close()
        w.run("clean")


def call(p, n=1):
    p.stdin.write(b"%d\n" % n)
    p.stdin.flush()
    assert p.stdout.readline() == b"%d\n" % n


def test_record(w):
    prog = program(w)
    for pattern, calls in PATTERNS:
        w.run("record", "-q", "-l", pattern, prog, 1)
        assert sorted(recorded(w)) == sorted(calls), (pattern, recorded(w))
    w.run("record", "-q", "-l", "ns::*", "-l", "tpl", "-n", "ns::box::*", prog, 2)
    assert sorted(recorded(w)) == sorted(2 * ["ns::two(int)", "ns::leaf(int)", "int tpl<int>(int)", "long tpl<long>(long)"])


def test_record_graph(w):
    prog = program(w)
    for words, calls in ((["-g", "ns::two"], {"ns::two(int)", "ns::leaf(int)", "leaf(int)"}),
                         (["-g", "ns::two(int)", "--graph-notrace", "ns::leaf"], {"ns::two(int)", "leaf(int)"})):
        w.run("record", "-q", "-p", "function_graph", *words, prog, 1)
        got = set(re.findall(r"\| +(?:\} /\* )?(.*?)(?:\(\))?(?:;| \{| \*/)$",
                             w.run("replay", "--demangle=full").stdout.decode(), re.M))
        assert {g if g.endswith(")") else g + "()" for g in got} == {c for c in calls}, (words, got)


def test_started_once(w):
    """Names are looked up before the program starts, so that constructors of its libraries run
    once. Names of libraries count; functions of the name that cannot be traced do not matter."""
    need("g++")
    with open(w.path("lib.cc"), "w") as f:
        f.write("""#include <cstdio>
namespace ns { __attribute__((noinline)) int of_lib(int i) { asm volatile(""); return i; }
__attribute__((noinline, patchable_function_entry(0))) int bare(int i) { asm volatile(""); return i; } }
__attribute__((constructor)) static void begin() { fputs("constructed\\n", stderr); ns::of_lib(1); ns::bare(1); }
""")
    with open(w.path("prog.cc"), "w") as f:
        f.write("""namespace ns { int of_lib(int i); __attribute__((noinline)) int own(int i) { asm volatile(""); return i; } }
int main() { return ns::of_lib(0) + ns::own(0); }
""")
    for words in (["-shared", "-fPIC", "lib.cc", "-o", "libonce.so"], ["prog.cc", "-L.", "-lonce", "-Wl,-rpath,$ORIGIN", "-o", "once"]):
        subprocess.run(["g++", "-O1", FLAG, *words], check=True, cwd=w.dir)
    p = w.run("record", "-q", "-l", "ns::*", "./once")
    assert p.stderr == b"constructed\n", p.stderr
    assert recorded(w) == ["ns::of_lib(int)", "ns::of_lib(int)", "ns::own(int)"], recorded(w)
    p = w.run("record", "-q", "-l", "ns::bare", "./once", status=125)
    assert p.stderr.count(b"no function that can be traced matches ns::bare") == 1, p.stderr


def test_nothing_has_the_name(w):
    prog = program(w)
    for pattern in "ns::nosuch", "leaf(long)", "nosuch":
        p = w.run("record", "-q", "-l", pattern, prog, 1, status=125)
        assert f"no function that can be traced matches {pattern}:" in p.stderr.decode(), p.stderr
        assert p.stderr.count(b"\n") == 1, p.stderr


def test_the_program_of_a_script(w):
    """Names of the source are looked up in the program that a script starts."""
    prog = program(w)
    with open(w.path("script"), "w") as f:
        f.write(f"#!/bin/sh\n{prog} 1\n")
    os.chmod(w.path("script"), 0o755)
    p = w.run("record", "-q", "-l", "ns::leaf", "./script", status=125)
    assert b"has no function that can be traced" in p.stderr and b"list -f" in p.stderr, p.stderr
    w.run("record", "-q", "-l", "_ZN2ns4leafEi", "./script")
    assert recorded(w) == ["ns::leaf(int)"]


def test_many(w):
    """More names than the environment can hold are passed by their common beginnings."""
    need("g++")
    names = [f"function_of_a_long_name_{'x' * 60}_{i}" for i in range(2000)]
    with open(w.path("many.cc"), "w") as f:
        f.write("namespace deep { namespace inner {\n" + "".join(f"__attribute__((noinline)) void {n}() {{ asm volatile(\"\"); }}\n" for n in names) +
                "}\n__attribute__((noinline)) void other() { asm volatile(\"\"); }\n}\nint main() {\n" +
                "".join(f"deep::inner::{n}();\n" for n in names) + "deep::other();\n}\n")
    subprocess.run(["g++", "-O1", FLAG, w.path("many.cc"), "-o", w.path("many")], check=True)
    w.run("record", "-q", "-l", "deep::inner::*", "./many")
    assert len(recorded(w)) == 2000 and all("inner" in n for n in recorded(w))
    w.run("record", "-q", "-l", "*_1?99", "-l", "deep::inner::*_7()", "./many")
    assert len(recorded(w)) == 11, recorded(w)


def test_control_files(w):
    prog = program(w)
    with running(w, prog) as p:
        def shown(name):
            return {line.split()[0] for line in w.run("get", "-P", p.pid, name).stdout.decode().splitlines() if line[0] != "#"}

        def put(name, *words, append=False, status=0):
            return w.run("set", "-P", p.pid, *(["-a"] if append else []), name, *words, status=status).stderr.decode()

        for name in "set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "set_graph_notrace":
            put(name, "leaf(char const*) ns::leaf plain")
            assert shown(name) == {"_Z4leafPKc", "_ZN2ns4leafEi", "plain"}, (name, shown(name))
            put(name, "!leaf(char const*)", append=True)
            assert shown(name) == {"_ZN2ns4leafEi", "plain"}, (name, shown(name))
            assert "Invalid argument" in put(name, "ns::nosuch", status=1)
            put(name, "")
        # restricted to an object
        put("set_ftrace_filter", "ns::leaf:mod:names")
        assert shown("set_ftrace_filter") == {"_ZN2ns4leafEi"}
        # commands
        put("set_ftrace_filter", "")
        put("set_ftrace_filter", "ns::leaf:traceoff:1 leaf:stacktrace:2", append=True)
        assert shown("set_ftrace_filter") == {"_ZN2ns4leafEi:traceoff:count=1", "_Z4leafi:stacktrace:count=2",
                                              "_Z4leafPKc:stacktrace:count=2"}, shown("set_ftrace_filter")
        put("set_ftrace_filter", "!leaf:stacktrace:2 !ns::leaf:traceoff:1", append=True)
        assert shown("set_ftrace_filter") == set()
        # a probe is at one function; the source's parameters choose among several
        put("kprobe_events", "p:one ns::two i:s32", append=True)
        put("kprobe_events", "p:two leaf(char const*) s:string", append=True)
        put("kprobe_events", "r:three ns::leaf", append=True)
        put("kprobe_events", "p:four names:ns::leaf+0", append=True)
        said = put("kprobe_events", "p:five leaf", append=True, status=1)
        assert "several functions have the name leaf: give the parameters" in said, said
        put("events/kprobes/enable", "1")
        call(p, 2)
        text = w.run("show", "-P", p.pid).stdout.decode()
        assert [len(re.findall(rf"\b{n}: ", text)) for n in ("one", "two", "three", "four")] == [2, 2, 2, 2], text
        assert "i=2" in text and 's="x"' in text, text
        # a predicate
        put("events/kprobes/one/filter", "__probe_ip.function == ns::two(int) && i == 2")
        assert "ns3two" in w.run("get", "-P", p.pid, "events/kprobes/one/filter").stdout.decode()
        put("events/kprobes/enable", "0")


def test_start(w):
    prog = program(w)
    with running(w, prog) as p:
        w.run("start", "-P", p.pid, "-l", "ns::*", "-n", "ns::box::*")
        call(p)
        w.run("stop", "-P", p.pid)
        w.run("extract", "-P", p.pid)
        assert recorded(w) == ["ns::two(int)", "ns::leaf(int)"], recorded(w)


def test_views(w):
    prog = program(w)
    w.run("record", "-q", "-p", "function_graph", prog, 1)
    for pattern, other in (("leaf(int)", False), ("leaf(char const*)", False), ("ns::two", False), ("tpl<int>", False), ("leaf(long)", True)):
        out = w.run("replay", "-F", pattern).stdout.decode()
        assert (out == "") == other, (pattern, out)
    assert "who called leaf(char const*)" in w.run("graph", "leaf(char const*)").stdout.decode()


def test_list_shows_both(w):
    prog = program(w)
    lines = w.run("list", "-f", prog).stdout.decode().splitlines()
    assert "_Z4leafi\tleaf(int)" in lines and "plain" in lines and "_ZN2ns4leafEi\tns::leaf(int)" in lines, lines
    w.run("record", "-q", prog, 1)
    assert "_Z4leafi\tleaf(int)" in w.run("list", "-f").stdout.decode().splitlines()


def test_rust(w):
    if not shutil.which("rustc"):
        raise Skip("no rustc")
    p = subprocess.run(["rustc", "-O", "-Zpatchable-function-entry=6", f"{SOURCE}/tests/targets/languages/fib.rs", "-o",
                        w.path("fib")], env=dict(w.env, RUSTC_BOOTSTRAP="1"), stderr=subprocess.PIPE)
    if p.returncode:
        raise Skip(f"rustc has no such flag: {p.stderr.decode()[:200]}")
    names = w.run("list", "-f", "./fib").stdout.decode()
    assert re.search(r"\tfib::fib$", names, re.M), names
    w.run("record", "-q", "-l", "fib::fib", "./fib")
    assert set(recorded(w)) == {"fib::fib"} and recorded(w)


def test_debuginfod(w):
    """A stripped program's names come from the server in DEBUGINFOD_URLS. Without that no server is
    asked; a file of another build is refused."""
    need("objcopy")
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError as e:
        raise Skip("no libdebuginfod") from e
    with open(w.path("kept.c"), "w", encoding="utf-8") as f:
        f.write("static __attribute__((noipa)) int hidden_one(int n) { volatile int a[4] = {n, 2}; return a[n & 1] * 3; }\n"
                "int main(int n, char **a) { (void)a; return hidden_one(n) - 3; }\n")
    subprocess.run("gcc -O1 -g -Wl,--build-id -o kept kept.c && gcc -O2 -g -Wl,--build-id -o other kept.c && "
                   "objcopy --only-keep-debug kept kept.debug && objcopy --only-keep-debug other other.debug && "
                   "strip -s kept", shell=True, cwd=w.dir, check=True)
    out = subprocess.run(["readelf", "-n", "kept"], cwd=w.dir, stdout=subprocess.PIPE, check=True).stdout.decode()
    build_id = re.search(r"Build ID: ([0-9a-f]+)", out)[1]
    asked, served = [], ["other.debug"]

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            if self.path != f"/buildid/{build_id}/debuginfo":
                self.send_error(404)
                return
            with open(w.path(served[0]), "rb") as f:
                data = f.read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}/"}

        def names(cache, **env):
            env = {"DEBUGINFOD_CACHE_PATH": w.path(cache), "DEBUGINFOD_URLS": "", **env}
            return w.run("list", "-f", "--unmodified", "./kept", env=env).stdout.decode().split()
        assert "hidden_one" not in names("no") and not asked, asked
        assert "hidden_one" not in names("wrong", **url) and f"/buildid/{build_id}/debuginfo" in asked, asked
        served[0] = "kept.debug"
        assert "hidden_one" in names("right", **url)
        server.shutdown()


main(globals())
