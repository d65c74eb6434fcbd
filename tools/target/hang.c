/* SPDX-License-Identifier: MIT */
/*
 * See hang.h. The futex system call has the address at which a thread waits. The libc function that
 * the thread is in shows the kind of object there. glibc's locks have the id of their holder beside
 * the futex. A thread waits for at most one object, so cycles are found by following the holders.
 * Tests: tests/cli/test_hang.py.
 */
#include "tools/target/hang.h"

#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/base/proc_pid.h"
#include "tools/code/debug_file.h"
#include "tools/code/demangle.h"
#include "tools/target/image.h"
#include "tools/text/duration.h"
#include "tools/text/json.h"
#include "tools/text/syscall_names.h"

#define MAX_FRAMES 64u

/* Where glibc (2.34 and later) has the holder's id in its locks. */
#define MUTEX_OWNER    8u
#define RWLOCK_WRPHASE 8u
#define RWLOCK_WRITERS 12u
#define RWLOCK_WRITER  24u
#define FUTEX_OWNER    0x3fffffffu /* the holder's id in a futex with priority inheritance */

struct thread {
	int tid;
	char comm[16];
	char state;
	bool in_call;
	long nr;
	unsigned long long args[6];
	int cpu;	 /* where it ran last */
	double since_ms; /* time of that, on the clock of that CPU's scheduler; 0 unknown */
	int waits_for;	 /* a thread of the process; 0: none that is known */
	char what[256];
	unsigned int nr_frames;
	uint64_t frames[MAX_FRAMES];
	bool printed; /* in a cycle that was printed */
};

struct hang {
	int pid;
	Dwfl *dwfl;
	struct thread *at;
	size_t nr, room;
	double now_ms[CPU_SETSIZE]; /* by CPU; 0: not known yet */
	int refused;		    /* why stacks cannot be read, an errno; 0: they can */
};

