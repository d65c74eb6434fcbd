# SPDX-License-Identifier: MIT
"""vestige for gdb: a frame filter that leaves our stubs out of backtraces.

Under the function_graph tracer a call of a traced function goes through a stub in libvestige.so,
which is a frame of its own between the function and its caller. gdb finds the way through it by
the stub's unwind rules; this filter only leaves it out of what `bt` prints (`bt -no-filters` shows
it, and the numbers of frames still count it).

Installed beside libvestige.so as libvestige.so-gdb.py, where gdb loads it by itself when the
folder is in its auto-load safe-path; else `source` it.
"""
import gdb

STUBS = "graph_stubs"


class VestigeFilter:
    """Leaves out frames whose pc lies in the section of stubs."""

    name = "vestige"
    priority = 100
    enabled = True

    def __init__(self):
        gdb.frame_filters[self.name] = self

    @staticmethod
    def is_stub(frame):
        # in the library, or in a program that is linked with libvestige.a
        where = gdb.solib_name(frame.pc())
        return frame.name() == STUBS and (where is None or "libvestige" in where)

    def filter(self, frames):
        for decorator in frames:
            frame = decorator.inferior_frame()
            # the innermost is where the program stopped: always shown
            if frame.newer() is None or not self.is_stub(frame):
                yield decorator


VestigeFilter()
