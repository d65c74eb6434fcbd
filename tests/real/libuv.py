# SPDX-License-Identifier: MIT
"""libuv's own tests: threads, signals, fork, spawn, sockets; a process for each of some 400."""
import concurrent.futures
import glob
import inspect
import os
import re

import real

SHORT = True
TRACERS = real.ALL_TRACERS
LEAST = 30
FLAGS = ["-O1", "-g1", real.FLAG, "-pthread", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-w"]
# those that the checks run
CHOSEN = re.compile(r"^(fork_(timer|socketpair|signal_to_child|threadpool_queue_work_simple)|spawn_(exit_code|stdout|"
                    r"detached|and_kill|closed_process_io|quoted_path|fs_open)|kill|signal_multiple_loops|we_get_signal|"
                    r"thread_(create|rwlock|mutex)|threadpool_(queue_work_simple|cancel_work|multiple_event_loops)|async|"
                    r"barrier_serial_thread|condvar_2|semaphore_1|loop_(alive|stop|handles)|tcp_ping_pong|pipe_ping_pong|"
                    r"udp_send_and_recv|fs_event_watch_dir|fs_file_async|timer|dlerror|getaddrinfo_basic|process_title)$")
# They connect to an address outside: the network decides, and when it does.
OUTSIDE = {"tcp_close_while_connecting", "tcp_connect_timeout"}
NOT_UNIX = re.compile(r"/(?:tcp|udp|fs|thread)\w*-win|-win\.c$|blackhole-server|benchmark|runner|run-tests|run-benchmarks")
OTHERS = ("aix", "darwin", "bsd", "sunos", "os390", "ibmi", "haiku", "cygwin", "qnx", "hurd", "kqueue", "fsevents",
          "android", "posix-hrtime", "posix-poll", "no-fsevents", "no-proctitle", "pthread-fixes", "random-getentropy")


def sources(source):
    test = open(f"{source}/CMakeLists.txt", encoding="utf-8").read()
    named = re.findall(r"\b(test/(?:test|echo)-[\w-]+\.c|test/blackhole-server\.c)", test)
    own = [c for c in glob.glob(f"{source}/src/*.c") + glob.glob(f"{source}/src/unix/*.c")
           if not any(o in os.path.basename(c) for o in OTHERS)]
    return own + sorted({f"{source}/{c}" for c in named} | {f"{source}/test/{c}.c" for c in
                                                            ("run-tests", "runner", "runner-unix")})


def make(source, folder):
    files = sources(source)
    objects = [f"{folder}/{i}.o" for i in range(len(files))]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda x: real.call(["gcc", *FLAGS, f"-I{source}/include", f"-I{source}/src", "-c", "-o", *x]),
                      zip(objects, files)))
    # tests that include a source of libuv's have its functions, too
    real.call(["gcc", "-rdynamic", "-Wl,-z,muldefs", "-o", f"{folder}/uv_run_tests", *objects, "-pthread", "-ldl", "-lrt"])
    os.makedirs(f"{folder}/test")
    real.call(["cp", "-r", f"{source}/test/fixtures", f"{folder}/test/fixtures"])
    for o in objects:
        os.unlink(o)


def prepare():
    return real.built("libuv", "libuv1", make, recipe=f"{FLAGS} {OTHERS} {inspect.getsource(make)}{inspect.getsource(sources)}")


def run(it, full, only, env, folder):
    os.symlink(f"{it}/test", f"{folder}/test")
    env = {**env, "UV_RUN_AS_ROOT": "1", "UV_TEST_TIMEOUT_MULTIPLIER": "10"}
    tests = only or [t for t in real.output([f"{it}/uv_run_tests", "--list"], 60, cwd=folder, env=env)[1].split()
                     if (full or CHOSEN.match(t)) and t not in OUTSIDE]
    assert tests, "no test is listed"
    verdicts = {}
    for test in tests:
        status, text = real.output([f"{it}/uv_run_tests", test], 120, cwd=folder, env=env)
        skipped = re.search(r"^(?:ok|not ok) \d+ - \S+ # SKIP", text, re.M)
        verdicts[test] = "skip" if skipped else "ok" if status == 0 else f"status {status}"
    return verdicts
