# SPDX-License-Identifier: MIT
"""System calls by number and by the function that made them; the hook is perf script's.
vestige script -i trace.dat syscalls.py"""
import collections

made = collections.Counter()


def raw_syscalls__sys_enter(event_name, context, common_cpu, common_secs, common_nsecs, common_pid, common_comm,
                            common_callchain, id, args, perf_sample_dict):
    made[id, common_callchain[0]["sym"]["name"] if common_callchain else "?"] += 1


def trace_end():
    for (number, function), times in sorted(made.items()):
        print(f"{times:8} {number:4} {function}")
