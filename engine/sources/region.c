/* SPDX-License-Identifier: MIT */
/*
 * See region.h. A region's pages allow no access through the program's mapping. The alias has the
 * program's protection. The handler of SIGSEGV executes the instruction on the alias
 * (arch_access.h), so accesses of other threads still fault. A fault outside of regions is the
 * program's: its handler is called, or the process dies, as without the engine. An unknown
 * instruction ends the region: the program goes on, and region_show() shows where it was. A call
 * that changes the mapping ends it, too. System calls get the alias (region_calls.h).
 *
 * The engine keeps SIGSEGV from the first use on for ever, as a fault may be on its way when the
 * last region is removed. The program sees and sets its own action (signals_take()). An alias is
 * unmapped when no thread is in the handler.
 *
 * Handler: any context, no lock. All else under the tree lock. fork: the child has the same
 * regions, as the memory is shared. Costs: some 4 us an access. Tests:
 * tests/engine/tracers/mmiotrace.
 */
#include "engine/sources/region.h"

#include <errno.h>
#include <linux/futex.h>

#include "arch_access.h"
#include "arch_context.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/sources/region_calls.h"
#include "engine/sources/signal.h"

#define PAGE	       UINT64_C(4096)
#define WAIT_NS	       1000000
#define MAX_WAITS      1000u /* longest wait for handlers to end: a second */
#define MAX_CALL_WAITS 20u

enum {
	REGION_FREE,
	REGION_OFF, /* there is no listener */
	REGION_ON,
	REGION_LOST, /* an instruction could not be executed on the alias */
	REGION_GONE, /* the program changed the mapping */
};

static struct region regions[REGION_MAX] BIG_ZEROS;
static uint32_t users; /* handlers that use an alias now */
static int taken;

/* The last fault on pages that are no longer watched: its instruction is tried again once. */
static struct {
	uint64_t at, ip, sp, nr_ended;
} late;
static uint64_t nr_ended;

/* Forbid all access through the program's mapping. */
static void close_pages(const struct region *r)
{
	sys_mprotect((void *)r->lo, r->hi - r->lo, PROT_NONE);
}

/* Allow access again. A thread that may make no system call would otherwise fault for ever. */
static void open_pages(const struct region *r)
{
	arch_raw_syscall(SYS_mprotect, (long)r->lo, (long)(r->hi - r->lo), (long)r->prot, 0, 0, 0);
}

static void notify_map(uint32_t i, int on)
{
	const struct source_link *link;

	for (link = load_acquire(&region_accesses.first); link; link = load_acquire(&link->next))
		((const struct region_listener *)link)->map(i, &regions[i], on);
}

static struct region *find(uint64_t at)
{
	uint32_t i;

	for (i = 0; i < REGION_MAX; i++)
		if (load_acquire(&regions[i].state) == REGION_ON && at >= regions[i].lo &&
		    at < regions[i].hi)
			return &regions[i];
	return NULL;
}

static uint8_t *reach(struct arch_access_user *u, uint64_t at, uint32_t bytes, int *watched)
{
	const struct region *r = find(at), *last = find(at + bytes - 1);

	(void)u;
	*watched = r != NULL;
	if (r != last)
		return NULL;
	return (uint8_t *)(r ? r->alias + (at - r->lo) : at);
}

static void note(struct arch_access_user *u, uint64_t at, uint32_t bytes, int is_write,
		 uint64_t value, uint64_t pc)
{
	const struct region *r = find(at);
	const struct source_link *link = source_heard(&region_accesses);

	(void)u;
	if (!r || at >= r->to || at + bytes <= r->from)
		return;
	for (; link; link = load_acquire(&link->next))
		((const struct region_listener *)link)
			->access((uint32_t)(r - regions), at, bytes, is_write, value, pc);
}

/*
 * End a region: open its pages, then give its faults to the program. A fault that is on its way is
 * handled by the alias, or finds the pages open. Return: whether the region was on.
 */
static int end_region(struct region *r, uint32_t state)
{
	if (load_acquire(&r->state) != REGION_ON)
		return 0;
	open_pages(r);
	__atomic_fetch_add(&nr_ended, 1, __ATOMIC_RELEASE);
	if (!compare_and_store(&r->state, REGION_ON, state))
		return 0;
	notify_map((uint32_t)(r - regions), 0);
	return 1;
}

