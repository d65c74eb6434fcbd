/* SPDX-License-Identifier: MIT */
/*
 * A core in the form of an oops, by elfutils: the first thread in it is the one that died.
 * Functions are from the files that the core names, if they are still the files that ran. Tests:
 * tests/engine/fire/crash.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/machine.h"
#include "tools/code/debug_file.h"
#include "tools/code/demangle.h"
#include "tools/target/oops.h"

#define MAX_FRAMES    128
#define OPEN_LIMIT_US 500000

struct core {
	int fd;
	Elf *elf;
	Dwfl *dwfl;
	struct out *o;
	bool all;
	int nr_threads, nr_frames;
	/* of the notes */
	struct elf_prstatus status;
	struct elf_prpsinfo info;
	siginfo_t signal;
	bool has_status, has_info, has_signal;
};

bool core_is(const char *path)
{
	GElf_Half type = 0;
	unsigned char head[18] = {0};
	/* a FIFO is no core, and must not be waited for */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return false;
	if (read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) && !memcmp(head, ELFMAG, SELFMAG))
		memcpy(&type, head + 16, sizeof(type));
	close(fd);
	return type == ET_CORE;
}

static void take(void *to, size_t n, const void *from, size_t bytes, bool *has)
{
	if (*has || bytes < n)
		return;
	memcpy(to, from, n);
	*has = true;
}

