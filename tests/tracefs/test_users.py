#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Another user can mount, through fusermount3. No user but root reaches another user's
processes."""
import contextlib
import ctypes
import os
import shutil
import stat
import subprocess

from mount_test import BIN, LIBRARY, Skip, is_mounted, main, mounted, need, root, steps, until

OTHER = 65534  # nobody
PREFIX = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups"]


def other_user(w):
    """The other user's folder (in ours), and the words that start a command as that user."""
    root()
    need("setpriv")
    if not os.access(os.path.dirname(LIBRARY), os.X_OK):
        raise Skip("the build cannot be reached")
    os.chmod(w.dir, 0o755)
    home = w.path("home")
    os.makedirs(f"{home}/areas", 0o700)
    for path in (home, f"{home}/areas"):
        os.chown(path, OTHER, OTHER)
    if subprocess.run([*PREFIX, BIN, "--version"], stdout=subprocess.PIPE).returncode:
        raise Skip("another user cannot run the build")
    return home, PREFIX


def as_other(w, prefix, *argv, **env):
    return subprocess.run([*prefix, *map(str, argv)], cwd="/", env=dict(w.env, **env), timeout=100,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_others_are_refused(w):
    _, prefix = other_user(w)
    with steps(w) as p, mounted(w) as m:
        # not even its root's folder, whatever the file's mode
        for path in (m, f"{m}/{p.pid}/trace"):
            got = as_other(w, prefix, "cat", path)
            assert got.returncode and b"Permission denied" in got.stderr, got
        for words in (("get", "-P", p.pid, "current_tracer"), ("ls", "-P", p.pid), ("show", "-P", p.pid),
                      ("set", "-P", p.pid, "tracing_on", "0"), ("list",)):
            got = as_other(w, prefix, BIN, *words)
            assert got.returncode == 1 or (words == ("list",) and str(p.pid).encode() not in got.stdout), got
        # the folder opened wide, the agent itself says no, and the tools do not trust a folder like
        # that
        os.chmod(w.areas, 0o777)
        sock = next(f"{w.areas}/{n}" for n in os.listdir(w.areas) if n.endswith(".sock"))
        os.chmod(sock, 0o777)
        script = ("import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM);"
                  "s.connect(sys.argv[1]); s.settimeout(60); s.send(bytes(64)); print(s.recv(100))")
        got = as_other(w, prefix, "/usr/bin/python3", "-c", script, sock)
        assert got.returncode or got.stdout == b"b''\n", got
        got = as_other(w, prefix, BIN, "get", "-P", p.pid, "current_tracer")
        assert got.returncode == 1, got
        os.chmod(w.areas, 0o700)
        assert w.run("get", "-P", p.pid, "tracing_on").stdout == b"1\n"


def test_root_looks_into_the_folder_of_another(w):
    """With VESTIGE_DIR in a folder of another user, root sees the areas, or gets an error with the
    reason."""
    home, prefix = other_user(w)
    areas = f"{home}/areas"
    with steps_of_other(w, prefix, VESTIGE_DIR=areas) as p:
        w.env["VESTIGE_DIR"] = areas
        with mounted(w) as m:
            until(lambda: os.path.exists(f"{m}/{p.pid}"))
            with open(f"{m}/{p.pid}/current_tracer", "w") as f:
                f.write("function")
            call(p, 3)
            with open(f"{m}/{p.pid}/trace") as f:
                assert f.read().count("mid <-") == 3
        os.chmod(areas, 0o755)
        said = mount_says(w)
        assert f"{areas} is open to others: chmod 700" in said and f"no traced process is in {areas}" in said, said
        os.chmod(areas, 0o700)
    # elsewhere: where it is looked for
    w.env["VESTIGE_DIR"] = w.areas
    said = mount_says(w)
    assert f"no traced process is in {w.areas} (VESTIGE_DIR)" in said, said
    # a program still does not put its area there
    w.env["VESTIGE_DIR"] = areas
    err = w.run("record", w.prog, status=125).stderr.decode()
    assert f"belongs to user {OTHER}" in err, err
    w.env["VESTIGE_DIR"] = w.areas


def mount_says(w):
    m = w.path("says")
    err = w.run("mount", m).stderr.decode()
    w.run("umount", m)
    return err


def own_fuse_device(w):
    """Let every user open /dev/fuse, as most machines do. Where only root may, mount a node of our
    own over it, in a mount namespace that ends with this process."""
    if os.stat("/dev/fuse").st_mode & 0o006 == 0o006:
        return
    node, clone_newns = w.path("fuse"), 0x20000
    if ctypes.CDLL(None, use_errno=True).unshare(clone_newns):
        raise Skip("no mount namespaces here")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    try:
        os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(10, 229))
    except PermissionError:
        raise Skip("no device nodes here") from None
    os.chmod(node, 0o666)
    subprocess.run(["mount", "--bind", node, "/dev/fuse"], check=True)
    if as_other(w, PREFIX, "sh", "-c", ": <> /dev/fuse").returncode:
        raise Skip("device nodes of ours cannot be opened")


