# SPDX-License-Identifier: MIT
"""The peers that record calls: uftrace, XRay, LTTng-UST, perf."""
import contextlib
import glob
import os
import re
import shutil
import subprocess
import tempfile
import time

import harness
from harness import PATCHABLE, PLAIN, VESTIGE, calls, compiled, peer, row, sh


def bench_peers():
    print("the same program (recursive calls) under the peers: what each adds to a call")
    program = compiled("peer_vestige", PATCHABLE)
    dat = f"{harness.folder}/peer.dat"
    peer("vestige, function (entry and caller)", lambda: calls(program, "fib", 10, "ftrace=nop")[0],
         lambda: calls(program, "fib", 10, "ftrace=function")[0])
    peer("vestige record, function", lambda: calls(program, "fib", 10, "ftrace=nop")[0],
         lambda: calls(program, "fib", 10, prefix=(VESTIGE, "record", "-q", "-o", dat, "--"))[0])
    peer("vestige record, function_graph", lambda: calls(program, "fib", 10, "ftrace=nop")[0],
         lambda: calls(program, "fib", 10, prefix=(VESTIGE, "record", "-q", "-p", "function_graph", "-o", dat,
                                                   "--"))[0])
    cyg, plain = compiled("peer_our_cyg", [*PLAIN, "-finstrument-functions"]), compiled("peer_bare", PLAIN)
    peer("vestige, function_graph by -finstrument-functions", lambda: calls(plain, "fib", 10)[0],
         lambda: calls(cyg, "fib", 10, "ftrace=function_graph")[0])
    peer_uftrace()
    peer_xray()
    peer_lttng()
    peer_perf()


def peer_uftrace():
    if not shutil.which("uftrace"):
        return row("uftrace", "not installed")
    plain = compiled("peer_plain", PLAIN)
    program = compiled("peer_uftrace", [*PLAIN, "-pg"])
    data = f"{harness.folder}/uftrace.data"

    def traced():
        ns = calls(program, "fib", 2, prefix=("uftrace", "record", "--no-libcall", "-d", data))[0]
        shutil.rmtree(data, ignore_errors=True)
        return ns
    try:
        peer("uftrace record, -pg (entry and exit)", lambda: calls(plain, "fib", 2)[0], traced)
    except (subprocess.CalledProcessError, TypeError) as e:
        row("uftrace", "did not run", note=str(getattr(e, "stderr", e)).strip()[-60:])


def peer_xray():
    if not shutil.which("clang"):
        return row("XRay", "clang is not installed")
    plain = compiled("peer_clang", ["-O2"], cc="clang")
    try:
        program = compiled("peer_xray", ["-O2", "-fxray-instrument", "-fxray-instruction-threshold=1"],
                           cc="clang")
    except subprocess.CalledProcessError:
        return row("XRay", "clang has no XRay runtime (libclang-rt-14-dev)")
    for mode in ("xray-fdr", "xray-basic"):
        options = f"patch_premain=true xray_mode={mode} xray_logfile_base={harness.folder}/xray. verbosity=0"
        # by default XRay leaves short calls out
        every = "func_duration_threshold_us=0"
        env = {"XRAY_OPTIONS": options, "XRAY_FDR_OPTIONS": every, "XRAY_BASIC_OPTIONS": every}

        def traced(env=env):
            ns = calls(program, "fib", 2, env=env)[0]
            for name in os.listdir(harness.folder):
                if name.startswith("xray."):
                    os.unlink(f"{harness.folder}/{name}")
            return ns
        try:
            peer(f"clang XRay, {mode} (entry and exit)", lambda: calls(plain, "fib", 2)[0], traced, 3)
        except (subprocess.CalledProcessError, TypeError) as e:
            row(f"clang XRay, {mode}", "did not run", note=str(getattr(e, "stderr", e)).strip()[-60:])
    return None


