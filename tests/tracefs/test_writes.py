#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Each write of writes.tsv gets the answer of a real kernel, in three ways: inside the process, by
the mount and by the command line. Where a process differs, OTHER has the answer and the reason."""
import errno
import itertools
import os
import re
import subprocess

from mount_test import LIBRARY, main, mounted

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = f"-I{os.environ['SOURCE_DIR']}/include"

# Has the functions and the events that the table names, and carries out what it reads: a line is
# `r FILE`, or `t` (O_TRUNC) or `a` (O_APPEND) with a file and a text in hex.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <vestige/vestige.h>
#include <vestige/event.h>
VESTIGE_EVENT(signal, signal_deliver, (int, sig));
VESTIGE_EVENT(sched, sched_process_fork, (const char *, parent_comm), (int, parent_pid), (int, child_pid));
VESTIGE_EVENT(sched, sched_switch, (const char *, prev_comm), (int, prev_pid));
VESTIGE_EVENT(sched, sched_wake_idle_without_ipi, (int, cpu));
#define FN __attribute__((noipa))
volatile int n;
FN void one(void) { n++; }
FN void two(void) { n++; }
FN void three(void) { n++; }
FN void vfs_fadvise(void) { n++; }
FN void vfs_read(void) { n++; }
FN void vfs_write(void) { n++; }
FN void vfs_mknod(void) { n++; }
FN void vfs_rmdir(void) { n++; }
__attribute__((patchable_function_entry(0))) int main(void)
{
	static char line[8192], file[256], hex[4096], text[4096], answer[65536];
	char what;

	trace_signal_deliver(1);
	trace_sched_process_fork("x", 1, 2);
	trace_sched_switch("x", 1);
	trace_sched_wake_idle_without_ipi(0);
	one(), two(), three(), vfs_fadvise(), vfs_read(), vfs_write(), vfs_mknod(), vfs_rmdir();
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		ssize_t ret;
		size_t len;

		hex[0] = 0;
		sscanf(line, "%c %255s %4095s", &what, file, hex);
		len = strlen(hex) / 2;
		for (size_t i = 0; i < len; i++) {
			char digits[3] = {hex[2 * i], hex[2 * i + 1]};

			text[i] = (char)strtol(digits, NULL, 16);
		}
		errno = 0;
		if (what == 'r')
			ret = vestige_read(file, answer, sizeof(answer));
		else if (what == 't')
			ret = vestige_write(file, text, len);
		else
			ret = vestige_append(file, text, len);
		printf("%zd %d\n", ret, ret < 0 ? errno : 0);
		if (what == 'r' && ret > 0)
			fwrite(answer, 1, (size_t)ret, stdout);
		fflush(stdout);
	}
	return 0;
}
"""

# Files that the tools render by themselves; inside the process they do not exist
OUTSIDE = {"printk_formats", "timestamp_mode"}

LISTS = {"set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "set_graph_notrace",
         "stack_trace_filter", "set_event"}


class Door:
    """One way to a process's files. Answers are (result of write() or None, errno)."""

    def __init__(self, w, mount):
        self.w, self.mount = w, mount

    def begin(self):
        self.p = subprocess.Popen([self.w.path("writes")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env=dict(self.w.env, LD_PRELOAD=LIBRARY), cwd=self.w.dir)
        assert self.p.stdout.readline() == b"ready\n"

    def path(self, name):
        return f"{self.mount}/{self.p.pid}/{name}"

    def end(self):
        self.p.kill()
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()
        for name in os.listdir(self.w.areas):
            os.unlink(f"{self.w.areas}/{name}")


class Mount(Door):
    def write(self, name, how, text):
        flags = {"W": 0, "T": os.O_TRUNC, "A": os.O_APPEND}[how]
        try:
            fd = os.open(self.path(name), os.O_WRONLY | flags)
        except OSError as e:
            return "open:" + errno.errorcode[e.errno]
        try:
            return str(os.write(fd, text))
        except OSError as e:
            return errno.errorcode[e.errno]
        finally:
            try:
                os.close(fd)
            except OSError:
                pass

    def read(self, name):
        try:
            fd = os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK)
        except OSError as e:
            return None, "open:" + errno.errorcode[e.errno]
        try:
            return os.read(fd, 65536).decode(), "ok"
        except OSError as e:
            return None, errno.errorcode[e.errno]
        finally:
            os.close(fd)