/* End a region at an instruction that is not known; the program goes on. */
static void lose(struct region *r, uint64_t pc)
{
	if (end_region(r, REGION_LOST))
		r->refused = pc;
}

uint64_t region_alias(uint64_t at)
{
	const struct region *r = find(at);

	return r ? r->alias + (at - r->lo) : 0;
}

void region_change(uint64_t lo, uint64_t hi)
{
	uint32_t i;

	for (i = 0; i < REGION_MAX; i++) {
		struct region *r = &regions[i];

		if (lo < r->hi && hi > r->lo)
			end_region(r, REGION_GONE);
	}
}

void region_waits(uint64_t at)
{
	struct region *r = find(at);

	if (r)
		store_relaxed(&r->has_waits, 1);
}

/*
 * Wake threads that wait for words at the alias; they look again, and wait at the program's
 * address.
 */
static void wake(struct region *r)
{
	uint64_t at;

	for (at = r->alias; r->has_waits && at < r->alias + (r->hi - r->lo); at += 4)
		arch_syscall(SYS_futex, (long)at, FUTEX_WAKE_PRIVATE, INT32_MAX, 0, 0, 0);
	r->has_waits = 0;
}

/* Whether the pages were watched until a moment ago: then the instruction may succeed now. */
static int was_watched(uint64_t at, const void *context)
{
	const uint64_t ip = *arch_context_ip((void *)(uintptr_t)context);
	const uint64_t sp = *arch_context_sp((void *)(uintptr_t)context);
	const uint64_t now = load_acquire(&nr_ended);
	uint32_t i;

	for (i = 0; i < REGION_MAX; i++)
		if (regions[i].hi && at >= regions[i].lo && at < regions[i].hi)
			break;
	if (i == REGION_MAX ||
	    (late.at == at && late.ip == ip && late.sp == sp && late.nr_ended == now))
		return 0;
	late.at = at;
	late.ip = ip;
	late.sp = sp;
	late.nr_ended = now;
	return 1;
}

/* Return: whether the fault was the engine's. */
static int do_access(siginfo_t *info, void *context)
{
	struct arch_access_user u = {
		.reach = reach, .note = note, .fault = (uint64_t)info->si_addr};
	const uint64_t pc = *arch_context_ip(context);
	struct region *r = find(u.fault);
	int present, err, kind = arch_fault_kind(arch_context_regs(context), &present);

	if (!r)
		return was_watched(u.fault, context);
	if (kind != 0 && kind != 1)
		return 0;
	if (!(r->prot & (kind ? PROT_WRITE : PROT_READ)))
		return 0;
	err = arch_access_do(context, &u);
	if (err == -EFAULT) {
		info->si_addr = (void *)u.fault;
		return 0;
	}
	if (err)
		lose(r, pc);
	return 1;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	int ours = 0;

	if (info->si_code > 0) {
		if (arch_access_recover(context, (uint64_t)info->si_addr))
			return;
		if (info->si_code == SEGV_ACCERR) {
			__atomic_fetch_add(&users, 1, __ATOMIC_SEQ_CST);
			ours = do_access(info, context);
			__atomic_fetch_sub(&users, 1, __ATOMIC_SEQ_CST);
		}
	}
	if (ours)
		return;
	if (signals_taken_is_handled(sig))
		signals_forward(sig, info, context);
	else
		signals_by_default(sig, info, context);
}

static int is_zero_soon(const uint32_t *nr, uint32_t max_waits)
{
	uint32_t i;

	for (i = 0; __atomic_load_n(nr, __ATOMIC_SEQ_CST) && i < max_waits; i++)
		sys_sleep_ns(WAIT_NS);
	return i < max_waits;
}

static int switch_on(uint32_t i)
{
	struct region *r = &regions[i];
	long p = arch_syscall(SYS_mremap, (long)r->lo, 0, (long)(r->hi - r->lo), MREMAP_MAYMOVE, 0,
			      0);

	if (sys_failed(p))
		return (int)p;
	r->alias = (uint64_t)p;
	r->refused = 0;
	notify_map(i, 1);
	store_release(&r->state, REGION_ON);
	close_pages(r);
	return 0;
}

