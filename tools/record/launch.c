/* SPDX-License-Identifier: MIT */
/*
 * Finding and starting programs: see launch.h.
 *
 * The program is traced by ptrace from its execve() on. The entry point is found in the auxiliary
 * vector and gets a breakpoint, which is removed again before the program continues.
 * Where ptrace is refused (some sandboxes), the program runs without a stop.
 * Tests: tests/cli/test_record.py, tests/cli/test_doctor.py.
 */
#include "tools/base/child.h"
#include "tools/code/elf_needed.h"
#include "tools/record/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/machine.h"
#include "tools/base/proc_pid.h"
#include "tools/code/elf_code.h"

#define MAX_SCRIPTS 4

static const int ignored[LAUNCH_NR_IGNORED] = {SIGQUIT, SIGPIPE, SIGXFSZ};

static const char *machine_name(uint16_t machine)
{
	switch (machine) {
	case EM_386:
		return "i386";
	case EM_X86_64:
		return "x86-64";
	case EM_ARM:
		return "arm";
	case EM_AARCH64:
		return "aarch64";
	case EM_RISCV:
		return "riscv";
	default:
		return "another machine";
	}
}

static bool runnable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
		return false;
	}
	return access(path, X_OK) == 0;
}

/* execvp()'s search. */
static int find_program(const char *prog, char *path)
{
	const char *dirs = getenv("PATH");
	int denied = 0;

	if (!*prog)
		return fail(ENOENT, "no program is named: the word for it is empty");
	if (strchr(prog, '/')) {
		if (runnable(prog)) {
			snprintf(path, PATH_MAX, "%s", prog);
			return 0;
		}
		if (errno == ENOENT || errno == ENOTDIR)
			return fail(ENOENT, "%s: no such program", prog);
		return fail(EACCES, "cannot execute %s: %s", prog, strerror(errno));
	}
	for (dirs = dirs ? dirs : "/usr/local/bin:/usr/bin:/bin"; *dirs;) {
		int n = (int)strcspn(dirs, ":");

		if (snprintf(path, PATH_MAX, "%.*s%s%s", n, dirs, n ? "/" : "./", prog) <
		    PATH_MAX) {
			if (runnable(path))
				return 0;
			if (errno == EACCES)
				denied = EACCES;
		}
		dirs += n;
		dirs += *dirs == ':';
	}
	if (denied)
		return fail(EACCES, "cannot execute %s: %s", prog, strerror(denied));
	if (runnable(prog))
		return fail(ENOENT,
			    "%s: no such program in PATH (there is one in this folder: ./%s)", prog,
			    prog);
	return fail(ENOENT, "%s: no such program in PATH", prog);
}

/*
 * Look for a file by its name, or by its soname, which is the only one in packages of
 * distributions.
 */
static bool part_is_at(char *path, const char *folder, const char *below, const char *name)
{
	static const char *const ends[] = {"", "." VESTIGE_SOVERSION};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (snprintf(path, PATH_MAX, "%s%s/%s%s", folder, below, name, ends[i]) <
			    PATH_MAX &&
		    !access(path, R_OK))
			return true;
	return false;
}

/* The path from the folder of programs to the folder of libraries: "/../lib/x86_64-linux-gnu". */
static const char *lib_from_bin(void)
{
	static char below[sizeof(VESTIGE_LIBDIR) + 3];
	const char *lib = VESTIGE_LIBDIR;

	for (const char *more; (more = strstr(lib + 1, "/lib"));)
		lib = more;
	snprintf(below, sizeof(below), "/..%s", lib);
	return below;
}

int launch_find_part(const char *name, char *path)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	if (slash) {
		*slash = '\0';
		if (part_is_at(path, exe, "", name))
			return 0;
		/* a tree that was installed elsewhere: DESTDIR, an archive */
		if (part_is_at(path, exe, lib_from_bin(), name) && realpath(path, exe)) {
			strcpy(path, exe);
			return 0;
		}
	}
	if (part_is_at(path, VESTIGE_LIBDIR, "", name))
		return 0;
	return fail(ELIBACC, "%s is neither beside vestige nor in %s: build or install it", name,
		    VESTIGE_LIBDIR);
}

