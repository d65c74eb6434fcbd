# SPDX-License-Identifier: MIT
"""CPython's own tests of threads, signals, children, crashes, generators, frames and modules of C,
by Debian's python3 (package libpython3.11-testsuite).

Debian's python3 is not built with the flag. nop tests the engine in the process and in its
children; the other tracers have all functions redirected.
"""
import glob
import os
import re
import xml.etree.ElementTree

import real

SHORT = True
TRACERS = ["nop", "+function", "+function_graph"]
LEAST = 1
FULL_MODULES = ["test_threading", "test_signal", "test_subprocess", "test_fork1", "test_faulthandler", "test_asyncio",
                "test_ctypes", "test_heapq", "test_contextlib", "test_copy", "test_enumerate", "test_generators", "test_coroutines",
                "test_asyncgen", "test_frame", "test_traceback", "test_sys_settrace", "test_exceptions", "test_gc", "test_weakref", "test_descr",
                "test_re", "test_json", "test_struct", "test_dict", "test_math", "test_hashlib", "test_zlib", "test_bz2", "test_lzma", "test_pyexpat",
                "test_mmap", "test_select", "test_queue", "test_thread", "test_threadsignals", "test_readline", "test_curses",
                "test_pickle", "test_io"]
SHORT_MODULES = ["test_fork1", "test_ctypes", "test_frame", "test_coroutines", "test_sys_settrace", "test_select", "test_threadsignals"]
PYTHON = "/usr/bin/python3"


def prepare():
    if not glob.glob("/usr/lib/python3.*/test/test_fork1.py"):
        raise real.Skip("there is no package libpython3-testsuite")


def run(it, full, only, env, folder):
    modules = FULL_MODULES if full else SHORT_MODULES
    match = []
    if only:
        modules = [m for m in modules if any(f".{m}." in t for t in only)]
        for t in only:
            match += ["-m", t]
    verdicts = {}
    for module in modules:
        xml_file = f"{folder}/{module}.xml"
        status, text = real.output([PYTHON, "-m", "test", "--junit-xml", xml_file, *match, module], 1200, cwd=folder,
                                   env={**env, "HOME": folder})
        verdicts[module] = re.search(r"== Tests result: (.*) ==", text)[1] if "== Tests result:" in text else f"status {status}"
        if verdicts[module] == "SUCCESS":
            verdicts[module] = "ok"
        if not os.path.exists(xml_file):
            continue
        for case in xml.etree.ElementTree.parse(xml_file).iter("testcase"):
            bad = case.find("failure") is not None or case.find("error") is not None
            verdicts[case.get("name")] = "failed" if bad else "skip" if case.find("skipped") is not None else "ok"
    return verdicts
