# SPDX-License-Identifier: MIT
"""samples - the cost of the tracer sysprof."""


def rows(bench):
    """A thousand samples a second of eight threads, 20 calls deep, in their CPU time."""
    program = bench.compiled("sysprof", ["-O2", f"-I{bench.ROOT}/include"], f"{bench.BENCH}/sysprof.c",
                             libs=("-pthread",))
    cost = bench.event_costs(program, {"LD_PRELOAD": bench.LIBRARY})
    more = 100 * (cost["sysprof"] / cost["plain"] - 1)
    bench.row("sysprof, 20 frames, 8 threads, 1 kHz", f"{more:.2f} %", "<= 1 %", more <= 1)
    if cost["empty"]:
        kernels = 100 * (cost["empty"] / cost["plain"] - 1)
        bench.row("the same with a handler that does nothing", f"{kernels:.2f} %",
                  note="what the kernel and the hypervisor take for perf's timer and the signal")
