# SPDX-License-Identifier: MIT
"""A profiler in Debian's programs finds each stack to its end while all of their functions are
redirected: a handler of SIGPROF unwinds with libgcc, through islands and wrapped calls."""
import hashlib
import os
import re

import real

SHORT = True
TRACERS = ["+function", "+function_graph"]
LEAST = 4
WAIT_S = 300

# A stack is whole when the unwinder says that it ended and one of its last two frames is libc's:
# main()'s ends with _start beyond __libc_start_main(), a thread's with clone3().
PROFILER = r"""
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unwind.h>

static _Atomic long stacks, whole;
static unsigned long libc_begin, libc_end;
struct walk { unsigned long last, before; };

static int find_libc(struct dl_phdr_info *i, size_t size, void *p)
{
	if (!strstr(i->dlpi_name, "/libc.so.6"))
		return 0;
	for (int k = 0; k < i->dlpi_phnum; k++)
		if (i->dlpi_phdr[k].p_type == PT_LOAD && (i->dlpi_phdr[k].p_flags & PF_X)) {
			libc_begin = i->dlpi_addr + i->dlpi_phdr[k].p_vaddr;
			libc_end = libc_begin + i->dlpi_phdr[k].p_memsz;
		}
	return 1;
}

static _Unwind_Reason_Code frame(struct _Unwind_Context *c, void *p)
{
	struct walk *w = p;

	if (_Unwind_GetIP(c)) {
		w->before = w->last;
		w->last = _Unwind_GetIP(c);
	}
	return _URC_NO_REASON;
}

static int in_libc(unsigned long ip)
{
	return ip >= libc_begin && ip < libc_end;
}

static void on_prof(int sig)
{
	struct walk w = {0};

	stacks++;
	if (_Unwind_Backtrace(frame, &w) == _URC_END_OF_STACK && (in_libc(w.last) || in_libc(w.before)))
		whole++;
}

__attribute__((constructor)) static void begin(void)
{
	struct walk w = {0};

	dl_iterate_phdr(find_libc, 0);
	_Unwind_Backtrace(frame, &w);
	sigaction(SIGPROF, &(struct sigaction){.sa_handler = on_prof, .sa_flags = SA_RESTART}, 0);
	setitimer(ITIMER_PROF, &(struct itimerval){{0, 1000}, {0, 1000}}, 0);
}

__attribute__((destructor)) static void end(void)
{
	FILE *f;

	setitimer(ITIMER_PROF, &(struct itimerval){0}, 0);
	f = fopen(getenv("PROFILER_OUT"), "a");
	if (f) {
		fprintf(f, "%ld stacks, %ld whole\n", stacks, whole);
		fclose(f);
	}
}
"""
CMAKE = "foreach(i RANGE 1 900)\nstring(REGEX REPLACE \"([a-z])([0-9]+)\" \"q\" m \"${m}abc${i}\")\nendforeach()\nmessage(\"${m}\")\n"
SQL = "with recursive n(x) as (select 1 union all select x + 1 from n where x < 300000) select count(*), sum(length(hex(x))) from n"
PYTHON = "import json; print(len(json.dumps([{str(i): [i]} for i in range(100000)])), sum(i * i for i in range(300000)))"
JOBS = {
    "cmake": ["/usr/bin/cmake", "-P", "script.cmake"],
    "ninja": ["/usr/bin/ninja", "-n"],
    "rg": ["/usr/bin/rg", "-c", "-j2", "(1|2)+3.*[^0]9(7|8)?[a-z]*$", "text"],
    "sqlite3": ["/usr/bin/sqlite3", ":memory:", SQL],
    "python3": ["/usr/bin/python3", "-c", PYTHON],
}


def prepare():
    if not any(os.path.exists(argv[0]) for argv in JOBS.values()):
        raise real.Skip(f"none of {', '.join(JOBS)} is installed")


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def run(it, full, only, env, folder):
    write(f"{folder}/profiler.c", PROFILER)
    library = f"{folder}/profiler.so"
    plain = {k: v for k, v in env.items() if k not in ("LD_PRELOAD", "VESTIGE_BOOT")}
    real.call(["gcc", "-O1", "-w", "-fPIC", "-shared", "-o", library, f"{folder}/profiler.c"], env=plain)
    write(f"{folder}/script.cmake", CMAKE)
    write(f"{folder}/build.ninja", "rule t\n command = true $out\n" + "".join(f"build o{i}: t text\n" for i in range(20000)))
    write(f"{folder}/text", "".join(f"{i * 7919 % 100003} word {i}\n" for i in range(400000)))
    verdicts = {}
    for name, argv in JOBS.items():
        if (only and not any(t.split()[0] == name for t in only)) or not os.path.exists(argv[0]):
            continue
        report = f"{folder}/{name}.stacks"
        status, text = real.output(argv, WAIT_S, cwd=folder, env={
            **env, "HOME": folder, "LC_ALL": "C", "PROFILER_OUT": report, "LD_PRELOAD": f"{env.get('LD_PRELOAD', '')} {library}".strip()})
        verdicts[f"{name} {hashlib.sha256(text.encode()).hexdigest()[:16]}"] = "ok" if status == 0 else f"status {status}"
        with open(report, encoding="utf-8") as f:
            stacks, whole = map(int, re.search(r"(\d+) stacks, (\d+) whole", f.read()).groups())
        verdicts[f"{name} stacks"] = "ok" if stacks == whole > 0 else f"{whole} of {stacks} stacks are whole"
        if os.environ.get("VESTIGE_REAL_TEXT"):
            print(f"== {name}: {status}, {whole} of {stacks} stacks are whole")
    return verdicts