class Inside(Door):
    def ask(self, *words):
        self.p.stdin.write(" ".join(words).encode() + b"\n")
        self.p.stdin.flush()
        ret, err = map(int, self.p.stdout.readline().split())
        return ret, errno.errorcode[err] if err else "ok"

    def write(self, name, how, text):
        ret, err = self.ask("t" if how == "T" else "a", name, text.hex())
        return str(ret) if err == "ok" else err

    def read(self, name):
        ret, err = self.ask("r", name)
        return (self.p.stdout.read(ret).decode() if ret > 0 else "") if err == "ok" else None, err


class Command(Door):
    def write(self, name, how, text):
        p = self.w.run("set", "-P", self.p.pid, *(["-a"] if how != "T" else []), "--", name,
                       text.decode(), status=None)
        return str(len(text)) if not p.returncode else self.word(p)

    def read(self, name):
        p = self.w.run("get", "-P", self.p.pid, name, status=None)
        return (p.stdout.decode(), "ok") if not p.returncode else (None, self.word(p))

    @staticmethod
    def word(p):
        """The name of the errno with whose text the message ends."""
        text = p.stderr.decode()
        assert p.returncode == 1 and text.startswith("vestige: "), (p.returncode, text)
        for number, name in errno.errorcode.items():
            if os.strerror(number) in text:
                return name
        return text


def table():
    with open(f"{HERE}/writes.tsv", encoding="ascii") as f:
        for line in f:
            if not line.startswith("#"):
                name, how, text, result, then = line.rstrip("\n").split("\t")
                yield name, how, text.encode().decode("unicode_escape").encode(), result, then

# (file, text) with what a process answers and reads then; None: as the kernel. Another answer is a
# defect.
PAGES = "whole pages of 4 KiB, at least 16 of them"
WORDS = "all words of a write at once: a short count would cost a change of code each"
OTHER = {
    ("buffer_size_kb", None): (None, {"7": "64", "67": "64"}, PAGES),
    ("per_cpu/cpu0/buffer_size_kb", None): (None, {"7": "64", "67": "64"}, PAGES),
    ("per_cpu/cpu0/snapshot_raw", b""): ("ok", None, "it consumes nothing, and has an end"),
    ("saved_cmdlines_size", None): (None, {"6552": "32768"}, "the room of the area, and no more is made"),
    ("buffer_size_kb", b"18446744073709551615"): ("ENOMEM", "64", "in the kernel, bytes of it overflow"),
    ("set_ftrace_filter", b"vfs_read vfs_write"): ("18", None, WORDS),
    ("set_ftrace_filter", b"vfs_read nosuch vfs_write\n"): ("EINVAL", None, WORDS),
    ("set_ftrace_notrace", b"vfs_read vfs_write"): ("18", None, WORDS),
    ("set_ftrace_notrace", b"vfs_read nosuch vfs_write\n"): ("EINVAL", None, WORDS),
    ("set_graph_function", b"vfs_read vfs_write\n"): ("19", None, WORDS),
    ("set_graph_notrace", b"vfs_read vfs_write\n"): ("19", None, WORDS),
    ("set_graph_function", b"vfs_*\n"): (None, "vfs_fadvise", "by their places"),
    ("set_graph_notrace", b"vfs_*\n"): (None, "vfs_fadvise", "by their places"),
    ("set_event", b"sched:sched_switch nosuch"): ("EINVAL", None, WORDS),
    ("set_event", b"signal:*"): (None, "sched:sched_switch", "by their places"),
    ("set_ftrace_pid", b"4194304"): (None, "4194304", "no thread has it; the kernel forgets it"),
    ("set_ftrace_notrace_pid", b"4194304"): (None, "4194304", "no thread has it; the kernel forgets it"),
}

# Not implemented yet: texts with these words, refused with EINVAL. Remove a word when it is
# implemented.
MISSING = [
    ("set_ftrace_filter", rb":mod:nosuch"),
    ("set_ftrace_notrace", rb":mod:nosuch"),
]


def is_missing(name, text):
    return any(n == name and re.search(words, text) for n, words in MISSING)


def answers(door, rows, name, how, text, kernel):
    """The answers that are right."""
    other = OTHER.get((name, text))
    if other and other[0]:
        return {other[0]}
    if is_missing(name, text):
        return {kernel, "EINVAL"}
    if isinstance(door, Mount):
        # FUSE passes on no write of zero bytes
        return {"0"} if not text and how != "R" and kernel == "EINVAL" else {kernel}
    # one call opens and writes, and its text is whole: there is no rest to be judged at the close
    right = {kernel.removeprefix("open:")}
    if name in LISTS and not text.endswith(b"\n") and kernel.isdigit():
        right |= {k for n, _, t, k, _ in rows if n == name and t == text + b"\n" and not k.isdigit()}
    # the mode of the file forbids this open()
    if kernel == "EINVAL" and not os.stat(door.path(name)).st_mode & (0o444 if how == "R" else 0o222):
        right = {"EACCES", "ENOENT"} if name in OUTSIDE else {"EACCES"}
    return right


