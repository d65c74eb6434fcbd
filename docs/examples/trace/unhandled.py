# SPDX-License-Identifier: MIT
"""Each event and mark in a line, as it comes; of a running process too.

    vestige script -P PID unhandled.py
"""


def trace_unhandled(event_name, context, event_fields_dict):
    print(f"{context.time / 1e9:.9f} {context.thread}-{context.tid} {context.event}: {context.text}", flush=True)