/* A file below /proc/PID/task/TID. Return: its bytes; -errno. */
static int read_task(int pid, int tid, const char *name, char *to, size_t room)
{
	char path[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, to, room - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	to[n > 0 ? n : 0] = '\0';
	return (int)n;
}

/* When the thread ran last, ms of the scheduler's clock; 0: the kernel does not say. */
static double ran_ms(int pid, int tid)
{
	char text[4096];
	const char *p;

	if (read_task(pid, tid, "sched", text, sizeof(text)) <= 0)
		return 0;
	p = strstr(text, "se.exec_start");
	p = p ? strchr(p, ':') : NULL;
	return p ? strtod(p + 1, NULL) : 0;
}

static bool read_word(const struct hang *h, uint64_t addr, uint32_t *v)
{
	struct iovec local = {v, sizeof(*v)}, remote = {(void *)(uintptr_t)addr, sizeof(*v)};

	return process_vm_readv(h->pid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof(*v);
}

static struct thread *find(struct hang *h, int tid)
{
	for (size_t i = 0; i < h->nr; i++)
		if (h->at[i].tid == tid)
			return &h->at[i];
	return NULL;
}

/*
 * Each CPU's scheduler has a clock of its own, which leaves out interrupts. A thread that runs on
 * the CPU now shows its time.
 */
static void look_at_clocks(struct hang *h)
{
	cpu_set_t before, one;

	if (sched_getaffinity(0, sizeof(before), &before))
		return;
	for (size_t i = 0; i < h->nr; i++) {
		int cpu = h->at[i].cpu;

		if (cpu < 0 || cpu >= CPU_SETSIZE || h->now_ms[cpu] > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			continue;
		usleep(1000);
		h->now_ms[cpu] = ran_ms(getpid(), getpid());
	}
	sched_setaffinity(0, sizeof(before), &before);
}

static void look(struct hang *h, struct thread *t)
{
	struct proc_stat s;
	char text[512], *p;

	if (proc_stat(t->tid, &s)) {
		memcpy(t->comm, s.comm, sizeof(t->comm));
		t->state = s.state;
		t->cpu = s.cpu;
	}
	if (read_task(h->pid, t->tid, "syscall", text, sizeof(text)) > 0 && text[0] >= '0' &&
	    text[0] <= '9') {
		t->in_call = true;
		t->nr = strtol(text, &p, 10);
		for (unsigned int i = 0; i < 6; i++)
			t->args[i] = strtoull(p, &p, 16);
	}
	t->since_ms = ran_ms(h->pid, t->tid);
}

static int list_threads(struct hang *h)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", h->pid);
	dir = opendir(path);
	if (!dir)
		return fail(errno == ENOENT ? ESRCH : errno, "there is no process %d", h->pid);
	while ((e = readdir(dir))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		if (h->nr == h->room) {
			size_t room = h->room ? h->room * 2 : 64;
			struct thread *more = realloc(h->at, room * sizeof(*more));

			if (!more) {
				closedir(dir);
				return fail(ENOMEM, "out of memory for %zu threads", room);
			}
			h->at = more;
			h->room = room;
		}
		h->at[h->nr] = (struct thread){.tid = atoi(e->d_name), .state = '?'};
		look(h, &h->at[h->nr]);
		/* the engine's own thread, if there is one, is no part of the program */
		h->nr += strcmp(h->at[h->nr].comm, "vestige-agent") != 0;
	}
	closedir(dir);
	return 0;
}

/* Stopping the thread would end its call with EINTR (signal(7)). */
static bool would_end(const struct thread *t)
{
	static const long calls[] = {
		SYS_epoll_wait,	  SYS_epoll_pwait,     SYS_epoll_pwait2, SYS_semop,  SYS_semtimedop,
		SYS_io_getevents, SYS_rt_sigtimedwait, SYS_msgrcv,	 SYS_msgsnd, SYS_pause};

	if (t->in_call)
		for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
			if (t->nr == calls[i])
				return true;
	return false;
}

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	struct thread *t = arg;
	bool activation;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	t->frames[t->nr_frames++] = activation ? pc : pc - 1;
	return t->nr_frames < MAX_FRAMES ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static void take_stacks(struct hang *h)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
						 .find_debuginfo = debug_file_find};
	int err;

	h->dwfl = dwfl_begin(&callbacks);
	if (!h->dwfl)
		return;
	err = dwfl_linux_proc_report(h->dwfl, h->pid);
	dwfl_report_end(h->dwfl, NULL, NULL);
	if (!err)
		err = dwfl_linux_proc_attach(h->dwfl, h->pid, false);
	if (err) {
		h->refused = err > 0 ? err : EPERM;
		return;
	}
	for (size_t i = 0; i < h->nr; i++) {
		struct thread *t = &h->at[i];

		errno = 0;
		if (!would_end(t) && dwfl_getthread_frames(h->dwfl, t->tid, add_frame, t) &&
		    !t->nr_frames && errno == EPERM)
			h->refused = EPERM;
	}
}

/* The symbol at an address of the process; NULL. */
static const char *name_at(const struct hang *h, uint64_t addr, uint64_t *offset)
{
	Dwfl_Module *m = h->dwfl ? dwfl_addrmodule(h->dwfl, addr) : NULL;
	GElf_Sym sym;
	GElf_Off off = 0;
	const char *name = m ? dwfl_module_addrinfo(m, addr, &off, &sym, NULL, NULL, NULL) : NULL;

	if (offset)
		*offset = off;
	return name;
}

/* The same, as the source has it. Return: to be freed, or NULL. */
static char *source_name_at(const struct hang *h, uint64_t addr, uint64_t *offset)
{
	const char *symbol = name_at(h, addr, offset);
	char *source = symbol ? demangle(symbol, DEMANGLE_SHORT) : NULL;

	return source || !symbol ? source : strdup(symbol);
}

enum sort { FUTEX, MUTEX, RWLOCK, JOIN, CONDITION, SEMAPHORE, BARRIER, ONCE };