def reads(door, name, text, kernel, functions):
    """The file's contents afterwards: any of these is right."""
    kernel = re.sub("^@([0-9]+)", lambda m: functions[int(m[1]) - 1], kernel)
    for key in ((name, text), (name, None)):
        other = OTHER.get(key, (None, None))[1]
        if isinstance(other, dict):
            other = other.get(kernel)
        if other:
            return {other}
    if is_missing(name, text):
        # the kernel lists it in set_ftrace_filter alone
        return {kernel, "#### all functions enabled ####", text.decode().strip()}
    return {kernel.encode().decode("unicode_escape")}


def first_line(door, name):
    text, err = door.read(name)
    if text is None:
        return err
    line = text.split("\n")[0]
    if name == "trace_clock":
        return re.search(r"\[\S+\]", line)[0]
    return line[:70].rstrip()


def through(w, door):
    wrong, absent, checked = [], set(), 0
    lines = list(table())
    for name, rows in itertools.groupby(lines, key=lambda row: row[0]):
        door.begin()
        try:
            functions = Mount.read(door, "available_filter_functions")[0].split()
            if not os.path.exists(door.path(name)) and "nosuch" not in name:
                absent.add(name)
                continue
            for _, how, text, kernel, then in rows:
                label = f"{type(door).__name__}: {name} {how} {text!r}"
                if how == "R" and "trace_pipe" in name and not isinstance(door, Mount):
                    continue  # it would wait
                if b"\0" in text and isinstance(door, Command):
                    continue  # no argument of a program has it
                checked += 1
                # rendered files cannot be read inside the process
                rendered = isinstance(door, Inside) and door.read(name)[1] in (
                    ("ENOTSUP", "ENOENT") if name in OUTSIDE else ("ENOTSUP",))
                got = door.read(name)[1] if how == "R" else door.write(name, how, text)
                right = answers(door, lines, name, how, text, kernel)
                if got not in right and not (how == "R" and rendered):
                    wrong.append(f"{label}: {got}, not {' or '.join(right)}")
                if not then or rendered:
                    continue
                right, line = reads(door, name, text, then, functions), first_line(door, name)
                if line not in right:
                    wrong.append(f"{label}: reads {line!r}, not {' or '.join(map(repr, right))}")
        finally:
            door.end()
    print(f"{type(door).__name__}: {checked} of {len(lines)} lines; not there: {' '.join(sorted(absent))}")
    assert checked > 300 and not wrong, "\n" + "\n".join(wrong)


def test_mount(w):
    w.compile("writes", PROGRAM, INCLUDE)
    with mounted(w) as m:
        through(w, Mount(w, m))


def test_inside(w):
    w.compile("writes", PROGRAM, INCLUDE)
    with mounted(w) as m:
        through(w, Inside(w, m))


def test_command_line(w):
    w.compile("writes", PROGRAM, INCLUDE)
    with mounted(w) as m:
        through(w, Command(w, m))


