/* SPDX-License-Identifier: MIT */
/*
 * See syscall.h. The hook (core/syscalls.h) reports to this file alone; the listeners are in the
 * lists here. Callbacks run in any context. fork: the child has the same listeners. Costs: bench
 * "syscalls". Tests: tests/engine/events/syscalls.
 */
#include "engine/sources/syscall.h"

/* Nothing to do: syscall_listen() switches the sites, by number. */
static int want(struct source *s, int on)
{
	(void)s;
	(void)on;
	return 0;
}

static struct source enters = {.want = want};
static struct source exits = {.want = want};

static void enter(uint64_t nr, const uint64_t *args)
{
	SOURCE_NOTIFY(struct syscall_enter_listener, load_acquire(&enters.first), nr, args);
}

static void leave(uint64_t nr, uint64_t ret)
{
	SOURCE_NOTIFY(struct syscall_exit_listener, load_acquire(&exits.first), nr, ret);
}

static const struct syscalls_user user = {.enter = enter, .exit = leave};

static void join(struct syscall_listener *l, int on)
{
	source_switch(&enters, &l->enter.link, on);
	source_switch(&exits, &l->exit.link, on);
}

int syscall_listen(struct syscall_listener *l, uint32_t nr, int on)
{
	int err;

	if (on && !l->nr_wanted++) {
		syscalls_register_user(&user);
		join(l, 1);
	}
	err = syscalls_want(nr, on);
	if ((err && on) || (!err && !on))
		l->nr_wanted--;
	if (!l->nr_wanted)
		join(l, 0);
	return err;
}

static const uint16_t *row_at(const struct syscall_table *t, uint32_t i)
{
	return (const uint16_t *)((const uint8_t *)t->rows + (uint64_t)i * t->row_bytes);
}

const void *syscall_table_find(const struct syscall_table *t, uint64_t nr)
{
	uint32_t i;

	for (i = 0; i < t->nr_rows; i++)
		if (*row_at(t, i) == nr)
			return row_at(t, i);
	return NULL;
}

int syscall_table_listen(const struct syscall_table *t, struct syscall_listener *l, int on)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < t->nr_rows && !err; i++)
		err = syscall_listen(l, *row_at(t, i), on);
	if (!err || !on)
		return 0;
	while (--i)
		syscall_listen(l, *row_at(t, i - 1), 0);
	return err;
}