static void switch_off(uint32_t i)
{
	struct region *r = &regions[i];

	end_region(r, REGION_OFF);
	wake(r);
	/* an alias in use stays mapped for ever, as a system call may take any time */
	if (r->alias && is_zero_soon(&users, MAX_WAITS) &&
	    is_zero_soon(&region_calls_busy, MAX_CALL_WAITS))
		sys_munmap((void *)r->alias, r->hi - r->lo);
	r->alias = 0;
}

static int take(void)
{
	int err;

	if (taken)
		return 0;
	err = arch_access_start();
	if (!err)
		err = signals_take(SIGSEGV, handler);
	taken = !err;
	return err;
}

static int want(struct source *s, int on)
{
	uint32_t i;
	int err = on ? take() : 0;

	if (on && !err)
		err = region_calls_start();

	(void)s;
	if (err)
		return err;
	for (i = 0; i < REGION_MAX; i++) {
		const uint32_t state = regions[i].state;

		if (state == REGION_FREE || state == REGION_GONE || (on && state == REGION_LOST))
			continue;
		if (!on)
			switch_off(i);
		else if (switch_on(i))
			regions[i].state = REGION_GONE; /* the program has unmapped it */
	}
	if (!on)
		region_calls_stop();
	return 0;
}

struct source region_accesses = {.want = want};

/* A mapping, from a line of /proc/self/maps. */
struct mapping {
	uint64_t lo, hi, offset;
	uint32_t prot;
	int shared;
	const char *path;
	size_t path_bytes;
};

static uint64_t take_hex(const char **p, const char *end)
{
	uint64_t v = 0;

	for (; *p < end && hex_digit(**p) < 16; ++*p)
		v = v << 4 | hex_digit(**p);
	return v;
}

static int read_mapping(const char *p, const char *end, struct mapping *m)
{
	static const char deleted[] = " (deleted)";
	uint32_t fields;

	m->lo = take_hex(&p, end);
	p++;
	m->hi = take_hex(&p, end);
	if (end - p < 7)
		return -1;
	p++;
	m->prot = (p[0] == 'r' ? PROT_READ : 0u) | (p[1] == 'w' ? PROT_WRITE : 0u) |
		  (p[2] == 'x' ? PROT_EXEC : 0u);
	m->shared = p[3] == 's';
	p += 5;
	m->offset = take_hex(&p, end);
	for (fields = 0; fields < 3; fields++) {
		while (p < end && *p == ' ')
			p++;
		while (p < end && *p != ' ' && fields < 2)
			p++;
	}
	m->path = p;
	m->path_bytes = (size_t)(end - p);
	if (m->path_bytes > sizeof(deleted) - 1 &&
	    !memcmp(end - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1))
		m->path_bytes -= sizeof(deleted) - 1;
	return 0;
}

/*
 * The first mapping for which @is returns true. Return: 0; -EINVAL: there is none; -errno of /proc.
 */
static int find_mapping(int (*is)(const struct mapping *m, const void *arg), const void *arg,
			struct mapping *m)
{
	char text[8192];
	int fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), found = 0;
	size_t n = 0, line;
	long got;

	if (fd < 0)
		return fd;
	while (!found && (got = sys_read(fd, text + n, sizeof(text) - n)) > 0) {
		const char *p = text;

		n += (size_t)got;
		while (!found && (line = text_find(p, n, '\n')) < n) {
			found = !read_mapping(p, p + line, m) && is(m, arg);
			p += line + 1;
			n -= line + 1;
		}
		memmove(text, p, n);
		if (n == sizeof(text))
			break;
	}
	sys_close(fd);
	m->path = NULL;
	return found ? 0 : -EINVAL;
}

static int has_address(const struct mapping *m, const void *arg)
{
	const uint64_t at = *(const uint64_t *)arg;

	return at >= m->lo && at < m->hi;
}

