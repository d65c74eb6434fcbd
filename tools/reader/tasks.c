/* SPDX-License-Identifier: MIT */
/* The table behind tasks.h: an array in order of pid. Tests: tests/unit/test_tasks.c. */
#include "tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tasks {
	struct task *at;
	size_t nr, room;
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
	size_t lo = 0, hi = t->nr;

	/* threads mostly come in order of their ids */
	if (hi && t->at[hi - 1].pid < pid)
		return hi;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->at[mid].pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int tasks_set(struct tasks *t, int32_t pid, int32_t tgid, const char *comm)
{
	size_t i = lower_bound(t, pid), n;
	struct task *task;

	if (i == t->nr || t->at[i].pid != pid) {
		if (t->nr == t->room) {
			size_t room = t->room ? t->room * 2 : 64;
			struct task *at = realloc(t->at, room * sizeof(*at));

			if (!at)
				return -ENOMEM;
			t->at = at;
			t->room = room;
		}
		memmove(&t->at[i + 1], &t->at[i], (t->nr - i) * sizeof(*t->at));
		t->nr++;
		t->at[i] = (struct task){.pid = pid};
	}
	task = &t->at[i];
	if (tgid)
		task->tgid = tgid;
	memset(task->comm, 0, sizeof(task->comm));
	for (n = 0; n < TASK_COMM_BYTES - 1 && comm[n]; n++) {
		unsigned char c = (unsigned char)comm[n];

		task->comm[n] = c < ' ' || c == 0x7f ? '?' : (char)c;
	}
	return 0;
}

const char *tasks_comm(const struct tasks *t, int32_t pid)
{
	size_t i;

	if (pid == 0)
		return "<idle>";
	i = lower_bound(t, pid);
	return i < t->nr && t->at[i].pid == pid && t->at[i].comm[0] ? t->at[i].comm : "<...>";
}

int32_t tasks_tgid(const struct tasks *t, int32_t pid)
{
	size_t i = lower_bound(t, pid);

	return i < t->nr && t->at[i].pid == pid ? t->at[i].tgid : 0;
}

size_t tasks_count(const struct tasks *t)
{
	return t->nr;
}

const struct task *tasks_at(const struct tasks *t, size_t i)
{
	return i < t->nr ? &t->at[i] : NULL;
}