static int find_library(char *path)
{
	int err = launch_find_part("libvestige.so", path);

	if (!err && strpbrk(path, ": $"))
		err = fail(ELIBACC,
			   "the loader cannot preload %s: a blank, a colon or a dollar sign in its "
			   "path; move it",
			   path);
	return err;
}

static int own_start(struct elf_start *own)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : elf_start_read(fd, "vestige", own);

	if (fd >= 0)
		close(fd);
	return err;
}

/* The loader, and an engine inside the program (@ready), give no rights of others away. */
static int check_secure(const char *path, int fd, bool ready)
{
	const char *why = ready ? "the engine inside it does not start"
				: "the loader ignores LD_PRELOAD in it";
	struct stat st;

	if (fstat(fd, &st))
		return 0;
	if (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	    ((st.st_mode & S_ISGID) && st.st_gid != getegid()))
		return fail(ENOTSUP,
			    "%s is set-user-ID or set-group-ID: %s; record it as its owner, or a "
			    "copy of it without that bit",
			    path, why);
	if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return fail(ENOTSUP,
			    "%s has file capabilities: %s; record it as root, or a copy of it "
			    "without them",
			    path, why);
	return 0;
}

static int check_elf(struct launch *l, const char *path, int fd)
{
	struct elf_start elf, own;
	const char *loader;
	int err;

	err = elf_start_read(fd, path, &elf);
	if (err)
		return fail(EACCES, "cannot execute %s: it is neither a script nor a program",
			    path);
	if (own_start(&own))
		own = elf;
	if (elf.machine != own.machine || elf.class != own.class || elf.data != own.data)
		return fail(ENOTSUP,
			    "%s is a program for %s (%d bits), libvestige.so is for %s (%d bits): "
			    "use the vestige of that machine",
			    path, machine_name(elf.machine), elf.class == ELFCLASS64 ? 64 : 32,
			    machine_name(own.machine), own.class == ELFCLASS64 ? 64 : 32);
	if (!elf.interp[0]) {
		if (!elf.ready)
			return fail(ENOTSUP,
				    "%s is statically linked: there is no loader that could "
				    "preload libvestige.so; link it without -static, or with the "
				    "engine inside (pkg-config --static --libs vestige)",
				    path);
		l->ready = elf.ready - elf.entry;
		return 0;
	}
	loader = strrchr(elf.interp, '/');
	loader = loader ? loader + 1 : elf.interp;
	if (strncmp(loader, "ld-linux", 8) && strncmp(loader, "ld64.so", 7) &&
	    strncmp(loader, "ld.so", 5))
		return fail(ENOTSUP,
			    "%s uses another C library (its loader is %s), libvestige.so is for "
			    "glibc: build it for glibc",
			    path, elf.interp);
	return 0;
}

