# SPDX-License-Identifier: MIT
"""Boost.Context's and Boost.Coroutine2's own tests: contexts by assembler and by ucontext, with
exceptions in and across them.

Built by g++ with what `vestige flags g++` says; the headers are Debian's.
"""
import concurrent.futures
import inspect
import os
import re

import real

SHORT = False  # minutes of CPU time
TRACERS = real.ALL_TRACERS
LEAST = 9
FLAGS = ["-O2", "-g1", "-w", "-pthread"]
STACKS = "context/src/posix/stack_traits.cpp"
ASM = [f"context/src/asm/{n}_x86_64_sysv_elf_gas.S" for n in ("make", "jump", "ontop")]
UCONTEXT = ["context/src/continuation.cpp", "context/src/fiber.cpp"]
FILES = {"fcontext": "context/test/test_fcontext.cpp", "invoke": "context/test/test_invoke.cpp",
         "apply": "context/test/test_apply.cpp", "fiber": "context/test/test_fiber.cpp",
         "callcc": "context/test/test_callcc.cpp", "coroutine": "coroutine2/test/test_coroutine.cpp"}
BY_UCONTEXT = ["fiber", "callcc", "coroutine"]


def flags():
    status, text = real.output([os.environ["BUILD_DIR"] + "/vestige", "flags", "g++"], 60)
    assert status == 0, text
    return text.split()


def make(source, folder):
    with open(f"{folder}/framework.cpp", "w", encoding="utf-8") as f:
        f.write("#include <boost/test/included/unit_test.hpp>\n")
    compile_flags = [f for f in flags() if not f.startswith("-Wl,")]

    def unit(job):
        path, defined = job
        path = path if path.startswith("/") else f"{source}/libs/{path}"
        o = f"{folder}/{'u-' if defined else ''}{os.path.basename(path)}.o"
        real.call(["g++", *FLAGS, *compile_flags, *defined, "-c", "-o", o, path])
        return o

    ucontext = ["-DBOOST_USE_UCONTEXT"]
    jobs = [(f"{folder}/framework.cpp", []), (STACKS, []), *((a, []) for a in ASM), *((FILES[n], []) for n in FILES),
            *((u, ucontext) for u in UCONTEXT), *((FILES[n], ucontext) for n in BY_UCONTEXT)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        objects = dict(zip((f"{path} {bool(defined)}" for path, defined in jobs), pool.map(unit, jobs)))
    common = [objects[f"{folder}/framework.cpp False"], objects[f"{STACKS} False"]]
    for n, path in FILES.items():
        real.call(["g++", *FLAGS, *flags(), "-o", f"{folder}/{n}", objects[f"{path} False"], *common,
                   *(objects[f"{a} False"] for a in ASM)])
    for n in BY_UCONTEXT:
        real.call(["g++", *FLAGS, *flags(), "-o", f"{folder}/{n}-ucontext", objects[f"{FILES[n]} True"], *common,
                   *(objects[f"{u} True"] for u in UCONTEXT)])
    for o in objects.values():
        os.unlink(o)


def prepare():
    if not os.path.exists("/usr/include/boost/test/included/unit_test.hpp"):
        raise real.Skip("there is no package libboost-dev")
    shown = " ".join(flags()).replace(os.environ["BUILD_DIR"], "")
    return real.built("boost", "boost1.74", make, recipe=f"{FLAGS} {shown} {FILES} {BY_UCONTEXT} {inspect.getsource(make)}")


def run(it, full, only, env, folder):
    programs = [*FILES, *(f"{n}-ucontext" for n in BY_UCONTEXT)]
    if only:
        programs = sorted({t.partition(" ")[0] for t in only})
    verdicts = {}
    for program in programs:
        for _ in range(20 if full else 1):
            status, text = real.output([f"{it}/{program}", "--report_level=detailed", "--color_output=no"], 120,
                                       cwd=folder, env=env)
            now = {program: "ok" if status == 0 else f"status {status}"}
            for case, verdict in re.findall(r'^\s*Test case "(?:.*/)?(\w+)" has (\w+)', text, re.M):
                now[f"{program} {case}"] = "ok" if verdict == "passed" else verdict
            # of many runs the bad one counts
            verdicts |= {k: v for k, v in now.items() if v != "ok" or k not in verdicts}
    return verdicts
