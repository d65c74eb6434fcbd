# SPDX-License-Identifier: MIT
"""Read recordings of vestige and of trace-cmd, the traces of other tools, and running processes.

    import vestige_trace

    with vestige_trace.open("trace.dat", functions=["handle_*"]) as trace:
        for record in trace:
            if record.kind == vestige_trace.CALL:
                print(record.name, record.duration)

This is libvestige-trace (libvestige-trace(3)) by ctypes: there is nothing to build. Times are
nanoseconds of the trace's clock. A record is valid until the next one is read; record.copy() keeps
what it has.

As a program it runs the hooks of a script over a trace: that is `vestige script`, see
vestige-script(1).
"""
import builtins
import collections
import ctypes
import inspect
import os
import signal
import sys
import traceback

ENTER, CALL, FUNCTION, EVENT, PRINT = 1, 2, 4, 8, 16
TAIL, UNWOUND, NO_EXIT, UNFINISHED, BROKEN, CUT_BEGIN, CUT_END, RESULT = 1, 2, 4, 8, 16, 64, 128, 256
__all__ = ["open", "live", "Trace", "Record", "Info", "Frame", "version", "ENTER", "CALL", "FUNCTION", "EVENT", "PRINT",
           "TAIL", "UNWOUND", "NO_EXIT", "UNFINISHED", "BROKEN", "CUT_BEGIN", "CUT_END", "RESULT"]

_UNSIGNED, _SIGNED, _STRING, _ARRAY = 1, 2, 3, 4
_SONAME = "libvestige-trace.so.1"
_UNKNOWN_CPU = 2**32 - 1


class _Record(ctypes.Structure):
    """struct vestige_trace_record"""
    _fields_ = [("kind", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("time", ctypes.c_uint64),
                ("duration", ctypes.c_uint64), ("self", ctypes.c_uint64), ("address", ctypes.c_uint64),
                ("caller", ctypes.c_uint64), ("result", ctypes.c_uint64), ("tid", ctypes.c_int32),
                ("pid", ctypes.c_int32), ("cpu", ctypes.c_uint32), ("depth", ctypes.c_uint32),
                ("thread", ctypes.c_char_p), ("name", ctypes.c_char_p), ("object", ctypes.c_char_p),
                ("system", ctypes.c_char_p)]


class _Info(ctypes.Structure):
    """struct vestige_trace_info"""
    _fields_ = [("clock", ctypes.c_char_p), ("tracer", ctypes.c_char_p), ("command", ctypes.c_char_p),
                ("host", ctypes.c_char_p), ("nr_cpus", ctypes.c_uint32), ("time_is_ns", ctypes.c_uint32),
                ("realtime_offset_ns", ctypes.c_uint64), ("lost", ctypes.c_uint64)]


class _Field(ctypes.Structure):
    """struct vestige_trace_field"""
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_uint32), ("bytes", ctypes.c_uint32),
                ("number", ctypes.c_uint64), ("data", ctypes.c_void_p), ("element_bytes", ctypes.c_uint32),
                ("is_pointer", ctypes.c_uint32)]


_T, _S, _U32, _U64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64
_FUNCTIONS = {  # name: result, arguments
    "open": (_T, _S), "open_live": (_T, ctypes.c_int), "close": (None, _T), "error": (_S,), "version": (_S,),
    "info": (ctypes.POINTER(_Info), _T), "kinds": (ctypes.c_int, _T, _U32),
    "function_filter": (ctypes.c_int, _T, _S), "function_notrace": (ctypes.c_int, _T, _S),
    "event_filter": (ctypes.c_int, _T, _S), "tid": (ctypes.c_int, _T, ctypes.c_int32),
    "range": (ctypes.c_int, _T, _U64, _U64), "range_from_start": (ctypes.c_int, _T, _U64, _U64), "cpus": (ctypes.c_int, _T, _S), "max_depth": (ctypes.c_int, _T, _U32),
    "min_duration": (ctypes.c_int, _T, _U64), "timeout": (ctypes.c_int, _T, ctypes.c_int),
    "next": (ctypes.c_int, _T, ctypes.POINTER(ctypes.POINTER(_Record))), "text": (_S, _T),
    "field": (ctypes.POINTER(_Field), _T, ctypes.c_uint),
    "field_find": (ctypes.POINTER(_Field), _T, _S),
    "stack": (ctypes.c_uint, _T, ctypes.POINTER(_U64), ctypes.c_uint),
    "buffer": (_S, _T), "function": (_S, _T, _U64, ctypes.POINTER(_S)), "source": (_S, _T, _U64),
}