/* Follow a script to its interpreter. */
static int check_image(struct launch *l, const char *path, int depth)
{
	char head[256], *at, *end;
	ssize_t n;
	int fd, err;

	snprintf(l->image, sizeof(l->image), "%s", path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno == EACCES ? 0 : fail_errno(errno, "cannot read %s", path);
	n = pread(fd, head, sizeof(head) - 1, 0);
	if (n < 2 || memcmp(head, "#!", 2)) {
		err = check_elf(l, path, fd);
		if (!err)
			err = check_secure(path, fd, l->ready);
		/* gcc's AddressSanitizer ends a program if its library is not loaded first */
		elf_needed(fd, "libasan.so", l->first, sizeof(l->first));
		close(fd);
		return err;
	}
	close(fd);
	head[n] = '\0';
	head[strcspn(head, "\n")] = '\0';
	at = head + 2 + strspn(head + 2, " \t");
	end = at + strcspn(at, " \t");
	*end = '\0';
	l->script = true;
	if (!runnable(at))
		return fail(EACCES, "cannot execute %s: its interpreter %s: %s", path, at,
			    strerror(errno));
	if (depth == MAX_SCRIPTS)
		return fail(EACCES, "cannot execute %s: too many interpreters of interpreters",
			    path);
	return check_image(l, at, depth + 1);
}

void launch_session(char session[64])
{
	uint64_t random[2] = {0};

	if (getrandom(random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random[0] = (uint64_t)getpid() << 32 | (uintptr_t)&random;
	snprintf(session, 64, "%d-%016llx%016llx", getpid(), (unsigned long long)random[0],
		 (unsigned long long)random[1]);
}

int launch_find(struct launch *l, const char *prog)
{
	char found[PATH_MAX];
	int err;

	err = find_program(prog, l->path);
	if (err)
		return err;
	err = find_library(l->library);
	if (err)
		return err;
	snprintf(found, sizeof(found), "%s", l->path);
	err = check_image(l, found, 0);
	if (err)
		return err;
	launch_session(l->session);
	sigprocmask(SIG_SETMASK, NULL, &l->mask);
	for (int i = 0; i < LAUNCH_NR_IGNORED; i++)
		sigaction(ignored[i], NULL, &l->ignored[i]);
	return 0;
}

void launch_ignore(void)
{
	for (int i = 0; i < LAUNCH_NR_IGNORED; i++)
		signal(ignored[i], SIG_IGN);
}

static int set_unmodified(const char *names)
{
	size_t k = strlen(LAUNCH_THIS_PROCESS);
	char *text;
	int err;

	if (!names || strncmp(names, LAUNCH_THIS_PROCESS ",", k + 1) != 0)
		return names ? setenv("VESTIGE_UNMODIFIED", names, 1) : 0;
	if (asprintf(&text, "%s:%d%s", LAUNCH_THIS_PROCESS, getpid(), names + k) < 0)
		return -1;
	err = setenv("VESTIGE_UNMODIFIED", text, 1);
	free(text);
	return err;
}

static int set_environment(const struct launch *l)
{
	const char *old = getenv("LD_PRELOAD");
	char *preload;
	int err = 0;

	if (asprintf(&preload, "%s%s%s%s%s", l->first, *l->first ? ":" : "", l->library,
		     old && *old ? ":" : "", old ? old : "") < 0)
		return -ENOMEM;
	if (setenv("LD_PRELOAD", preload, 1) || setenv("VESTIGE_DIR", l->areas_dir, 1) ||
	    setenv("VESTIGE_SESSION", l->session, 1) || setenv("VESTIGE_BOOT", l->boot, 1) ||
	    set_unmodified(l->unmodified) || unsetenv("VESTIGE") ||
	    (l->no_agent && setenv("VESTIGE_AGENT", "0", 1)))
		err = -errno;
	free(preload);
	return err;
}

int launch_exec(struct launch *l, char **argv)
{
	int err = set_environment(l);

	if (!err) {
		execv(l->path, argv);
		err = -errno;
	}
	return fail_errno(-err, "cannot execute %s", l->path);
}

/* In the child: does not return. */
static void become(const struct launch *l, char **argv, int report)
{
	int held = 0, err;

	if (l->silent) {
		int null = open("/dev/null", O_RDWR);

		for (int i = 0; i < 3 && null >= 0; i++)
			dup2(null, i);
		if (null > 2)
			close(null);
	}
	err = set_environment(l);
	if (!err) {
		held = ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
		if (write(report, &held, sizeof(held)) != sizeof(held))
			_exit(125);
		for (int i = 0; i < LAUNCH_NR_IGNORED; i++)
			sigaction(ignored[i], &l->ignored[i], NULL);
		sigprocmask(SIG_SETMASK, &l->mask, NULL);
		execv(l->path, argv);
		err = -errno;
	}
	if (write(report, &err, sizeof(err)) != sizeof(err))
		_exit(125);
	_exit(127);
}

/* AT_ENTRY of a process that execve() has just begun. */
static uint64_t entry_address(pid_t pid)
{
	uint64_t aux[2], entry = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (read(fd, aux, sizeof(aux)) == sizeof(aux) && aux[0] != AT_NULL)
		if (aux[0] == AT_ENTRY)
			entry = aux[1];
	close(fd);
	return entry;
}

/* Go from the stop at execve() to the entry. Return: 0 (see l->at_entry, l->ended), -ENOTSUP. */
static int run_to_entry(struct launch *l)
{
	const unsigned char *breakpoint;
	size_t nr = machine_breakpoint(&breakpoint);
	uint64_t entry = nr ? entry_address(l->pid) : 0;
	long word, marked;
	int status, sig = 0;

	if (!entry || ptrace(PTRACE_SETOPTIONS, l->pid, NULL, PTRACE_O_EXITKILL))
		return -ENOTSUP;
	entry += l->ready;
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, l->pid, entry, NULL);
	if (errno)
		return -ENOTSUP;
	marked = word;
	memcpy(&marked, breakpoint, nr);
	if (ptrace(PTRACE_POKETEXT, l->pid, entry, marked))
		return -ENOTSUP;
	for (;;) {
		if (ptrace(PTRACE_CONT, l->pid, NULL, sig) || waitpid(l->pid, &status, 0) < 0)
			return -ENOTSUP;
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			l->ended = true;
			l->status = status;
			return 0;
		}
		sig = WSTOPSIG(status);
		if (sig == SIGTRAP && machine_pc_get(l->pid) == entry + nr)
			break;
	}
	if (machine_pc_set(l->pid, entry) || ptrace(PTRACE_POKETEXT, l->pid, entry, word))
		return -ENOTSUP;
	l->at_entry = true;
	return 0;
}

int launch_start(struct launch *l, char **argv, bool must_hold)
{
	int report[2], status, err = 0, held = 0;
	struct proc_stat begun;

	if (pipe2(report, O_CLOEXEC))
		return fail_errno(errno, "cannot make a pipe");
	l->ended = l->at_entry = false;
	l->pid = fork();
	if (l->pid < 0) {
		err = fail_errno(errno, "cannot start a process");
		close(report[0]);
		close(report[1]);
		return err;
	}
	if (!l->pid)
		become(l, argv, report[1]);
	close(report[1]);
	l->start = proc_stat(l->pid, &begun) ? begun.start : 0;
	if (read(report[0], &held, sizeof(held)) != sizeof(held))
		held = 0;
	if (held > 0) {
		/* Signals may come before execve() does. */
		while (waitpid(l->pid, &status, 0) == l->pid && WIFSTOPPED(status) &&
		       WSTOPSIG(status) != SIGTRAP)
			ptrace(PTRACE_CONT, l->pid, NULL, WSTOPSIG(status));
		l->ended = !WIFSTOPPED(status);
		l->status = status;
	}
	if (held < 0)
		err = held;
	else if (read(report[0], &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(report[0]);
	if (err) {
		if (!l->ended)
			waitpid(l->pid, &status, 0);
		l->ended = true;
		return fail(err == -ENOENT ? EACCES : -err, "cannot execute %s: %s", l->path,
			    strerror(-err));
	}
	if (held > 0 && !l->ended && run_to_entry(l)) {
		held = 0;
		if (!must_hold)
			ptrace(PTRACE_DETACH, l->pid, NULL, NULL);
	}
	if (must_hold && !l->at_entry && !l->ended) {
		launch_kill(l);
		return fail(ENOTSUP, "cannot hold %s at its entry point: ptrace is refused here",
			    l->path);
	}
	return 0;
}

void launch_go(struct launch *l)
{
	if (l->at_entry)
		ptrace(PTRACE_DETACH, l->pid, NULL, NULL);
	l->at_entry = false;
}

void launch_kill(struct launch *l)
{
	if (l->ended || l->pid <= 0)
		return;
	kill(l->pid, SIGKILL);
	l->status = child_wait(l->pid);
	l->at_entry = false;
	l->ended = true;
}

static bool is_limited(int what)
{
	struct rlimit limit;

	return !getrlimit(what, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

int launch_no_engine(const struct launch *l)
{
	const bool limited = is_limited(RLIMIT_AS) || is_limited(RLIMIT_FSIZE);

	return fail(ENOTSUP,
		    "the engine did not start in %s: it could not make its area in %s (is that "
		    "folder reachable and writable for the program?%s), or %s could not be loaded",
		    l->image, l->areas_dir,
		    limited ? " do `ulimit -v` and `ulimit -f` leave room for it?" : "",
		    l->library);
}

void launch_area_name(const struct launch *l, char name[64])
{
	snprintf(name, 64, "%d.%llu", l->pid, l->start);
}
