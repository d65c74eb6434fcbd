# SPDX-License-Identifier: MIT
"""Real programs under load, for scripts/bench: the same work untraced and with each tracer, in
turn.

A program is built once, with the flag; untraced is that build without the engine.
"""
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, f"{ROOT}/tests/real")


def modes(five):
    """(name, VESTIGE_BOOT or None) of each way to run; @five: functions for the last one."""
    return [("untraced", None), ("nop", "ftrace=nop"), ("function", "ftrace=function"),
            ("function_graph", "ftrace=function_graph"),
            ("5 functions", f"ftrace=function_graph ftrace_filter={','.join(five)}")]


def environment(bench, boot, areas=None):
    env = {**os.environ, "VESTIGE_DIR": areas or f"{bench.folder}/areas", "LC_ALL": "C"}
    return {**env, "LD_PRELOAD": bench.LIBRARY, "VESTIGE_BOOT": boot} if boot else env


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until_it_listens(port, server):
    while server.poll() is None:
        with socket.socket() as s:
            if not s.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.01)
    raise OSError(f"the server ended with status {server.returncode}")


def load_rows(bench, what, unit, runs):
    """
    A row a mode, of rounds of interleaved runs. @runs: {mode: function that loads it once and gives
    (operations a second, ms of the slowest hundredth)}. The first mode is what the others are
    compared with.
    """
    got = {name: [] for name in runs}
    for _ in range(1 if bench.quick else 3):
        for name, run in runs.items():
            got[name].append(run())
    base = statistics.median(g[0] for g in next(iter(got.values())))
    for name, g in got.items():
        rate, p99 = statistics.median(x[0] for x in g), statistics.median(x[1] for x in g)
        bench.row(f"{what}, {name}", f"{rate / base:.3f} of untraced's {unit}/s",
                  note=f"{rate:.0f} {unit}/s, p99 {p99:.2f} ms")


NGINX = """daemon off; worker_processes 1; user root; error_log {at}/errors crit; pid {at}/pid;
events {{ worker_connections 64; }}
http {{ access_log {at}/log; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy;
fastcgi_temp_path {at}/fastcgi; uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;
server {{ listen 127.0.0.1:{port}; location / {{ root {at}; }} }} }}
"""
NGINX_FIVE = ("ngx_http_process_request", "ngx_http_handler", "ngx_http_static_handler", "ngx_http_finalize_request",
              "ngx_http_log_handler")
MS = {"us": 1e-3, "ms": 1, "s": 1e3}


def wrk(port, seconds):
    """(requests a second, ms of the slowest hundredth): 16 connections that are kept, one
    thread."""
    p = subprocess.run(["wrk", "-t1", "-c16", f"-d{seconds}s", "--latency", f"http://127.0.0.1:{port}/page"],
                       stdout=subprocess.PIPE, text=True, check=True)
    assert "Non-2xx" not in p.stdout, p.stdout
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)\b", p.stdout)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", p.stdout)[1]), float(p99[1]) * MS[p99[2]]


def nginx(bench):
    print("nginx under wrk: a file of 1 KiB, 16 connections that are kept, one worker")
    if not shutil.which("wrk"):
        return bench.row("nginx", "not measured", note="wrk is not installed")
    program = bench.sh(f"{ROOT}/scripts/build-workload", "nginx", "gcc", "-O2", "-g",
                       "-fpatchable-function-entry=6").stdout.strip()
    servers, runs = [], {}
    try:
        for i, (name, boot) in enumerate(modes(NGINX_FIVE)):
            at, port = f"{bench.folder}/nginx{i}", free_port()
            os.mkdir(at)
            for path, text in (("page", "x" * 1023 + "\n"), ("conf", NGINX.format(at=at, port=port))):
                with open(f"{at}/{path}", "w", encoding="utf-8") as f:
                    f.write(text)
            servers.append(subprocess.Popen([program, "-p", at, "-e", f"{at}/errors", "-c", f"{at}/conf"], stdin=subprocess.DEVNULL,
                                            env=environment(bench, boot)))
            until_it_listens(port, servers[-1])
            runs[name] = lambda port=port: wrk(port, 1 if bench.quick else 2)
        load_rows(bench, "nginx", "requests", runs)
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait()
        bench.empty_areas()
    return None