def _load():
    """The library: VESTIGE_TRACE_LIBRARY, else beside this file, else where the loader looks."""
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), _SONAME)
    path = os.environ.get("VESTIGE_TRACE_LIBRARY") or (here if os.path.exists(here) else _SONAME)
    try:
        library = ctypes.CDLL(path, use_errno=True)
    except OSError as why:
        raise ImportError(f"{why}: install libvestige-trace1, or name the library in VESTIGE_TRACE_LIBRARY") from None
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, "vestige_trace_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_lib = _load()
Info = collections.namedtuple("Info", "clock tracer command host nr_cpus time_is_ns realtime_offset_ns lost")
Frame = collections.namedtuple("Frame", "address name object")


def _text(value):
    return None if value is None else value.decode("utf-8", "replace")


def _error(err):
    """The exception of the last failure."""
    return OSError(err, _text(_lib.vestige_trace_error()) or os.strerror(err))


def version():
    """The library's version."""
    return _text(_lib.vestige_trace_version())


def open(path, **filters):  # pylint: disable=redefined-builtin
    """A recording as a Trace. The filters are Trace.filter()'s."""
    return Trace(lambda: _lib.vestige_trace_open(os.fsencode(path)), filters)


def live(pid=0, **filters):
    """The records of a running process as they come, which consumes them. 0: the only one that is
    traced."""
    return Trace(lambda: _lib.vestige_trace_open_live(pid), filters)


class Record:
    """A record: members as struct vestige_trace_record has them. Only the last one of a trace has
    text(), fields and stack()."""
    __slots__ = ("trace", "kind", "flags", "time", "duration", "self", "address", "caller", "result", "tid", "pid", "cpu",
                 "depth", "thread", "name", "object", "system", "number")

    def __init__(self, trace, raw):
        self.trace = trace
        self.number = trace.number
        self.kind, self.flags, self.time, self.duration = raw.kind, raw.flags, raw.time, raw.duration
        self.self, self.address, self.caller = raw.self, raw.address, raw.caller
        self.result = raw.result if raw.flags & RESULT else None
        self.tid, self.pid, self.depth = raw.tid, raw.pid, raw.depth
        self.cpu = None if raw.cpu == _UNKNOWN_CPU else raw.cpu
        self.thread, self.name, self.object, self.system = (trace.name(n) for n in (raw.thread, raw.name, raw.object, raw.system))

    def _is_last(self):
        if self.trace.handle is None or self.number != self.trace.number:
            raise ValueError("this record is not the trace's last one any more: ask it before the next one is read")

    @property
    def end(self):
        """When a call ended."""
        return self.time + self.duration

    @property
    def event(self):
        """system:name of an event."""
        return f"{self.system}:{self.name}" if self.system else self.name

    @property
    def text(self):
        """The rest of the record as `vestige report` prints it."""
        self._is_last()
        text = _lib.vestige_trace_text(self.trace.handle)
        if text is None:
            raise MemoryError
        return _text(text)

    @property
    def buffer(self):
        """The name of the buffer that it is of, "" of the top one."""
        self._is_last()
        return _text(_lib.vestige_trace_buffer(self.trace.handle))

    @property
    def fields(self):
        """The fields of an event by their names, in their order: int, str, or of an array a list of
        int."""
        self._is_last()
        out, i = {}, 0
        while True:
            f = _lib.vestige_trace_field(self.trace.handle, i)
            if not f:
                return out
            out[_text(f.contents.name)] = _value(f.contents)
            i += 1

    def __getitem__(self, name):
        """One field of an event."""
        self._is_last()
        f = _lib.vestige_trace_field_find(self.trace.handle, name.encode())
        if not f:
            raise KeyError(name)
        return _value(f.contents)

    def stack(self, limit=4096):
        """The calls that are open in the record's thread, the innermost first, as Frames."""
        self._is_last()
        addresses = (ctypes.c_uint64 * limit)()
        nr = _lib.vestige_trace_stack(self.trace.handle, addresses, limit)
        return [self.trace.frame(a) for a in addresses[:min(nr, limit)]]

    def __repr__(self):
        kind = {ENTER: "enter", CALL: "call", FUNCTION: "function", EVENT: "event", PRINT: "print"}[self.kind]
        return f"<{kind} {self.event} time={self.time} tid={self.tid}>"


