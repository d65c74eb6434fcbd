# SPDX-License-Identifier: MIT
"""Stacks with their own time, as flame graphs are made of.    vestige script folded.py | sort"""
import collections

own = collections.Counter()


def uftrace_exit(ctx):
    stack = ctx["record"].stack()
    own[";".join(f.name or hex(f.address) for f in reversed(stack))] += ctx["self"]


def uftrace_end():
    for stack, ns in own.items():
        if ns:
            print(stack, ns)
