# SPDX-License-Identifier: MIT
"""Calls that returned a negative number, by function; record with -O funcgraph-retval.
vestige script errors.py"""
import collections
import ctypes

failed = collections.Counter()


def uftrace_exit(ctx):
    value = ctypes.c_int(ctx.get("retval", 0) & 0xffffffff).value
    if -4096 < value < 0:
        failed[ctx["name"], value] += 1


def uftrace_end():
    for (name, value), times in sorted(failed.items()):
        print(f"{times:8} {name} = {value}")