@contextlib.contextmanager
def steps_of_other(w, prefix, **env):
    """STEPS, run by the other user."""
    with steps(w):  # compiled
        pass
    p = subprocess.Popen([*prefix, w.path("steps")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/",
                         env=dict(w.env, **env, LD_PRELOAD=LIBRARY))
    try:
        assert p.stdout.readline() == b"ready\n"
        yield p
    finally:
        p.kill()
        p.wait()
        p.stdin.close()
        p.stdout.close()


def call(p, n):
    p.stdin.write(b"%d\n" % n)
    p.stdin.flush()
    assert p.stdout.readline() == b"%d\n" % n


def test_another_user_mounts(w):
    home, prefix = other_user(w)
    if not os.path.exists("/dev/fuse"):
        raise Skip("no /dev/fuse")
    need("fusermount3")
    if not os.stat(shutil.which("fusermount3")).st_mode & stat.S_ISUID:
        raise Skip("fusermount3 is not set-user-id")
    own_fuse_device(w)
    env = {"VESTIGE_DIR": f"{home}/areas"}
    mnt = f"{home}/mnt"
    with steps_of_other(w, prefix, **env) as p:
        try:
            got = as_other(w, prefix, BIN, "mount", mnt, **env)
            assert got.returncode == 0, got.stderr
            assert is_mounted(mnt)
            at = f"{mnt}/{p.pid}"
            script = f"ls {mnt} && echo function > {at}/current_tracer && cat {at}/current_tracer"
            got = as_other(w, prefix, "sh", "-c", script)
            assert got.stdout.split() == [str(p.pid).encode(), b"kernel", b"function"], got
            call(p, 3)
            got = as_other(w, prefix, "cat", f"{at}/trace")
            assert got.stdout.count(b"leaf <-mid") == 6, got
            got = as_other(w, prefix, "cat", f"{at}/trace_marker")
            assert got.returncode and b"Permission denied" in got.stderr  # the file's mode counts
            got = as_other(w, prefix, BIN, "umount", mnt)
            assert got.returncode == 0, got.stderr
            until(lambda: not is_mounted(mnt))
        finally:
            if is_mounted(mnt):
                subprocess.run(["umount", "-l", mnt])


def test_another_user_enters(w):
    """`vestige enter` of another user works in a user namespace, where that user is root over its
    own process alone."""
    home, prefix = other_user(w)
    if not os.path.isdir("/sys/kernel/tracing") or not os.path.exists("/dev/fuse"):
        raise Skip("no tracefs or no /dev/fuse")
    own_fuse_device(w)
    if as_other(w, prefix, "unshare", "-Urm", "true").returncode:
        raise Skip("no user namespaces for users here")
    env = {"VESTIGE_DIR": f"{home}/areas"}
    tracing = "/sys/kernel/tracing"
    with steps_of_other(w, prefix, **env) as p:
        got = as_other(w, prefix, BIN, "enter", p.pid, "--", "sh", "-c", f"cd {tracing}; echo leaf > set_ftrace_filter;"
                       " echo function > current_tracer; cat current_tracer", **env)
        assert got.stdout == b"function\n" and not got.stderr, got
        call(p, 3)
        got = as_other(w, prefix, BIN, "enter", p.pid, "--", "sh", "-c",
                       f"cat {tracing}/trace; grep -c ' leaf$' /proc/kallsyms", **env)
        assert got.stdout.count(b"leaf <-mid") == 6 and got.stdout.endswith(b"\n1\n"), got
        if shutil.which("trace-cmd"):
            got = as_other(w, prefix, BIN, "enter", p.pid, "--", "trace-cmd", "show", **env)
            assert got.stdout.count(b"leaf <-mid") == 6, got
            got = as_other(w, prefix, BIN, "enter", p.pid, "--", "trace-cmd", "stat", **env)
            assert b"Tracer: function" in got.stdout, got
        # root's processes stay root's
        with steps(w) as other:
            got = as_other(w, prefix, BIN, "enter", other.pid, "--", "true", **env)
            assert got.returncode == 125, got


main(globals())