/* The call that the thread is in: the innermost function of libc that identifies one. */
static enum sort sort_of(const struct hang *h, const struct thread *t)
{
	static const struct {
		const char *part;
		enum sort sort;
	} names[] = {
		{"pthread_mutex_", MUTEX},     {"mtx_lock", MUTEX},
		{"mtx_timedlock", MUTEX},      {"pthread_rwlock_", RWLOCK},
		{"pthread_join", JOIN},	       {"pthread_clockjoin", JOIN},
		{"pthread_timedjoin", JOIN},   {"thrd_join", JOIN},
		{"pthread_cond_", CONDITION},  {"cnd_", CONDITION},
		{"sem_wait", SEMAPHORE},       {"sem_timedwait", SEMAPHORE},
		{"sem_clockwait", SEMAPHORE},  {"new_sem_", SEMAPHORE},
		{"pthread_barrier_", BARRIER}, {"pthread_once", ONCE},
	};

	for (unsigned int f = 0; f < t->nr_frames && f < 8; f++) {
		const char *name = name_at(h, t->frames[f], NULL);

		for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
			if (strstr(name, names[i].part))
				return names[i].sort;
	}
	return FUTEX;
}

static void put_place(const struct hang *h, char *to, size_t room, const char *sort, uint64_t addr)
{
	uint64_t offset = 0;
	char *name = source_name_at(h, addr, &offset);

	if (name && offset)
		snprintf(to, room, "%s 0x%" PRIx64 " (%s+0x%" PRIx64 ")", sort, addr, name, offset);
	else if (name)
		snprintf(to, room, "%s 0x%" PRIx64 " (%s)", sort, addr, name);
	else
		snprintf(to, room, "%s 0x%" PRIx64, sort, addr);
	free(name);
}

static void held_by(struct hang *h, struct thread *t, uint32_t owner)
{
	const struct thread *who = find(h, (int)owner);
	size_t n = strlen(t->what);

	if (who) {
		t->waits_for = who->tid;
		snprintf(t->what + n, sizeof(t->what) - n, ", held by %s-%d%s", who->comm, who->tid,
			 who == t ? ", itself" : "");
	} else if (owner) {
		snprintf(t->what + n, sizeof(t->what) - n, ", held by thread %u, which has ended",
			 owner);
	}
}

static void explain_rwlock(struct hang *h, struct thread *t, uint64_t addr)
{
	static const uint32_t at[] = {RWLOCK_WRPHASE, RWLOCK_WRITERS};
	uint32_t writer = 0;

	for (unsigned int i = 0; i < 2; i++)
		if (read_word(h, addr - at[i] + RWLOCK_WRITER, &writer) && writer &&
		    find(h, (int)writer)) {
			put_place(h, t->what, sizeof(t->what), "rwlock", addr - at[i]);
			held_by(h, t, writer);
			return;
		}
	put_place(h, t->what, sizeof(t->what), "rwlock near", addr);
	strncat(t->what, ", held by readers", sizeof(t->what) - strlen(t->what) - 1);
}

static void explain_futex(struct hang *h, struct thread *t)
{
	uint64_t addr = t->args[0];
	uint32_t v = 0, op = (uint32_t)t->args[1] & 0x7f;
	enum sort sort = sort_of(h, t);

	switch (sort) {
	case MUTEX:
		put_place(h, t->what, sizeof(t->what), "mutex", addr);
		if (op == 6 || op == 13) /* FUTEX_LOCK_PI, its second form */
			held_by(h, t, read_word(h, addr, &v) ? v & FUTEX_OWNER : 0);
		else
			held_by(h, t, read_word(h, addr + MUTEX_OWNER, &v) ? v : 0);
		break;
	case RWLOCK:
		explain_rwlock(h, t, addr);
		break;
	case JOIN:
		if (read_word(h, addr, &v) && find(h, (int)v)) {
			t->waits_for = (int)v;
			snprintf(t->what, sizeof(t->what), "the end of %s-%u",
				 find(h, (int)v)->comm, v);
		} else {
			snprintf(t->what, sizeof(t->what), "the end of a thread");
		}
		break;
	default:
		put_place(h, t->what, sizeof(t->what),
			  sort == CONDITION   ? "condition"
			  : sort == SEMAPHORE ? "semaphore"
			  : sort == BARRIER   ? "barrier"
			  : sort == ONCE      ? "pthread_once()"
					      : "futex",
			  addr);
	}
}