POSTGRES_FIVE = ("exec_simple_query", "pg_parse_query", "pg_plan_queries", "PortalRun", "ExecutorRun")
PGBENCH = "/usr/lib/postgresql/15/bin/pgbench"
PG_OPTIONS = "-c fsync=off -c listen_addresses=127.0.0.1 -c unix_socket_directories="


def postgresql(bench):
    print("PostgreSQL under pgbench -S: one row by its key, 4 sessions")
    import postgresql as it   # tests/real, which builds it
    if not os.path.exists(PGBENCH):
        return bench.row("PostgreSQL", "not measured", note="pgbench is not installed (postgresql-15)")
    os.environ["BUILD_DIR"] = bench.BUILD
    try:
        bin_folder = f"{it.prepare()}/installed/bin"
    except it.real.Skip as e:
        return bench.row("PostgreSQL", "not measured", note=str(e))
    os.chmod(bench.folder, 0o711)
    at = f"{bench.folder}/postgresql"
    os.mkdir(at)
    areas = f"/dev/shm/{os.path.basename(bench.folder)}-postgresql"
    os.mkdir(areas, 0o700)
    user = {}
    if it.UID is not None:
        user = {"user": it.UID, "group": it.UID, "extra_groups": []}
        for path in (at, areas):
            os.chown(path, it.UID, it.UID)
    env = {**environment(bench, None), "HOME": at}

    def call(*argv, **more):
        return subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, cwd=at, **{"env": env, **user, **more}).stdout

    def load(port):
        for name in os.listdir(at):
            if name.startswith("took."):
                os.unlink(f"{at}/{name}")
        out = call(PGBENCH, "-h", "127.0.0.1", "-p", str(port), "-U", "bench", "-S", "-c4", "-n",
                   f"-T{1 if bench.quick else 2}", "-l", "--log-prefix=took", "postgres")
        took = []
        for name in os.listdir(at):
            if name.startswith("took."):
                with open(f"{at}/{name}", encoding="ascii") as f:
                    took += [int(line.split()[2]) for line in f]
        return float(re.search(r"tps = ([\d.]+)", out)[1]), sorted(took)[len(took) * 99 // 100] / 1e3

    servers, runs = [], {}
    try:
        call(f"{bin_folder}/initdb", "-U", "bench", "-A", "trust", "-N", "-D", f"{at}/0")
        for i, (name, boot) in enumerate(modes(POSTGRES_FIVE)):
            port = free_port()
            if i:
                call("cp", "-a", f"{at}/0.whole", f"{at}/{i}")
            servers.append(subprocess.Popen([f"{bin_folder}/postgres", "-D", f"{at}/{i}", "-p", str(port),
                                             *PG_OPTIONS.split()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL, cwd=at, **user,
                                            env={**environment(bench, boot, areas), "HOME": at}))
            until_it_listens(port, servers[-1])
            if not i:
                call(PGBENCH, "-h", "127.0.0.1", "-p", str(port), "-U", "bench", "-i", "-q", "postgres")
                servers[0].terminate()
                servers[0].wait()
                call("cp", "-a", f"{at}/0", f"{at}/0.whole")
                servers[0] = subprocess.Popen(servers[0].args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                              stderr=subprocess.DEVNULL, cwd=at, env=env, **user)
                until_it_listens(port, servers[0])
            runs[name] = lambda port=port: load(port)
        load_rows(bench, "PostgreSQL", "transactions", runs)
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait()
        shutil.rmtree(areas)
    return None
