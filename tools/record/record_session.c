/* SPDX-License-Identifier: MIT */
/* The processes of a session for `record`. Tests: tests/cli/test_flight.py. */
#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"
#include "tools/record/record.h"
#include "tools/target/process.h"
#include "tools/target/session.h"

int record_take_session(struct record_options *opt)
{
	struct process **members;
	struct session *s;
	unsigned int nr;
	int err = 0;

	s = session_get(opt->session, NULL, &err);
	if (!s)
		return fail(ENOENT, "there is no session %s", opt->session);
	session_look(s, true);
	nr = session_members(s, &members);
	for (unsigned int i = 0; i < nr; i++) {
		struct target *t = &members[i]->target;

		if (t->ops->lives(t) && opt->nr_pids < RECORD_MAX_PIDS)
			opt->pids[opt->nr_pids++] = members[i]->image.pid;
		process_put(members[i]);
	}
	free(members);
	session_put(s);
	return opt->nr_pids ? 0 : fail(ESRCH, "no process of session %s runs", opt->session);
}