/* Describe a call's first argument if that is a descriptor. */
static bool put_file(const struct hang *h, struct thread *t, const char *name)
{
	static const char *const with[] = {"read",     "write",	     "readv",	    "writev",
					   "recvfrom", "sendto",     "recvmsg",	    "sendmsg",
					   "accept",   "accept4",    "connect",	    "fsync",
					   "flock",    "fcntl",	     "ioctl",	    "pread64",
					   "pwrite64", "epoll_wait", "epoll_pwait", "fdatasync"};
	char path[64], to[160];
	ssize_t n;

	for (size_t i = 0; i < sizeof(with) / sizeof(*with); i++) {
		if (strcmp(with[i], name))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", h->pid, (int)t->args[0]);
		n = readlink(path, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		snprintf(t->what, sizeof(t->what), "%s(%d%s%s)", name, (int)t->args[0],
			 n > 0 ? ": " : "", to);
		return true;
	}
	return false;
}

static void explain(struct hang *h, struct thread *t)
{
	const char *name = t->in_call && t->nr >= 0 && (unsigned long)t->nr < syscall_nr_names
				   ? syscall_names[t->nr]
				   : NULL;

	if (t->in_call && t->nr == SYS_futex)
		explain_futex(h, t);
	else if (name && !put_file(h, t, name))
		snprintf(t->what, sizeof(t->what), "%s()", name);
	else if (!name && (t->state == 'T' || t->state == 't'))
		snprintf(t->what, sizeof(t->what), "being continued: it is stopped");
	else if (!name && t->state == 'D')
		snprintf(t->what, sizeof(t->what), "the disk: a page fault");
}

/* How long it waits, in ns; false: that is not known. */
static bool since(const struct hang *h, const struct thread *t, uint64_t *ns)
{
	double now = t->cpu >= 0 && t->cpu < CPU_SETSIZE ? h->now_ms[t->cpu] : 0;

	if (!(now > 0) || !(t->since_ms > 0) || now < t->since_ms)
		return false;
	*ns = (uint64_t)((now - t->since_ms) * 1e6);
	return true;
}

static void put_since(const struct hang *h, struct out *o, const struct thread *t)
{
	char text[DURATION_WIDTH + 1];
	uint64_t ns;

	if (!since(h, t, &ns))
		return;
	duration_text(text, ns);
	out_text(o, " for ");
	out_text(o, text);
}

static void put_thread(const struct hang *h, struct out *o, const struct thread *t)
{
	out_printf(o, "%s-%d", t->comm, t->tid);
	if (t->state == 'R') {
		out_text(o, " runs\n");
	} else {
		out_text(o, " waits");
		put_since(h, o, t);
		out_printf(o, "%s%s\n", t->what[0] ? ": " : "", t->what);
	}
	for (unsigned int i = 0; i < t->nr_frames; i++) {
		uint64_t offset;
		char *name = source_name_at(h, t->frames[i], &offset);

		if (name)
			out_printf(o, "    %s+0x%" PRIx64 "\n", name, offset);
		else
			out_printf(o, "    0x%" PRIx64 "\n", t->frames[i]);
		free(name);
	}
	if (!t->nr_frames && would_end(t))
		out_text(o, "    (no stack: to stop it would end its system call)\n");
}

static void put_json_thread(const struct hang *h, struct out *o, const struct thread *t)
{
	uint64_t ns;

	out_printf(o, "{\"tid\": %d, \"comm\": ", t->tid);
	json_put(o, t->comm);
	out_printf(o, ", \"state\": \"%c\", \"waits_for\": ", t->state);
	json_put(o, t->state != 'R' && t->what[0] ? t->what : NULL);
	out_text(o, ", \"since\": ");
	if (t->state != 'R' && since(h, t, &ns))
		out_printf(o, "%" PRIu64, ns);
	else
		out_text(o, "null");
	out_text(o, ", \"holder\": ");
	if (t->waits_for)
		out_printf(o, "%d", t->waits_for);
	else
		out_text(o, "null");
	out_text(o, ", \"stack\": [");
	for (unsigned int i = 0; i < t->nr_frames; i++) {
		uint64_t offset = 0;
		char *name = source_name_at(h, t->frames[i], &offset);

		out_text(o, i ? ", {\"name\": " : "{\"name\": ");
		json_put(o, name);
		out_printf(o, ", \"offset\": %" PRIu64 ", \"address\": \"0x%" PRIx64 "\"}", offset,
			   t->frames[i]);
		free(name);
	}
	out_text(o, "]}");
}

/* Print each cycle of threads once. */
static int put_circles(struct hang *h, bool json, struct out *o)
{
	int nr = 0;

	for (size_t i = 0; i < h->nr; i++) {
		struct thread *t = &h->at[i], *slow = t;

		/* after as many steps as there are threads, the walk is in a cycle */
		for (size_t n = 0; n < h->nr && slow; n++)
			slow = slow->waits_for ? find(h, slow->waits_for) : NULL;
		if (!slow || slow->printed)
			continue;
		if (json)
			out_printf(o, "%s[%d", nr ? ", " : "", slow->tid);
		else
			out_printf(o, "deadlock: %s-%d", slow->comm, slow->tid);
		nr++;
		t = slow;
		do {
			t->printed = true;
			t = find(h, t->waits_for);
			if (json && t != slow)
				out_printf(o, ", %d", t->tid);
			else if (!json)
				out_printf(o, " -> %s-%d", t->comm, t->tid);
		} while (t != slow);
		out_text(o, json ? "]" : "\n");
	}
	if (nr && !json)
		out_text(o, "\n");
	return nr;
}

/* The cycles of locks that the engine has found, if it is there and prove_locking is on. */
static void put_order(int pid, struct out *o)
{
	struct image t;
	char *text;

	if (image_stopped(pid) || image_open(&t, pid))
		return;
	if (!image_read(&t, "trace_stat/lockdep", &text, NULL)) {
		const char *from = strstr(text, "\npossible circular");

		out_text(o, from ? from : "");
		free(text);
	}
	image_close(&t);
}

static void explain_refusal(const struct hang *h)
{
	struct proc_status s;
	int debugger = proc_status(h->pid, &s) ? 0 : s.tracer;
	char text[64];
	bool calls = read_task(h->pid, h->pid, "syscall", text, sizeof(text)) > 0;

	if (debugger)
		note("no stacks of process %d: process %d traces it already", h->pid, debugger);
	else
		note("process %d refuses stacks%s: %s; its own user or root may have them, unless "
		     "kernel.yama.ptrace_scope forbids it",
		     h->pid, calls ? "" : " and what its threads wait for", strerror(h->refused));
	fflush(stderr);
}

int hang_print(int pid, bool json, struct out *o)
{
	struct hang h = {.pid = pid};
	int ret = list_threads(&h);

	if (ret) {
		free(h.at);
		return ret;
	}
	look_at_clocks(&h);
	take_stacks(&h);
	if (h.refused)
		explain_refusal(&h);
	for (size_t i = 0; i < h.nr; i++)
		explain(&h, &h.at[i]);
	out_text(o, json ? "{\"deadlocks\": [" : "");
	ret = put_circles(&h, json, o);
	out_text(o, json ? "],\n\"threads\": [" : "");
	for (size_t i = 0; i < h.nr; i++) {
		out_text(o, json && i ? ",\n" : "");
		if (json)
			put_json_thread(&h, o, &h.at[i]);
		else
			put_thread(&h, o, &h.at[i]);
	}
	out_text(o, json ? "]}\n" : "");
	if (h.dwfl)
		dwfl_end(h.dwfl);
	free(h.at);
	if (!json)
		put_order(pid, o);
	return ret;
}