static void read_notes(struct core *c)
{
	size_t nr = 0;

	elf_getphdrnum(c->elf, &nr);
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr ph;
		GElf_Nhdr note;
		Elf_Data *data;
		size_t at = 0, name, desc;

		if (!gelf_getphdr(c->elf, (int)i, &ph) || ph.p_type != PT_NOTE)
			continue;
		data = elf_getdata_rawchunk(c->elf, (int64_t)ph.p_offset, ph.p_filesz, ELF_T_NHDR);
		while (data && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0) {
			const char *p = (const char *)data->d_buf + desc;

			if (note.n_type == NT_PRSTATUS)
				take(&c->status, sizeof(c->status), p, note.n_descsz,
				     &c->has_status);
			else if (note.n_type == NT_PRPSINFO)
				take(&c->info, sizeof(c->info), p, note.n_descsz, &c->has_info);
			else if (note.n_type == NT_SIGINFO)
				take(&c->signal, sizeof(c->signal), p, note.n_descsz,
				     &c->has_signal);
		}
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void put_place(struct core *c, Dwarf_Addr pc, bool exact)
{
	Dwarf_Addr at = exact ? pc : pc - 1;
	Dwfl_Module *m = dwfl_addrmodule(c->dwfl, at);
	const char *file = NULL, *symbol = NULL, *source = NULL;
	GElf_Off offset = 0;
	GElf_Sym sym = {0};
	Dwfl_Line *line;
	Dwarf_Addr begin = 0;
	char *name;
	int number = 0;

	if (!m) {
		out_printf(c->o, "0x%" PRIx64, (uint64_t)pc);
		return;
	}
	file = dwfl_module_info(m, NULL, &begin, NULL, NULL, NULL, NULL, NULL);
	symbol = dwfl_module_addrinfo(m, at, &offset, &sym, NULL, NULL, NULL);
	if (!symbol) {
		out_printf(c->o, "0x%" PRIx64 " [%s+0x%" PRIx64 "]", (uint64_t)pc,
			   base_name(file ? file : "?"), (uint64_t)(pc - begin));
		return;
	}
	name = demangle(symbol, DEMANGLE_SHORT);
	out_printf(c->o, "%.*s+0x%" PRIx64 "/0x%" PRIx64 " [%s]",
		   name ? INT_MAX : (int)strcspn(symbol, "@"), name ? name : symbol,
		   (uint64_t)(offset + (pc - at)), (uint64_t)sym.st_size,
		   base_name(file ? file : "?"));
	free(name);
	line = dwfl_module_getsrc(m, at);
	if (line)
		source = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	if (source)
		out_printf(c->o, " %s:%d", source, number);
}

/* A wrapped call (function_graph) returns to a stub, which is no function of the program. */
static bool is_stub(struct core *c, Dwarf_Addr pc)
{
	Dwfl_Module *m = dwfl_addrmodule(c->dwfl, pc);
	const char *name = m ? dwfl_module_addrname(m, pc) : NULL;

	return name && !strcmp(name, "graph_stubs");
}

static int put_frame(Dwfl_Frame *frame, void *arg)
{
	struct core *c = arg;
	bool exact = false;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	if (is_stub(c, pc))
		return DWARF_CB_OK;
	out_text(c->o, " ");
	put_place(c, pc, exact || !c->nr_frames);
	out_text(c->o, "\n");
	return ++c->nr_frames == MAX_FRAMES ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static void put_head(struct core *c)
{
	const int sig = c->has_signal ? c->signal.si_signo : c->status.pr_cursig;
	const char *name = sigabbrev_np(sig);
	uint64_t pc = 0, v;
	const char *reg;

	out_printf(c->o, "Oops: SIG%s, code %d", name ? name : "?",
		   c->has_signal ? c->signal.si_code : 0);
	if (c->has_signal && c->signal.si_code > 0)
		out_printf(c->o, ", address: %016" PRIx64, (uint64_t)c->signal.si_addr);
	if (c->has_signal && c->signal.si_code <= 0)
		out_printf(c->o, ", sent by PID %d, UID %u", c->signal.si_pid, c->signal.si_uid);
	out_printf(c->o, "\nPID: %d TGID: %d", c->status.pr_pid, c->info.pr_pid);
	out_printf(c->o, " Program: %.*s\n", (int)sizeof(c->info.pr_fname), c->info.pr_fname);
	if (!c->has_status)
		return;
	for (unsigned int i = 0; (reg = machine_core_register(&c->status.pr_reg, i, &v)); i++) {
		if (!i) {
			pc = v;
			out_text(c->o, "RIP: ");
			put_place(c, pc, true);
			out_text(c->o, "\n");
			continue;
		}
		out_printf(c->o, "%s: %0*" PRIx64 "%s", reg, !strcmp(reg, "EFLAGS") ? 8 : 16, v,
			   i == 2 || (i > 2 && (i - 3) % 3 == 2) ? "\n" : " ");
	}
}

/*
 * The walk visits all threads, also those not printed: libdwfl 0.188 leaks if it is stopped early.
 */
static int put_thread(Dwfl_Thread *thread, void *arg)
{
	struct core *c = arg;

	if (c->nr_threads && !c->all)
		return DWARF_CB_OK;
	if (c->nr_threads++)
		out_printf(c->o, "\nPID: %d\n", (int)dwfl_thread_tid(thread));
	out_text(c->o, "Call Trace:\n <TASK>\n");
	c->nr_frames = 0;
	/* the end of a stack is an error, too */
	dwfl_thread_getframes(thread, put_frame, c);
	out_text(c->o, " </TASK>\n---[ end trace 0000000000000000 ]---\n");
	return DWARF_CB_OK;
}

static void wake(int sig)
{
	(void)sig;
}

/* Open the module's file now. */
static int open_module(Dwfl_Module *m, void **user, const char *name, Dwarf_Addr base, void *arg)
{
	GElf_Addr bias;

	(void)user;
	(void)name;
	(void)base;
	(void)arg;
	dwfl_module_getelf(m, &bias);
	return DWARF_CB_OK;
}

/*
 * libdwfl opens the files that the core names. One may be a FIFO by now, where open() waits for
 * ever: a signal ends the wait, and libdwfl goes on without that file.
 */
static int open_modules(struct core *c)
{
	const struct itimerval times = {{0, OPEN_LIMIT_US}, {0, OPEN_LIMIT_US}}, none = {0};
	const struct sigaction sa = {.sa_handler = wake};
	struct sigaction before;
	int err;

	sigaction(SIGALRM, &sa, &before);
	setitimer(ITIMER_REAL, &times, NULL);
	err = dwfl_core_file_report(c->dwfl, c->elf, NULL) < 0 ||
	      dwfl_report_end(c->dwfl, NULL, NULL);
	if (!err)
		dwfl_getmodules(c->dwfl, open_module, NULL, 0);
	setitimer(ITIMER_REAL, &none, NULL);
	sigaction(SIGALRM, &before, NULL);
	return err;
}

static int load(struct core *c, const char *path)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = debug_file_find,
	};

	elf_version(EV_CURRENT);
	c->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (c->fd < 0)
		return fail_errno(errno, "cannot open '%s'", path);
	c->elf = elf_begin(c->fd, ELF_C_READ_MMAP, NULL);
	c->dwfl = c->elf ? dwfl_begin(&callbacks) : NULL;
	if (!c->dwfl || open_modules(c))
		return fail(EINVAL, "%s is not a core that can be read: %s", path, dwfl_errmsg(-1));
	read_notes(c);
	if (!c->has_status)
		return fail(EINVAL, "%s has no registers of a thread", path);
	return 0;
}

int core_print(const char *path, bool all, struct out *o, int *pid)
{
	struct core c = {.fd = -1, .o = o, .all = all};
	int err = load(&c, path);

	if (!err) {
		*pid = c.has_info ? c.info.pr_pid : 0;
		put_head(&c);
		if (dwfl_core_file_attach(c.dwfl, c.elf) < 0)
			err = fail(EINVAL, "the threads of %s cannot be read: %s", path,
				   dwfl_errmsg(-1));
		else
			dwfl_getthreads(c.dwfl, put_thread, &c);
	}
	dwfl_end(c.dwfl);
	elf_end(c.elf);
	if (c.fd >= 0)
		close(c.fd);
	return err;
}