# Words written to set_ftrace_filter with >>, whether they were accepted, and the list then, the
# last first. Commands that are not there yet (MISSING) are left out of both.
COMMANDS = (
    ("vfs_rmdir:traceoff", "ok"), ("vfs_rmdir:traceoff:3", "ok"), ("vfs_mknod:traceon:unlimited", "EINVAL"),
    ("vfs_mknod:traceon:5", "ok"), ("vfs_rmdir:snapshot:1", "ok"), ("vfs_rmdir:stacktrace:5", "ok"),
    ("vfs_rmdir:stacktrace", "ok"), ("vfs_rmdir:dump", "ok"), ("vfs_rmdir:dump:1", "EINVAL"),
    ("vfs_rmdir:dump:2", "EINVAL"), ("vfs_rmdir:cpudump", "ok"),
    ("vfs_rm*:enable_event:sched:sched_switch", "ok"),
    ("vfs_rmdir:disable_event:sched:sched_switch:2", "ok"), ("vfs_rmdir:bogus", "EINVAL"),
    ("vfs_rmdir:", "EINVAL"), (":traceoff", "EINVAL"), ("nosuch:traceoff", "EINVAL"),
    ("vfs_rmdir:traceoff:abc", "EINVAL"), ("vfs_rmdir:traceoff:0", "EINVAL"),
    ("vfs_rmdir:enable_event", "EINVAL"), ("vfs_rmdir:enable_event:sched", "EINVAL"),
    ("vfs_rmdir:enable_event:sched:nosuch", "EINVAL"), ("vfs_rmdir:stacktrace:x", "EINVAL"),
)
LISTED = """vfs_rmdir:disable_event:sched:sched_switch:count=2
vfs_rmdir:enable_event:sched:sched_switch:unlimited
vfs_rmdir:cpudump:unlimited
vfs_rmdir:dump:count=1
vfs_rmdir:stacktrace:unlimited
vfs_rmdir:stacktrace:count=5
vfs_rmdir:snapshot:count=1
vfs_mknod:traceon:count=5
vfs_rmdir:traceoff:count=3
vfs_rmdir:traceoff:unlimited
"""
# Then: taken out, whether it was there, and how many it lists then, of LISTED
TAKEN = (
    ("!vfs_rmdir:traceoff", "ok", 1), ("!vfs_rmdir:traceoff:0", "ok", 1), ("!vfs_mknod:traceon", "ENODEV", 0),
    ("!vfs_rmdir:snapshot:0", "ok", 1), ("!vfs_rmdir:stacktrace", "ok", 1),
    ("!vfs_rmdir:stacktrace:0", "ok", 1), ("!vfs_rmdir:dump", "ok", 1), ("!vfs_rmdir:dump:0", "ENODEV", 0),
    ("!vfs_rmdir:cpudump", "ok", 1), ("!vfs_rm*:enable_event:sched:sched_switch", "ok", 1),
    ("!vfs_rmdir:disable_event:sched:sched_switch", "ENODEV", 0),
    ("!vfs_rmdir:disable_event:sched:sched_switch:0", "ok", 1),
    ("!vfs_rmdir:disable_event:sched:sched_switch", "ENODEV", 0), ("!nosuch:traceoff", "ENODEV", 0),
    ("!vfs_rmdir:bogus", "EINVAL", 0),
)


def test_commands(w):
    w.compile("writes", PROGRAM, INCLUDE)
    name = "set_ftrace_filter"
    with mounted(w) as m:
        for door in (Mount(w, m), Inside(w, m), Command(w, m)):
            door.begin()
            listed = lambda: [line for line in Mount.read(door, name)[0].splitlines() if ":" in line]
            try:
                left = len(LISTED.splitlines())
                for text, right in COMMANDS:
                    got = door.write(name, "A", text.encode() + b"\n")
                    got = "ok" if got.isdigit() else got
                    if got != right and is_missing(name, text.encode()):
                        left -= 1
                    else:
                        assert got == right, (type(door), text, got)
                now = listed()
                assert now == [line for line in LISTED.splitlines() if line in now] and len(now) == left, now
                for text, right, n in TAKEN:
                    got = door.write(name, "A", text.encode() + b"\n")
                    got = "ok" if got.isdigit() else got
                    if got != right and is_missing(name, text.encode()):
                        continue
                    left -= n
                    assert (got, len(listed())) == (right, left), (type(door), text, got, listed())
                assert listed() == ["vfs_mknod:traceon:count=5"], listed()
            finally:
                door.end()


# The modes of a real kernel's files and folders. A file that does not exist here is skipped.
MODES = {
    0o640: """buffer_percent buffer_size_kb buffer_subbuf_size_kb current_tracer dynamic_events error_log
        function_profile_enabled kprobe_events max_graph_depth saved_cmdlines_size set_event
        atrace_tags set_event_notrace_pid set_event_pid set_ftrace_filter set_ftrace_notrace set_ftrace_notrace_pid
        set_ftrace_pid set_graph_function set_graph_notrace snapshot stack_max_size stack_trace_filter
        synthetic_events trace trace_clock trace_options tracing_cpumask tracing_max_latency tracing_on
        tracing_thresh uprobe_events""",
    0o440: """README available_events available_filter_functions available_filter_functions_addrs
        available_tracers buffer_total_size_kb dyn_ftrace_total_info enabled_functions eval_map
        kprobe_profile printk_formats saved_cmdlines saved_tgids stack_trace timestamp_mode
        touched_functions trace_pipe uprobe_profile""",
    0o220: "trace_marker trace_marker_raw",
    0o200: "free_buffer",
    0o750: "instances options per_cpu trace_stat",
    0o755: "events",
}


