/* SPDX-License-Identifier: MIT */
/*
 * See attach_impl.h. dlopen() and the engine's constructor take locks of the loader, of malloc()
 * and of libc. A thread that may hold such a lock is not at a safe point: it is in the loader, in
 * an allocator, in libc outside of a system call, in a restartable sequence, or has a frame of a
 * function that takes such a lock. A thread with frames of libc alone is starting or ending, with
 * or without the lock of libc's stacks. A thread whose stack cannot be walked is not at a safe
 * point either. Other threads may hold the locks, since they continue to run.
 *
 * Code that the program has made (by a JIT compiler) has no unwind tables, so the walk ends there.
 * Such code itself takes none of these locks. Each word of the stack that could be a return address
 * is looked at instead: that may refuse too much, by the words of calls that have returned.
 * Tests: tests/cli/test_attach_points.py.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "tools/attach/attach_impl.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"
#include "tools/target/image.h"

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

#define MAX_FRAMES 1024u
#define MAX_SCAN   0x40000u /* bytes of a stack: to look at them takes some 2 ms */
#define SCAN_WORDS 1024u

static int opened_below; /* open files below the root of this process; 0: below ours */

struct attach_points {
	int pid;
	uint64_t objects; /* a digest of their mappings */
	Dwfl *dwfl;
	const char *why; /* the result of the walk */
	bool in_made;	 /* it came to code that the program has made */
	bool of_program; /* it came to a frame outside of libc */
	unsigned int nr_frames;
};

/*
 * Exported functions that hold such a lock while they run or call back. `*`: all names that begin
 * with the text before it. Functions of the first list that are libc's call no code outside of it.
 */
static const char *const allocating[] = {
	"malloc",   "free",	     "calloc",	       "realloc", "reallocarray",
	"memalign", "aligned_alloc", "posix_memalign", "valloc",  "pvalloc",
	"malloc_*", "mallopt",	     "mallinfo*",      "cfree",	  "_int_*",
};
static const char *const locking[] = {
	"fork",
	"_Fork",
	"__libc_fork",
	"vfork",
	"__vfork",
	"posix_spawn*",
	"__posix_spawn*",
	"system",
	"popen",
	"daemon",
	"pthread_create*",
	"pthread_*join*",
	"pthread_detach",
	"pthread_*attr_default_np",
	"pthread_atfork",
	"__register_atfork",
	"pthread_exit",
	"pthread_cancel",
	"pthread_key_*",
	"pthread_setname_np",
	"pthread_getattr_np",
	"__cxa_*atexit*",
	"atexit",
	"exit",
	"quick_exit",
	"__cxa_finalize",
	"dl*",
	"_dl_*",
	"__libc_dlopen*",
	"__tls_get_addr*",
	"setlocale",
	"newlocale",
	"freelocale",
	"iconv_open",
	"iconv_close",
	"getaddrinfo",
	"getpw*",
	"getgr*",
	"sem_open",
	"sem_close",
	"longjmp",
	"_longjmp",
	"siglongjmp",
	"*setcontext",
	"swapcontext",
	"setuid",
	"setgid",
	"seteuid",
	"setegid",
	"setre?id",
	"setres?id",
	"setgroups",
	"_Unwind_*",
	"__gthread_*",
	"thrd_create",
	"thrd_detach",
	"thrd_exit",
	"thrd_join",
};

static bool is_like(const char *name, const char *pattern)
{
	for (; *pattern; name++, pattern++) {
		if (*pattern == '*') {
			for (; !is_like(name, pattern + 1); name++)
				if (!*name)
					return false;
			return true;
		}
		if (!*name || (*pattern != '?' && *pattern != *name))
			return false;
	}
	return !*name;
}

static bool is_of(const char *name, const char *const *patterns, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (is_like(name, patterns[i]))
			return true;
	return false;
}

#define IS_OF(list, name) is_of(name, list, sizeof(list) / sizeof(*(list)))

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

/* dwfl_addrmodule() has a module for addresses behind its end, too. */
static Dwfl_Module *module_at(struct attach_points *p, uint64_t pc)
{
	Dwfl_Module *m = dwfl_addrmodule(p->dwfl, pc);
	Dwarf_Addr lo, end;

	if (m)
		dwfl_module_info(m, NULL, &lo, &end, NULL, NULL, NULL, NULL);
	return m && pc >= lo && pc < end ? m : NULL;
}

static const char *object_at(struct attach_points *p, uint64_t pc)
{
	Dwfl_Module *m = module_at(p, pc);

	return m ? base_name(dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) : NULL;
}

static bool is_libc(const char *object)
{
	return !strncmp(object, "libc.so.", 8) || !strncmp(object, "libc-2", 6) ||
	       !strncmp(object, "libpthread", 10);
}

/* Add the mapping of an object's code to the digest. */
static int add_object(const struct attach_map *m, void *arg)
{
	const uint64_t words[] = {m->lo, m->hi, m->offset};
	uint64_t *sum = arg;

	if (m->exec && m->path[0] == '/')
		*sum = hash_bytes(hash_bytes(*sum, words, sizeof(words)), m->path, strlen(m->path));
	return 0;
}