static int has_name(const struct mapping *m, const void *arg)
{
	static const char memfd[] = "/memfd:";
	const char *name = arg;
	const size_t n = strlen(name);
	uint32_t i;

	for (i = 0; i < REGION_MAX; i++)
		if (regions[i].alias == m->lo)
			return 0;
	if (!m->shared || m->path_bytes < n || memcmp(m->path + m->path_bytes - n, name, n) != 0)
		return 0;
	if (m->path_bytes == n || m->path[m->path_bytes - n - 1] == '/')
		return 1;
	return m->path_bytes == n + sizeof(memfd) - 1 && !memcmp(m->path, memfd, sizeof(memfd) - 1);
}

static void remove_one(uint32_t i)
{
	switch_off(i);
	/* the bounds stay, for faults that are on their way */
	regions[i].state = REGION_FREE;
}

static int add(const struct mapping *m, uint64_t from, uint64_t to, const char *name,
	       int is_programs)
{
	struct region *r = NULL, one = {.from = from,
					.to = to,
					.lo = from & ~(PAGE - 1),
					.hi = (to + PAGE - 1) & ~(PAGE - 1),
					.prot = m->prot,
					.is_programs = is_programs,
					.offset = m->offset + (from - m->lo),
					.state = REGION_OFF};
	uint32_t i;
	int err;

	for (i = 0; i < REGION_MAX; i++)
		if (regions[i].state == REGION_GONE)
			remove_one(i);
	if (!m->shared || !(m->prot & PROT_READ) || to > m->hi || one.hi > m->hi)
		return -EINVAL;
	for (i = REGION_MAX; i--;)
		if (!regions[i].state)
			r = &regions[i];
		else if (regions[i].lo < one.hi && one.lo < regions[i].hi)
			return -EINVAL;
	if (!r)
		return -ENOSPC;
	str_copy(one.name, sizeof(one.name), name);
	*r = one;
	if (!region_accesses.first)
		return 0;
	err = switch_on((uint32_t)(r - regions));
	if (err)
		r->state = REGION_FREE;
	return err;
}

int region_add(uint64_t at, uint64_t bytes, const char *name, int is_programs)
{
	struct mapping m;
	int err;

	if (!bytes || at + bytes < at)
		return -EINVAL;
	err = find_mapping(has_address, &at, &m);
	return err ? err : add(&m, at, at + bytes, name, is_programs);
}

int region_add_named(const char *name)
{
	struct mapping m;
	int err = *name ? find_mapping(has_name, name, &m) : -EINVAL;

	return err ? err : add(&m, m.lo, m.hi, name, 0);
}

int region_remove(const char *name, uint64_t at)
{
	uint32_t i;

	for (i = 0; i < REGION_MAX; i++)
		if (regions[i].state &&
		    (name ? str_equal(regions[i].name, name) : regions[i].from == at)) {
			remove_one(i);
			return 0;
		}
	return -EINVAL;
}

void region_remove_all(void)
{
	uint32_t i;

	for (i = 0; i < REGION_MAX; i++)
		if (regions[i].state && !regions[i].is_programs)
			remove_one(i);
}

void region_each(void (*each)(uint32_t i, const struct region *r))
{
	uint32_t i;

	for (i = 0; i < REGION_MAX; i++)
		if (regions[i].state == REGION_ON)
			each(i, &regions[i]);
}

void region_show(struct seq_buf *s)
{
	uint32_t i;

	for (i = 0; i < REGION_MAX; i++) {
		const struct region *r = &regions[i];

		if (!r->state)
			continue;
		seq_puts(s, "0x");
		seq_putx(s, r->from);
		seq_puts(s, "-0x");
		seq_putx(s, r->to);
		seq_putc(s, ' ');
		seq_puts(s, r->name);
		if (r->state == REGION_LOST) {
			seq_puts(s, " ended by 0x");
			seq_putx(s, r->refused);
		} else if (r->state == REGION_GONE) {
			seq_puts(s, " unmapped");
		}
		seq_putc(s, '\n');
	}
}

static void fork_region(const struct lifecycle_fork *f)
{
	if (f->when != LIFECYCLE_FORK_LEAVE)
		return;
	users = 0;
	region_calls_busy = 0;
	arch_access_fork();
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_region, NULL);
