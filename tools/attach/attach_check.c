/* SPDX-License-Identifier: MIT */
/*
 * See attach_impl.h: checks a process by /proc and its program's file, before it is touched. Tests:
 * tests/cli/test_attach.py.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tools/attach/attach_impl.h"
#include "tools/base/fail.h"
#include "tools/base/proc_pid.h"

#define MAX_PHDR 128u

/* A small file of /proc as text. Return: its bytes or -errno. */
static ssize_t read_text(const char *path, char *to, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : read(fd, to, room - 1);

	if (fd >= 0) {
		n = n < 0 ? -errno : n;
		close(fd);
	}
	to[n > 0 ? n : 0] = '\0';
	return n;
}

static int no_process(int pid, int err)
{
	return err == ENOENT || err == ESRCH ? fail(ESRCH, "there is no process %d", pid)
					     : fail_errno(err, "process %d", pid);
}

int attach_each_map(int pid, int (*fn)(const struct attach_map *m, void *arg), void *arg)
{
	char path[64], *line = NULL;
	struct attach_map *m = malloc(sizeof(*m));
	size_t room = 0;
	FILE *f;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = m ? fopen(path, "re") : NULL;
	if (!f) {
		ret = m ? no_process(pid, errno) : fail(ENOMEM, "out of memory");
		free(m);
		return ret;
	}
	while (!ret && getline(&line, &room, f) > 0) {
		char perms[5] = "";
		int at = 0;

		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &m->lo, &m->hi, perms, &m->offset,
			   &at) < 4 ||
		    !at)
			continue;
		m->read = perms[0] == 'r';
		m->write = perms[1] == 'w';
		m->exec = perms[2] == 'x';
		m->is_private = perms[3] == 'p';
		snprintf(m->path, sizeof(m->path), "%.*s", (int)strcspn(line + at, "\n"),
			 line + at);
		ret = fn(m, arg);
	}
	free(line);
	fclose(f);
	free(m);
	return ret;
}

int attach_peek(int pid, uint64_t at, void *to, size_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)at, bytes};
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : n == (ssize_t)bytes ? 0 : -EFAULT;
}

int attach_poke(int pid, uint64_t at, const void *from, size_t bytes)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = pwrite(fd, from, bytes, (off_t)at);
	n = n < 0 ? -errno : n == (ssize_t)bytes ? 0 : -EFAULT;
	close(fd);
	return (int)n;
}

int attach_explain(const struct attach_refusal *r)
{
	const long me = r->me;

	if (r->yama == 3)
		return fail_errno(
			EPERM,
			"this system forbids ptrace() for good (kernel.yama.ptrace_scope is 3): "
			"start the program with `vestige run`");
	if (me && r->real >= 0 && r->real != me && r->effective != me)
		return fail_errno(EPERM,
				  "process %d is another user's (%ld): attach as root or as that "
				  "user",
				  r->pid, r->real);
	if (me && (r->effective != r->real || r->saved != r->real))
		return fail_errno(EPERM,
				  "process %d runs a set-user-ID program, or has changed its user: "
				  "attach as root",
				  r->pid);
	if (me && r->yama > 0)
		return fail_errno(
			EPERM,
			"ptrace() of process %d is not allowed (kernel.yama.ptrace_scope is %ld): "
			"attach as root, or start the program with `vestige run`",
			r->pid, r->yama);
	return fail_errno(
		EPERM,
		"ptrace() of process %d is not allowed: it is not dumpable, has capabilities, or a "
		"container forbids it; attach as root, or start it with `vestige run`",
		r->pid);
}