static uint64_t objects_of(int pid)
{
	uint64_t sum = HASH_BYTES_SEED;

	attach_each_map(pid, add_object, &sum);
	return sum;
}

bool attach_points_stale(const struct attach_points *p)
{
	return objects_of(p->pid) != p->objects;
}

/* Is this code that the program has made? Some do it in a file that has no name of its own. */
static bool is_made(struct attach_points *p, uint64_t pc)
{
	Dwfl_Module *m = module_at(p, pc);
	const char *path = m ? dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : "";
	GElf_Addr bias;

	if (!m)
		return true;
	return path && (!strncmp(path, "/memfd:", 7) || !strncmp(path, "/dev/zero", 9)) &&
	       !dwfl_module_getelf(m, &bias);
}

static const char *why_not_in(struct attach_points *p, uint64_t pc)
{
	const char *object = object_at(p, pc), *name;
	Dwfl_Module *m = module_at(p, pc);

	if (!object)
		return "it is in code that no file has";
	if (!strncmp(object, "ld-", 3) || !strncmp(object, "ld.so", 5))
		return "it is in the loader";
	if (strstr(object, "jemalloc") || strstr(object, "tcmalloc") || strstr(object, "mimalloc"))
		return "it is in an allocator";
	name = dwfl_module_addrname(m, pc);
	if (name && (IS_OF(locking, name) || IS_OF(allocating, name)))
		return "it is in a function that may hold a lock";
	return NULL;
}

static int see_frame(Dwfl_Frame *frame, void *arg)
{
	struct attach_points *p = arg;
	const char *object;
	bool activation;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &activation) || ++p->nr_frames > MAX_FRAMES) {
		p->why = "its stack cannot be followed to the end";
		return DWARF_CB_ABORT;
	}
	pc -= !activation;
	p->in_made = is_made(p, pc);
	p->why = p->in_made ? NULL : why_not_in(p, pc);
	object = object_at(p, pc);
	p->of_program |= !object || !is_libc(object);
	return p->why || p->in_made ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Why a word of a stack is against the thread; NULL: it is not. */
static const char *why_not_word(struct attach_points *p, uint64_t word)
{
	Dwfl_Module *m = module_at(p, word - 1);
	const char *name;

	if (!m)
		return NULL;
	switch (attach_return_kind(p->pid, word)) {
	case ATTACH_RETURN_NONE:
		return NULL;
	case ATTACH_RETURN_SIGNAL: /* it may have come amid anything */
		return "it is in a signal handler, above code that no file has";
	case ATTACH_RETURN_CALL:
		break;
	}
	if (is_libc(object_at(p, word - 1))) {
		if (dwfl_module_getsymtab(m) <= 0)
			return "it is in code that no file has, and libc has no names";
		/* a former call of malloc(): that would not call this code */
		name = dwfl_module_addrname(m, word - 1);
		if (name && IS_OF(allocating, name))
			return NULL;
	}
	if (!why_not_in(p, word - 1))
		return NULL;
	return "it is in code that no file has, and a function that may hold a lock has called "
	       "that, or has left its address on the stack";
}

struct area {
	uint64_t at, end;
};

static int find_area(const struct attach_map *m, void *arg)
{
	struct area *a = arg;

	if (a->at < m->lo || a->at >= m->hi)
		return 0;
	a->end = m->hi;
	return 1;
}

/* Why the words of a stack are against its thread; NULL: they are not. */
static const char *scan_stack(struct attach_points *p, uint64_t sp)
{
	struct area a = {.at = sp & ~UINT64_C(7)};
	uint64_t words[SCAN_WORDS];
	const char *why = NULL;

	/* code of an object that is not known yet is not made code */
	if (attach_points_stale(p))
		return "it loads or unloads objects";
	if (attach_each_map(p->pid, find_area, &a) != 1)
		return "its stack cannot be followed to the end";
	if (a.end - a.at > MAX_SCAN)
		return "it is in code that no file has, and its stack is large";
	while (!why && a.at < a.end) {
		size_t bytes = a.end - a.at < sizeof(words) ? a.end - a.at : sizeof(words);

		if (attach_peek(p->pid, a.at, words, bytes))
			return "its stack cannot be read";
		for (size_t i = 0; !why && i < bytes / sizeof(*words); i++)
			why = why_not_word(p, words[i]);
		a.at += bytes;
	}
	return why;
}

static bool in_sequence(int pid, int tid, uint64_t pc)
{
	struct {
		uint64_t ptr;
		uint32_t size, sig, flags, pad;
	} c = {0};
	struct {
		uint32_t version, flags;
		uint64_t start, bytes, abort;
	} cs;
	uint64_t at = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(c), &c) <= 0 || !c.ptr ||
	    attach_peek(pid, c.ptr + 8, &at, sizeof(at)) || !at ||
	    attach_peek(pid, at, &cs, sizeof(cs)))
		return false;
	return pc - cs.start < cs.bytes;
}

