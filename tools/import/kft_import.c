/* SPDX-License-Identifier: MIT */
/*
 * KFT's log, see kft_log.h, as calls. A call that is open at the end of the log ends with it; one
 * whose exit was not seen has no length; the frames of a stack watch are no calls.
 */
#include <errno.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/import/import.h"
#include "tools/import/kft_log.h"

#define NS_PER_US 1000u

static int take_entry(struct import *im, const struct kft_entry *e, uint64_t end_us)
{
	uint64_t us = e->delta_us > 0 ? (uint64_t)e->delta_us : 0, ip;
	int32_t thread;
	int err;

	if (e->delta_us == KFT_WATCH)
		return 0;
	if (e->delta_us == KFT_OPEN && end_us > e->at_us)
		us = end_us - e->at_us;
	err = import_thread(im, e->pid, e->pid, &thread);
	if (!err && e->pid == KFT_INTERRUPT)
		err = import_task(im, thread, 0, "interrupt");
	if (!err)
		err = import_function(im, e->function, NULL, &ip);
	return err ? err : import_call(im, thread, e->at_us * NS_PER_US, us * NS_PER_US, ip);
}

/* Read the log. @im NULL: only find the time of its end. Return: 0 or -errno with fail() set. */
static int read_log(struct import_text *in, struct import *im, uint64_t *end_us)
{
	struct kft_log log = {0};
	struct kft_entry e;
	int got, err = 0;

	in->at = 0;
	in->pos = in->nr = 0;
	in->line = 0;
	while (!err && (got = kft_log_next(in, &log, &e)) > 0) {
		uint64_t end = e.at_us + (e.delta_us > 0 ? (uint64_t)e.delta_us : 0);

		if (im)
			err = take_entry(im, &e, *end_us);
		else if (end > *end_us)
			*end_us = end;
	}
	if (err || got < 0)
		return err ? err : got;
	if (!im)
		return 0;
	if (log.nr_runs > 1)
		note("the log has %u runs: their calls are put together", log.nr_runs);
	if (kft_log_filtered(&log))
		note("the log's filters have left out calls: times of functions may include times "
		     "of "
		     "others");
	if (log.skipped)
		note("%llu lines behind the first call are no calls: skipped",
		     (unsigned long long)log.skipped);
	return 0;
}

static int kft_read(struct import_text *in, struct import *im)
{
	uint64_t end_us = 0;
	int err = read_log(in, NULL, &end_us);

	return err ? err : read_log(in, im, &end_us);
}

const struct importer kft_importer = {"KFT's log", kft_log_is, kft_read, NULL};
