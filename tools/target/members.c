/* SPDX-License-Identifier: MIT */
/*
 * See members.h. Ended members stay: their records may not have been read. One thread at a time.
 * Tests: tests/tracefs/test_sessions.py.
 */
#include "tools/target/members.h"

#include <stdlib.h>

static bool has(const struct members *m, const struct process *p)
{
	for (unsigned int i = m->nr; i--;)
		if (m->of[i] == p)
			return true;
	return false;
}

void members_join(struct members *m, struct session *s,
		  void (*add)(void *arg, const struct image *t), void *arg)
{
	struct process **now;
	unsigned int nr = session_members(s, &now);

	for (unsigned int i = 0; i < nr; i++) {
		struct process **more =
			has(m, now[i]) ? NULL
				       : realloc(m->of, (m->nr + 1) * sizeof(struct process *));

		if (!more) {
			process_put(now[i]);
			continue;
		}
		m->of = more;
		m->of[m->nr++] = now[i];
		add(arg, &now[i]->image);
	}
	free(now);
}

void members_free(struct members *m)
{
	for (unsigned int i = 0; i < m->nr; i++)
		process_put(m->of[i]);
	free(m->of);
}
