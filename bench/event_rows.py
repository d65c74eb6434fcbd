# SPDX-License-Identifier: MIT
"""The cost of events: tracepoints of a program, and events of calls into libc."""
import glob
import re
import shutil
import subprocess

from harness import BENCH, LIBRARY, ROOT, compiled, event_costs, rdtsc_ns, row
from peer_rows import lttng_missing, lttng_session


def bench_events():
    flags = ["-O2", f"-I{ROOT}/include"]
    cost = event_costs(compiled("events", flags, f"{BENCH}/events.c"), {"LD_PRELOAD": LIBRARY})
    ratio = cost["on"] / cost["rdtsc"]
    row("event with two ints, on / one rdtsc", f"{ratio:.2f} ({cost['on']:.1f} ns)", "<= 1.35", ratio <= 1.35)
    row("off", f"{cost['off']:.2f} ns", "<= 0.3 ns", cost["off"] <= 0.3)
    row("a call of atrace.h whose tag is off", f"{cost['tag']:.2f} ns", "<= 0.3 ns", cost["tag"] <= 0.3)
    row("a filter of three terms says no", f"{cost['refused']:.1f} ns", "<= 5 ns", cost["refused"] <= 5)
    row("it says yes", f"{cost['passed']:.1f} ns")
    row("a string of 23 characters", f"{cost['text']:.1f} ns")
    row("trace_printk(\"%d %s\\n\") / one rdtsc", f"{cost['bprint'] / cost['rdtsc']:.2f} ({cost['bprint']:.1f} ns)",
        note=f"as text {cost['print']:.0f} ns, snprintf() alone {cost['snprintf']:.0f} ns, bputs {cost['bputs']:.1f} ns")
    row("hist trigger, one key", f"{cost['counted']:.1f} ns", "<= 60 ns", 0.5 < cost["counted"] <= 60)
    missing = lttng_missing()
    if missing:
        return row("LTTng-UST", missing[0], note=missing[1])
    try:
        peer_program = compiled("events_lttng", [*flags, "-DLTTNG"], f"{BENCH}/events.c",
                                libs=("-llttng-ust", "-ldl"))
        with lttng_session("vestige_bench:two_ints") as env:
            theirs = event_costs(peer_program, env)["lttng"]
        row("LTTng-UST / vestige, two ints", f"{theirs / cost['on']:.1f} ({theirs:.1f} ns)", ">= 5",
            theirs / cost["on"] >= 5)
    except subprocess.CalledProcessError as e:
        row("LTTng-UST", "did not run", note=(e.stderr or "").strip()[-60:])
    return None


def bench_strace(program, plain, ours):
    """The time that strace adds to a system call."""
    if not shutil.which("strace"):
        return row("strace / sys_enter and sys_exit", "not here")
    p = subprocess.run(["strace", "-f", "-o", "/dev/null", program, "20"], stdout=subprocess.PIPE, text=True, check=True)
    theirs = float(re.search(r"^getppid (\S+)$", p.stdout, re.M)[1]) - plain
    return row("strace / sys_enter and sys_exit", f"{theirs / ours:.0f} ({theirs:.0f} ns)")


def bench_kmem():
    """The cost of events of libc's calls: malloc() and free(), lock and unlock of a mutex, a system
    call."""
    program = compiled("kmem", ["-O2", "-fno-builtin", f"-I{ROOT}/include"], f"{BENCH}/kmem.c", libs=("-pthread",))
    cost = event_costs(program, {"LD_PRELOAD": LIBRARY})
    ours = cost["kmalloc"] - cost["malloc"]
    row("kmalloc and kfree, added to malloc and free", f"{ours:.1f} ns", note=f"the two calls: {cost['malloc']:.1f} ns")
    each = (cost["kmemtrace"] - cost["malloc"]) / 2
    row("kmemtrace, a call of malloc() or free()", f"{each:.1f} ns", "<= 60 ns", each <= 60)
    each = cost["kmemtrace_stacks"] - cost["malloc"]
    row("kmemtrace with stacks, malloc() and free()", f"{each:.0f} ns", "<= 1000 ns", each <= 1000)
    row("lock_acquired and lock_release, added to a mutex", f"{cost['lock'] - cost['mutex']:.1f} ns")
    row("contention of a mutex that is free", f"{cost['contention'] - cost['mutex']:.1f} ns", note=f"the two calls: {cost['mutex']:.1f} ns")
    # the words of the loader's tables are restored (tracers/upheaval-words); both runs have a
    # second thread
    added = cost["mutex"] - event_costs(f"{program} 100 thread", {})["mutex"]
    row("a lock's two calls after all tracers were on and off, added", f"{added:.1f} ns", "<= 1 ns",
        added <= 1)
    row("prove_locking, added to a mutex", f"{cost['lock_order'] - cost['mutex']:.1f} ns")
    stamps = 2 * rdtsc_ns()
    added = cost["preemptoff"] - cost["mutex"] - stamps
    row("preemptoff, added to a mutex taken and given back, without its two stamps", f"{added:.1f} ns", "<= 40 ns", added <= 40,
        note=f"the stamps: {stamps:.1f} ns")
    added = cost["irqsoff"] - cost["sigmask"] - stamps / 2
    row("irqsoff, added to a change of the signal mask, without its stamp", f"{added:.1f} ns", "<= 15 ns", added <= 15,
        note=f"the call: {cost['sigmask']:.0f} ns")
    row("mmiotrace, a store that is seen", f"{cost['mmiotrace'] / 1000:.2f} us")
    row("a likely() that is recorded and counted", f"{cost['branch'] - cost['place']:.1f} ns",
        note=f"off, with its loop: {cost['place']:.1f} ns")
    call = cost["syscall"] - cost["getppid"]
    row("sys_enter and sys_exit, added to getppid()", f"{call:.1f} ns", note=f"the call: {cost['getppid']:.1f} ns")
    bench_strace(program, cost["getppid"], call)
    wrapper = glob.glob("/usr/lib/*/liblttng-ust-libc-wrapper.so")
    missing = lttng_missing() or (None if wrapper else ("not here", "no liblttng-ust-libc-wrapper.so"))
    if missing:
        return row("LTTng-UST's wrapper of malloc", missing[0], note=missing[1])
    with lttng_session("lttng_ust_libc:*") as env:
        theirs = event_costs(f"{program} 400", {**env, "LD_PRELOAD": wrapper[0]})["malloc"] - cost["malloc"]
    row("LTTng-UST's wrapper / kmalloc and kfree", f"{theirs / ours:.1f} ({theirs:.1f} ns)")
    return None