const char *attach_point_refused(struct attach_points *p, int tid, uint64_t pc, uint64_t sp)
{
	const char *object;
	int walked;

	if (in_sequence(p->pid, tid, pc))
		return "it is in a restartable sequence";
	object = object_at(p, pc);
	if (object && is_libc(object) && !attach_behind_syscall(p->pid, pc))
		return "it is in libc, outside of a system call";
	p->why = NULL;
	p->in_made = false;
	p->of_program = false;
	p->nr_frames = 0;
	walked = dwfl_getthread_frames(p->dwfl, tid, see_frame, p);
	if (p->in_made)
		return scan_stack(p, sp);
	if (walked && !p->why)
		return "its stack cannot be followed to the end";
	return p->why || p->of_program ? p->why : "it is starting or ending";
}

/* Do not use debug files: the search for them would take long while the thread is stopped. */
static int no_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **to)
{
	(void)m;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)to;
	return -1;
}

/* Open an object's file below the process's own root, if that is not ours. */
static int find_elf(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, char **file,
		    Elf **elf)
{
	char path[PATH_MAX + 32];
	int fd;

	if (!opened_below || name[0] != '/')
		return dwfl_linux_proc_find_elf(m, data, name, base, file, elf);
	snprintf(path, sizeof(path), "/proc/%d/root%s", opened_below, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	/* a file below a chroot() may have the same path in our root, too */
	if (fd < 0)
		return dwfl_linux_proc_find_elf(m, data, name, base, file, elf);
	*file = strdup(path);
	return fd;
}

static const struct {
	const char *name;
	size_t at;
} wanted[] = {
	{"dlopen", offsetof(struct attach_functions, dlopen)},
	{"dlerror", offsetof(struct attach_functions, dlerror)},
	{"pthread_attr_init", offsetof(struct attach_functions, attr_init)},
	{"pthread_attr_setstacksize", offsetof(struct attach_functions, attr_stack)},
	{"pthread_attr_setdetachstate", offsetof(struct attach_functions, attr_detached)},
	{"pthread_create", offsetof(struct attach_functions, create)},
};

struct finding {
	struct attach_functions *f;
	unsigned int nr_seen; /* objects other than libc: the program is the first */
	bool is_sanitized;    /* it uses a sanitizer's library, which must know of each thread */
};

static int find_functions(Dwfl_Module *m, void **data, const char *path, Dwarf_Addr base, void *arg)
{
	struct finding *f = arg;
	const char *object = base_name(path);
	bool libc = is_libc(object) || !strncmp(object, "libdl", 5);
	int n, i;

	(void)data;
	(void)base;
	f->is_sanitized |= !strncmp(object, "libtsan", 7) || !strncmp(object, "libclang_rt.", 12);
	n = libc || !f->nr_seen++ ? dwfl_module_getsymtab(m) : 0;
	for (i = 0; i < n; i++) {
		GElf_Addr value;
		GElf_Sym sym;
		const char *name = dwfl_module_getsym_info(m, i, &sym, &value, NULL, NULL, NULL);

		if (!name || GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
			continue;
		for (size_t k = 0; libc && k < sizeof(wanted) / sizeof(*wanted); k++)
			if (!strcmp(name, wanted[k].name))
				*(uint64_t *)((char *)f->f + wanted[k].at) = value;
		if (!strcmp(name, "__tsan_init") || !strcmp(name, "__msan_init"))
			f->is_sanitized = true;
	}
	return DWARF_CB_OK;
}

int attach_points_open(int pid, struct attach_points **points, struct attach_functions *f)
{
	static char *no_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf, .find_debuginfo = no_debuginfo, .debuginfo_path = &no_path};
	struct attach_points *p = calloc(1, sizeof(*p));
	struct finding finding = {.f = f};
	int err;

	*f = (struct attach_functions){0};
	if (!p)
		return fail(ENOMEM, "out of memory");
	p->pid = pid;
	p->objects = objects_of(pid); /* before they are read: what comes meanwhile is seen later */
	opened_below = image_other_root(pid) ? pid : 0;
	p->dwfl = dwfl_begin(&callbacks);
	err = p->dwfl ? dwfl_linux_proc_report(p->dwfl, pid) : ENOMEM;
	if (!err) {
		dwfl_report_end(p->dwfl, NULL, NULL);
		err = dwfl_linux_proc_attach(p->dwfl, pid, true);
	}
	if (err) {
		attach_points_close(p);
		return err > 0 ? attach_refused(pid, err)
			       : fail(ENOTSUP, "the objects of process %d cannot be read: %s", pid,
				      dwfl_errmsg(-1));
	}
	dwfl_getmodules(p->dwfl, find_functions, &finding, 0);
	if (finding.is_sanitized || !f->attr_init || !f->attr_stack || !f->attr_detached)
		f->create = 0;
	if (!f->dlopen || !f->dlerror) {
		attach_points_close(p);
		return fail(ENOTSUP, "process %d has no dlopen(): it has not loaded glibc", pid);
	}
	*points = p;
	return 0;
}

void attach_points_close(struct attach_points *p)
{
	if (p->dwfl)
		dwfl_end(p->dwfl);
	free(p);
}