def _value(field):
    if field.type == _UNSIGNED:
        return field.number
    if field.type == _SIGNED:
        return ctypes.c_int64(field.number).value
    data = ctypes.string_at(field.data, field.bytes) if field.bytes else b""
    if field.type == _STRING:
        return _text(data)
    each = field.element_bytes
    return [int.from_bytes(data[i:i + each], sys.byteorder) for i in range(0, len(data) - each + 1, each)]


def _several(value):
    """One value alone is a list of one."""
    return [value] if isinstance(value, (str, int)) else value


class Trace:
    """A trace, which gives its Records. Use it in one thread at a time, by `with` or close() it."""

    def __init__(self, opener, filters):
        self.handle, self.number, self._names = None, 0, {}
        self.handle = opener()
        if not self.handle:
            raise _error(ctypes.get_errno())
        try:
            self.filter(**filters)
        except BaseException:
            self.close()
            raise

    def filter(self, kinds=None, functions=(), notrace=(), events=(), tids=(), start=0, end=0, relative=False,
               cpus=None, max_depth=None, min_duration=None, timeout_ms=None):
        """Choose records, before the first one. kinds: a sum of ENTER, CALL, FUNCTION, EVENT,
        PRINT. functions: globs: these and what they call; notrace: not these. events: globs of
        system:name. start, end: times; relative: they count from the first record. cpus: "0,2-3".
        max_depth: levels of calls. min_duration: of calls, in ns. timeout_ms: of live()."""
        h = self._open()
        if start < 0 or end < 0:
            raise ValueError(f"start={start}, end={end}: times are not negative")
        functions, notrace, events, tids = (_several(v) for v in (functions, notrace, events, tids))
        calls = [("kinds", kinds)] if kinds is not None else []
        calls += [("function_filter", g.encode()) for g in functions] + [("function_notrace", g.encode()) for g in notrace]
        calls += [("event_filter", g.encode()) for g in events] + [("tid", t) for t in tids]
        calls += [("range_from_start" if relative else "range", start, end)] if start or end else []
        cpus = ",".join(str(c) for c in _several(cpus)) if cpus is not None else None
        calls += [("cpus", cpus.encode())] if cpus is not None else []
        calls += [(n, v) for n, v in (("max_depth", max_depth), ("min_duration", min_duration), ("timeout", timeout_ms))
                  if v is not None]
        for name, *values in calls:
            err = getattr(_lib, "vestige_trace_" + name)(h, *values)
            if err < 0:
                raise _error(-err)

    def _open(self):
        if self.handle is None:
            raise ValueError("the trace is closed")
        return self.handle

    def name(self, raw):
        """A name as str; names come again and again."""
        known = self._names.get(raw)
        if known is None and raw is not None:
            known = self._names[raw] = _text(raw)
        return known

    def __iter__(self):
        return self

    def __next__(self):
        raw = ctypes.POINTER(_Record)()
        ret = _lib.vestige_trace_next(self._open(), ctypes.byref(raw))
        self.number += 1
        if ret < 0:
            raise _error(-ret)     # EINTR: InterruptedError, ETIMEDOUT: TimeoutError
        if not ret:
            raise StopIteration
        return Record(self, raw.contents)

    @property
    def info(self):
        """What the trace says about itself."""
        i = _lib.vestige_trace_info(self._open()).contents
        return Info(_text(i.clock), _text(i.tracer), _text(i.command), _text(i.host), i.nr_cpus, bool(i.time_is_ns),
                    i.realtime_offset_ns, None if i.lost == 2**64 - 1 else i.lost)

    def frame(self, address):
        """The function at an address: Frame(address, name, object); name and object None where they
        are not known."""
        where = ctypes.c_char_p()
        name = _lib.vestige_trace_function(self._open(), address, ctypes.byref(where))
        return Frame(address, _text(name), _text(where.value))

    def source(self, address):
        """folder/file.c:12 of an address, or None."""
        return _text(_lib.vestige_trace_source(self._open(), address))

    def close(self):
        """Close it. Twice does no harm."""
        if self.handle is not None:
            _lib.vestige_trace_close(self.handle)
            self.handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "handle", None) is not None:
            self.close()