def test_modes(w):
    w.compile("writes", PROGRAM, INCLUDE)
    with mounted(w) as m:
        door, seen = Mount(w, m), 0
        door.begin()
        try:
            for mode, names in MODES.items():
                for name in names.split():
                    if os.path.exists(door.path(name)):
                        seen += 1
                        got = os.stat(door.path(name)).st_mode & 0o777
                        assert got == mode, (name, oct(got), oct(mode))
            assert seen > 30, seen
            # each file that can be written has its lines in the table
            listed = {row[0] for row in table()}
            missing = []
            for folder, _, names in os.walk(door.path("")):
                for name in names:
                    path = os.path.relpath(os.path.join(folder, name), door.path(""))
                    # tracing_enabled and ksym_trace_filter are of ftrace's first years; three are
                    # in the kernel sysctls; the others are ours alone (tests/engine/events/atrace,
                    # lock_order and guard, test_files.py, tests/engine/tracers,
                    # tests/engine/fire/crash)
                    if not re.match(r"events/|options/|per_cpu/cpu[1-9]|trace_stat/|"
                                    r"((tracing|stack_tracer)_enabled|atrace_tags|vestige_paused|vestige_attached|"
                                    r"kmemtrace_\w+|ksym_trace_filter|mmiotrace_filter|prove_locking|lockdep_lockers|guard_budget|ftrace_dump_on_oops|oops_file)$", path) and \
                            os.stat(door.path(path)).st_mode & 0o222:
                        missing += [path] if path not in listed else []
            assert not missing, missing
        finally:
            door.end()


# A filter of sched_switch, its errno, what error_log says, and where its mark is
ERRORS = (
    ("nosuch == 1", "EINVAL", "Field not found", 7),
    ("prev_pid = 1", "EINVAL", "Invalid operator", 10),
    ("prev_pid ==", "EINVAL", "Invalid value (did you forget quotes)?", 12),
    ("prev_pid", "EINVAL", "Invalid operator", 9),
    ("((prev_pid == 1)", "ENOENT", "Too many '('", 0),
    ("(prev_pid == 1))", "EPERM", "Too few '('", 15),
    ("prev_pid == 1 &&", "EINVAL", "Meaningless filter expression", 16),
    ("== 1", "EPERM", "Error", 0),
    ('prev_pid ~ "x"', "EINVAL", "Expecting numeric field", 12),
    ('prev_comm > "a"', "EINVAL", "Illegal operation for field type", 13),
    ('prev_comm == "unterminated', "ESRCH", "Missing matching quote", 13),
    ("prev_pid == 99999999999999999999", "EINVAL", "Illegal integer value", 13),
    ("prev_comm & 3", "EINVAL", "Expecting string field", 13),
)


def test_error_log(w):
    w.compile("writes", PROGRAM, INCLUDE)
    with mounted(w) as m:
        for door in (Mount(w, m), Inside(w, m), Command(w, m)):
            door.begin()
            try:
                log = []
                for text, err, what, at in ERRORS:
                    got = door.write("events/sched/sched_switch/filter", "T", text.encode())
                    assert got == err, (text, got)
                    log.append(f"event filter parse error: error: {what}\n  Command: {text}\n"
                               f"           {' ' * at}^\n")
                    said = re.sub(r"(?m)^\[ *\d+\.\d{6}\] ", "", door.read("error_log")[0])
                    assert said == "".join(log[-8:]), (type(door), said, log[-8:])
                assert door.write("error_log", "T", b"\n") == "1"
                assert door.read("error_log") == ("", "ok")
            finally:
                door.end()


def test_long_filter(w):
    """A page of text is too long for a filter, blanks included, and the filter stays (6.18)."""
    w.compile("writes", PROGRAM, INCLUDE)
    with mounted(w) as m:
        door = Mount(w, m)
        door.begin()
        try:
            event, system = "events/sched/sched_switch/filter", "events/sched/filter"
            for name, n, right in ((event, 4095, "4095"), (event, 4096, "EINVAL"), (event, 5000, "EINVAL"),
                                   (system, 4095, "4095"), (system, 4096, "EINVAL"), (system, 5000, "EINVAL")):
                for text in b"prev_pid == 1", b"prev_pid == 1" + b" || prev_pid == 2" * 239:
                    assert door.write(event, "W", b"prev_pid == 7") == "13"
                    got = door.write(name, "W", text.ljust(n))
                    assert got == right, (name, n, text[:20], got)
                    then = text.decode().strip() if right == str(n) else "prev_pid == 7"
                    assert door.read(event)[0] == then + "\n", (name, n, door.read(event)[0][:40])
        finally:
            door.end()


if __name__ == "__main__":
    main(globals())