int attach_refused(int pid, int err)
{
	struct attach_refusal r = {
		.pid = pid, .yama = -1, .me = geteuid(), .real = -1, .effective = -1, .saved = -1};
	struct proc_status s;
	char text[64];

	if (err != EPERM && err != EACCES)
		return no_process(pid, err);
	if (read_text("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)) > 0)
		r.yama = strtol(text, NULL, 10);
	if (!proc_status(pid, &s)) {
		r.real = s.uid;
		r.effective = s.euid;
		r.saved = s.suid;
	}
	return attach_explain(&r);
}

static int parent_of(int pid)
{
	struct proc_status s;

	return proc_status(pid, &s) ? -1 : s.parent;
}

bool attach_shares_memory(int pid, int parent)
{
	return parent > 0 && !syscall(SYS_kcmp, pid, parent, KCMP_VM, 0, 0);
}

/*
 * Refuse a process that shares its parent's memory: the engine would be loaded into the parent,
 * too.
 */
static int check_memory(int pid, int parent)
{
	if (!attach_shares_memory(pid, parent))
		return 0;
	return fail_errno(EAGAIN,
			  "process %d shares the memory of its parent, process %d (vfork()): try "
			  "again when it has executed a program",
			  pid, parent);
}

static int check_status(int pid)
{
	struct proc_status s;
	int err = proc_status(pid, &s);

	if (err)
		return no_process(pid, -err);
	if (s.tgid != pid)
		return fail(EINVAL, "%d is a thread of process %d: name that", pid, s.tgid);
	if (s.kernel_thread == 1 || !s.has_memory) {
		if (s.state == 'Z' || s.state == 'X')
			return fail_errno(ESRCH, "process %d has ended (it is a zombie)", pid);
		return fail_errno(
			EPERM, "process %d is a thread of the kernel: the kernel's ftrace has it",
			pid);
	}
	if (s.state == 'T')
		return fail_errno(EBUSY,
				  "process %d is stopped: let it go on first (kill -CONT %d)", pid,
				  pid);
	/* we ourselves; the engine's own child, for a moment (engine/process/stop_machine.h) */
	if (s.tracer > 0 && s.tracer != gettid() && parent_of(s.tracer) != pid)
		return fail_errno(
			EBUSY,
			"process %d is traced by process %d (a debugger, strace): end that first",
			pid, s.tracer);
	return check_memory(pid, s.parent);
}

/*
 * Is there a seccomp filter? It may kill the process for a call of the engine. In strict mode
 * (SECCOMP_SET_MODE_STRICT) only four calls are allowed.
 */
static int check_seccomp(int pid, bool *filtered)
{
	struct proc_status s;
	struct dirent *e;
	char path[64];
	DIR *dir;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return no_process(pid, errno);
	while (!ret && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		if (proc_status(atoi(e->d_name), &s))
			continue;
		*filtered |= s.seccomp == SECCOMP_MODE_FILTER;
		if (s.seccomp == SECCOMP_MODE_STRICT)
			ret = fail_errno(
				EPERM,
				"thread %s of process %d is in seccomp's strict mode, which "
				"forbids what the engine needs: start the program with `vestige "
				"run`",
				e->d_name, pid);
	}
	closedir(dir);
	return ret;
}

/* Is there the note of Go's linker (cmd/link: ELF_NOTE_GOBUILDID_TAG)? */
static bool has_go_note(int fd, const Elf64_Phdr *p)
{
	static const char name[4] = "Go";
	uint8_t notes[4096];
	ssize_t n = pread(fd, notes, p->p_filesz < sizeof(notes) ? p->p_filesz : sizeof(notes),
			  (off_t)p->p_offset);
	Elf64_Nhdr h;

	for (size_t at = 0, room = n > 0 ? (size_t)n : 0; at + sizeof(h) + sizeof(name) <= room;) {
		memcpy(&h, notes + at, sizeof(h));
		if (h.n_namesz == sizeof(name) && h.n_type == 4 &&
		    !memcmp(notes + at + sizeof(h), name, sizeof(name)))
			return true;
		at += sizeof(h) + (((size_t)h.n_namesz + 3) & ~(size_t)3) +
		      (((size_t)h.n_descsz + 3) & ~(size_t)3);
	}
	return false;
}

int attach_check_program(int pid, int fd)
{
	Elf64_Phdr phdr[MAX_PHDR];
	char interp[PATH_MAX] = "";
	bool is_go = false;
	Elf64_Ehdr head;
	size_t bytes;
	int i;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG))
		return fail_errno(ENOEXEC, "the program of process %d is no ELF file", pid);
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(*phdr) ||
	    head.e_phnum > MAX_PHDR)
		return fail_errno(ENOEXEC,
				  "process %d is a program of 32 bits, libvestige.so is of 64: "
				  "build the program for 64",
				  pid);
	bytes = head.e_phnum * sizeof(*phdr);
	if (pread(fd, phdr, bytes, (off_t)head.e_phoff) != (ssize_t)bytes)
		head.e_phnum = 0;
	for (i = 0; i < head.e_phnum; i++) {
		if (phdr[i].p_type == PT_INTERP && phdr[i].p_filesz < sizeof(interp) &&
		    pread(fd, interp, phdr[i].p_filesz, (off_t)phdr[i].p_offset) < 0)
			interp[0] = '\0';
		is_go |= phdr[i].p_type == PT_NOTE && has_go_note(fd, &phdr[i]);
	}
	if (is_go)
		return fail_errno(
			ENOTSUP,
			"process %d is a Go program, whose runtime has stacks and threads of its "
			"own: trace it with the kernel's uprobes (perf probe, bpftrace)",
			pid);
	if (!interp[0])
		return fail_errno(ENOTSUP,
				  "the program of process %d is static, nothing can be loaded into "
				  "it: link libvestige.a into it",
				  pid);
	if (strstr(interp, "musl"))
		return fail_errno(
			ENOTSUP,
			"process %d uses another C library (its loader is %s), libvestige.so is "
			"for glibc: build the program for that",
			pid, interp);
	return 0;
}

static int check_program(int pid)
{
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? attach_refused(pid, errno)
							 : no_process(pid, errno);
	err = attach_check_program(pid, fd);
	close(fd);
	return err;
}

/*
 * Check the right to ptrace by opening the memory: other files of /proc can be read without it
 * (Yama).
 */
static int check_rights(int pid)
{
	char c;
	int err = attach_peek(pid, 0, &c, 1);

	return err == -EPERM || err == -EACCES ? attach_refused(pid, -err) : 0;
}

static int is_engine(const struct attach_map *m, void *arg)
{
	const char *slash = strrchr(m->path, '/');

	(void)arg;
	return slash && !strncmp(slash, "/libvestige.so", 14);
}

int attach_has_engine(int pid)
{
	return attach_each_map(pid, is_engine, NULL);
}

int attach_check(int pid, bool *loaded, bool *filtered)
{
	int ret = check_status(pid);

	*loaded = *filtered = false;
	if (ret)
		return ret;
	ret = attach_has_engine(pid);
	if (ret == -EACCES || ret == -EPERM)
		return attach_refused(pid, -ret);
	if (ret > 0)
		*loaded = true;
	if (ret)
		return ret < 0 ? ret : 0;
	ret = check_program(pid);
	if (!ret)
		ret = check_rights(pid);
	return ret ? ret : check_seccomp(pid, filtered);
}