class _Hooks:
    """The functions of a script by the names that perf script and uftrace script give them."""

    def __init__(self, namespace, words):
        self.of = {n: f for n, f in namespace.items() if callable(f)}
        self.words = words
        self.events = {n for n in self.of if "__" in n.strip("_") and not n.startswith("_")}

    def call(self, name, *args):
        """Call a hook that is there with as many arguments as it takes."""
        function = self.of.get(name)
        if function is None:
            return
        try:
            inspect.signature(function).bind(*args)
        except TypeError:
            args = self._fitting(function, args)
        function(*args)

    @staticmethod
    def _fitting(function, args):
        taken = [p for p in inspect.signature(function).parameters.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return args[:len(taken)]

    def wants(self):
        """The kinds of records for which there are hooks."""
        kinds = ENTER if "uftrace_entry" in self.of else 0
        kinds |= CALL if "uftrace_exit" in self.of else 0
        if self.events or "uftrace_event" in self.of or "trace_unhandled" in self.of:
            kinds |= EVENT | PRINT
        return kinds


def _call_context(record):
    """What uftrace's hooks get."""
    ctx = {"tid": record.tid, "depth": record.depth, "timestamp": record.time, "name": record.name, "address": record.address,
           "pid": record.pid, "comm": record.thread, "cpu": record.cpu, "object": record.object, "record": record}
    if record.kind == CALL:
        ctx.update(timestamp=record.end, duration=record.duration, self=record.self)
        if record.result is not None:
            ctx["retval"] = record.result
    elif record.kind == ENTER:
        if text := record.text:
            ctx["args"] = text
    else:
        ctx.update(name=record.event, args=record.text)
    return ctx


def _event(hooks, record):
    name = f"{record.system or 'ftrace'}__{record.name}"
    if "uftrace_event" in hooks.of:
        hooks.call("uftrace_event", _call_context(record))
    if name not in hooks.of and "trace_unhandled" not in hooks.of:
        return
    fields = record.fields if record.kind == EVENT else {"buf": record.text}
    common = {"common_cpu": record.cpu, "common_s": record.time // 10**9, "common_ns": record.time % 10**9,
              "common_pid": record.tid, "common_comm": record.thread,
              "common_callchain": [{"ip": f.address, "sym": {"name": f.name}, "dso": f.object} for f in record.stack()]}
    if name in hooks.of:
        hooks.call(name, name, record, *common.values(), *fields.values(), {"values": [], "sample": common})
    else:
        hooks.call("trace_unhandled", name, record, {**common, **fields}, {"sample": common})


def _has_calls(path):
    """Whether a recording has calls with entry and exit, though filters may leave all of them
    out."""
    with open(path, kinds=ENTER) as trace:
        return trace.info.tracer == "function_graph" or any(True for _ in trace)


def _run(trace, hooks, path):
    """path: of a recording, None: a running process"""
    hooks.call("trace_begin")
    hooks.call("uftrace_begin", {"record": False, "version": version(), "cmds": hooks.words})
    status = nr = 0
    try:
        for nr, record in enumerate(trace, 1):
            if record.kind == ENTER:
                hooks.call("uftrace_entry", _call_context(record))
            elif record.kind == CALL:
                hooks.call("uftrace_exit", _call_context(record))
            else:
                _event(hooks, record)
    except KeyboardInterrupt:
        # of a running process it is the way to end
        if path:
            raise
        status = 130
    hooks.call("uftrace_end")
    hooks.call("trace_end")
    if path and not nr and hooks.wants() & (ENTER | CALL) and not _has_calls(path):
        print(f"vestige: '{path}' has no calls with entry and exit: record it with -p function_graph; `vestige report` shows "
              "other records", file=sys.stderr)
        status = 1
    lost = trace.info.lost
    if lost != 0:
        print(f"vestige: script: {'some' if lost is None else lost} records were lost: counts and times are too low", file=sys.stderr)
    return status


def _interrupt(*_):
    raise KeyboardInterrupt


def _filters(words):
    """--NAME=VALUE as `vestige script` gives them. Return: filters, the other words."""
    filters, rest = {}, list(words)
    numbers = ("tids", "start", "end", "max_depth", "min_duration", "relative")
    while rest and rest[0] != "--":
        name, _, value = rest.pop(0)[2:].partition("=")
        if name in ("functions", "notrace", "events", "tids"):
            filters.setdefault(name, []).append(int(value) if name in numbers else value)
        else:
            filters[name] = int(value) if name in numbers else value
    return filters, rest[1:]


def _script(words):
    """--input=FILE|--pid=PID [--FILTER=VALUE ...] -- SCRIPT [ARGS]"""
    filters, rest = _filters(words)
    script = rest[0]
    path, pid = filters.pop("input", None), filters.pop("pid", None)
    sys.argv = rest
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    namespace = {"__name__": "__main__", "__file__": script, "vestige_trace": sys.modules.get("vestige_trace", sys.modules[__name__])}
    with builtins.open(script, "rb") as f:   # with the encoding that it names
        source = f.read()
    try:
        code = compile(source, script, "exec")
    except (SyntaxError, ValueError) as why:
        if getattr(why, "lineno", None):
            raise
        print(f"vestige: script: '{script}' is not a Python script: {why}", file=sys.stderr)
        return 1
    exec(code, namespace)  # pylint: disable=exec-used
    hooks = _Hooks(namespace, rest)
    kinds = hooks.wants()
    if not kinds:
        print(f"vestige: script: {script} has none of the hooks: uftrace_entry, uftrace_exit, uftrace_event, SYSTEM__EVENT, "
              "trace_unhandled; see vestige-script(1)", file=sys.stderr)
        return 1
    with (open(path, kinds=kinds, **filters) if path else live(int(pid), kinds=kinds, **filters)) as trace:
        if not path:
            signal.signal(signal.SIGTERM, _interrupt)
        return _run(trace, hooks, path)


def _main():
    sys.modules.setdefault("vestige_trace", sys.modules[__name__])   # scripts may import it
    try:
        # `vestige script` has blocked it while this was loaded
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        status = _script(sys.argv[1:])
        if sys.stdout:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except OSError as why:
        if why.filename or why.strerror is None:
            text = str(why)
        else:
            text = why.strerror
        print(f"vestige: script: {text}", file=sys.stderr)
        return 1
    except Exception as why:  # pylint: disable=broad-except
        # the script's own frames
        at = why.__traceback__
        while at and at.tb_frame.f_code.co_filename == __file__:
            at = at.tb_next
        traceback.print_exception(type(why), why, at)
        return 1


if __name__ == "__main__":
    sys.exit(_main())