@contextlib.contextmanager
def lttng_session(*event_names):
    """A session daemon of our own, for as long as this takes: the environment for its programs."""
    home = tempfile.mkdtemp(prefix="lttng-", dir=harness.folder)
    # its library makes these and never removes them
    there = set(glob.glob("/dev/shm/lttng-ust-wait-*"))
    env = {"LTTNG_HOME": home, "HOME": home}
    log = open(f"{home}/log", "w", encoding="utf-8")
    daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdin=subprocess.DEVNULL, stdout=log,
                              stderr=log, env={**os.environ, **env})
    try:
        for _ in range(100):
            if sh("lttng", "--no-sessiond", "list", env=env, check=False).returncode == 0:
                break
            time.sleep(0.1)
        for argv in (["create", "vestige-bench", "--output", f"{home}/trace"],
                     ["enable-channel", "--userspace", "--subbuf-size", "1M", "--num-subbuf", "8", "c"],
                     *(["enable-event", "--userspace", "--channel", "c", name] for name in event_names),
                     ["add-context", "--userspace", "--channel", "c", "--type", "vtid"],
                     ["start"]):
            sh("lttng", "--no-sessiond", *argv, env=env)
        yield env
    finally:
        sh("lttng", "--no-sessiond", "destroy", "vestige-bench", env=env, check=False)
        daemon.terminate()
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
        log.close()
        for name in set(glob.glob("/dev/shm/lttng-ust-wait-*")) - there:
            os.unlink(name)


def lttng_missing():
    """A row with the reason why LTTng is missing; None: it is installed."""
    if not shutil.which("lttng-sessiond") or not glob.glob("/usr/include/**/lttng/tracepoint.h", recursive=True):
        return "not installed", ""
    if subprocess.run(["pidof", "lttng-sessiond"], stdout=subprocess.DEVNULL).returncode == 0:
        return "left out", "another user's session daemon runs"
    return None


def peer_lttng():
    missing = lttng_missing()
    if missing:
        return row("LTTng-UST", missing[0], note=missing[1])
    plain = compiled("peer_plain2", PLAIN)
    program = compiled("peer_lttng", [*PLAIN, "-DLTTNG"], libs=("-llttng-ust", "-ldl"))
    try:
        with lttng_session("vestige_bench:call", "lttng_ust_cyg_profile_fast:*") as env:
            cyg = compiled("peer_cyg", [*PLAIN, "-finstrument-functions"])
            peer("LTTng-UST, cyg-profile-fast (entry and exit)", lambda: calls(plain, "fib", 2)[0],
                 lambda: calls(cyg, "fib", 2, env={**env, "LD_PRELOAD": "liblttng-ust-cyg-profile-fast.so"})[0])
            peer("LTTng-UST, a tracepoint a call (entry)", lambda: calls(plain, "fib", 2)[0],
                 lambda: calls(program, "fib", 2, env=env)[0])
    except subprocess.CalledProcessError as e:
        row("LTTng-UST", "did not run", note=(e.stderr or "").strip()[-60:])
    return None


def peer_perf():
    """perf: samples cost by time, not by call; a uprobe is a trap for each call. perf's probe is
    removed at the end."""
    if not shutil.which("perf"):
        return row("perf", "not installed")
    plain = compiled("peer_perf", PLAIN)
    data = f"{harness.folder}/perf.data"

    def traced(*events):
        def once():
            ns = calls(plain, "fib", 1, prefix=("perf", "record", "-q", *events, "-o", data, "--"))[0]
            os.unlink(data)
            return ns
        return once
    try:
        peer("perf record, cpu-clock at 4,000 Hz with -g (samples, not calls)", lambda: calls(plain, "fib", 1)[0],
             traced("-e", "cpu-clock", "-F", "4000", "-g"))
    except (subprocess.CalledProcessError, TypeError) as e:
        row("perf record, samples", "did not run", note=str(getattr(e, "stderr", e)).strip()[-60:])
    group = f"vestige_bench_{os.getpid()}"
    try:
        function = re.search(r" t (fib\S*)$", sh("nm", plain).stdout, re.M)[1]
        for where in (function, f"{function}%return"):
            sh("perf", "probe", "-q", "-x", plain, f"{group}:fib={where}")
        peer("perf record, uprobes (entry and exit)", lambda: calls(plain, "fib", 1)[0], traced("-e", f"{group}:*"), 1)
    except (subprocess.CalledProcessError, TypeError) as e:
        row("perf record, uprobes", "did not run", note=str(getattr(e, "stderr", e)).strip()[-60:])
    finally:
        sh("perf", "probe", "-q", "-d", f"{group}:*", check=False)
    return None
