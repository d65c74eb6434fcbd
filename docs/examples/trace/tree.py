# SPDX-License-Identifier: MIT
"""The calls as a tree, with arguments and results where they were recorded.

    vestige script tree.py
"""


def uftrace_entry(ctx):
    print("  " * ctx["depth"] + ctx["name"] + ctx.get("args", "()") + " {")


def uftrace_exit(ctx):
    result = f" = {ctx['record'].text}" if ctx["record"].text else ""
    print("  " * ctx["depth"] + "}" + f"{result} /* {ctx['name']} {ctx['duration'] / 1000:.3f} us */")
