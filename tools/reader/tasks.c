/* SPDX-License-Identifier: MIT */
/* The table behind tasks.h: an array in order of pid. Tests: tests/unit/test_tasks.c. */
#include "tools/reader/tasks.h"
#include "tools/base/array.h"
#include "tools/base/control_byte.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tasks {
	struct task *at;
	size_t nr, room;
	bool knows_traced; /* tasks_trace() was called */
};

struct tasks *tasks_new(void)
{
	return calloc(1, sizeof(struct tasks));
}

void tasks_free(struct tasks *t)
{
	if (!t)
		return;
	free(t->at);
	free(t);
}

/* The place of the first entry whose pid is not below @pid. */
static size_t lower_bound(const struct tasks *t, int32_t pid)
{
	/* threads mostly come in order of their ids */
	if (t->nr && t->at[t->nr - 1].pid < pid)
		return t->nr;
	return LOWER_BOUND(i, 0, t->nr, t->at[i].pid < pid);
}

/* The thread's entry, a new one if there is none. */
static struct task *entry_of(struct tasks *t, int32_t pid)
{
	size_t i = lower_bound(t, pid);

	if (i == t->nr || t->at[i].pid != pid) {
		if (ARRAY_ROOM(t->at, t->nr, t->room, 64))
			return NULL;
		memmove(&t->at[i + 1], &t->at[i], (t->nr - i) * sizeof(*t->at));
		t->nr++;
		t->at[i] = (struct task){.pid = pid};
	}
	return &t->at[i];
}

int tasks_set(struct tasks *t, int32_t pid, int32_t tgid, const char *comm)
{
	struct task *task = entry_of(t, pid);
	size_t n;

	if (!task)
		return -ENOMEM;
	if (tgid)
		task->tgid = tgid;
	memset(task->comm, 0, sizeof(task->comm));
	n = strnlen(comm, TASK_COMM_BYTES - 1);
	memcpy(task->comm, comm, n);
	control_clean(task->comm, n, '?');
	return 0;
}

int tasks_trace(struct tasks *t, int32_t pid, int32_t tgid)
{
	struct task *task = entry_of(t, pid);

	if (!task)
		return -ENOMEM;
	task->tgid = tgid;
	task->traced = t->knows_traced = true;
	return 0;
}

bool tasks_has_comm(const struct tasks *t, int32_t pid)
{
	size_t i = lower_bound(t, pid);

	return pid == 0 || (i < t->nr && t->at[i].pid == pid && t->at[i].comm[0]);
}

const char *tasks_comm(const struct tasks *t, int32_t pid)
{
	if (pid == 0)
		return "<idle>";
	return tasks_has_comm(t, pid) ? t->at[lower_bound(t, pid)].comm : "<...>";
}

int32_t tasks_tgid(const struct tasks *t, int32_t pid)
{
	size_t i = lower_bound(t, pid);

	return i < t->nr && t->at[i].pid == pid ? t->at[i].tgid : 0;
}

bool tasks_traced(const struct tasks *t, int32_t pid)
{
	size_t i = lower_bound(t, pid);

	if (!t->knows_traced)
		return pid != 0;
	return i < t->nr && t->at[i].pid == pid && t->at[i].traced;
}

size_t tasks_count(const struct tasks *t)
{
	return t->nr;
}

const struct task *tasks_at(const struct tasks *t, size_t i)
{
	return i < t->nr ? &t->at[i] : NULL;
}
