/* SPDX-License-Identifier: MIT */
/* See kft_run.h: the log and the status as text. */
#include <inttypes.h>

#include "tools/import/kft_log.h"
#include "tools/kft/kft_run.h"

static void put_why(struct out *o, enum kft_why why, const struct kft_trigger *t)
{
	switch (why) {
	case KFT_BY_ENTRY:
	case KFT_BY_EXIT:
		out_printf(o, " by %s function %s\n",
			   why == KFT_BY_ENTRY ? "entry to" : "exit from", t->function);
		break;
	case KFT_BY_TIME:
		out_text(o, " by time\n");
		break;
	case KFT_BY_USER:
		out_text(o, " by user\n");
		break;
	case KFT_BY_FULL_LOG:
		out_text(o, " by buffer full\n");
		break;
	default:
		out_text(o, why == KFT_BY_END ? " by the end of the records\n"
					      : " by the begin of the records\n");
	}
}

static void put_head(const struct kft_run *run, struct out *o)
{
	const struct kft_config *config = run->config;
	uint64_t first = run->v->first_ts;

	out_text(o, "\nKernel Instrumentation Run ID 0\n\n");
	if (run->was_triggered) {
		out_printf(o, "Logging started at %" PRIu64 " usec",
			   (run->start_ts - first) / 1000);
		put_why(o, run->begun, &config->start);
		out_printf(o, "Logging stopped at %" PRIu64 " usec", (run->stop_ts - first) / 1000);
		put_why(o, run->ended, &config->stop);
	} else {
		out_text(o, "Logging did not start: no call was the trigger\n");
	}
	out_text(o, "\nFilters:\n");
	if (config->min_us)
		out_printf(o, "    %" PRIu64 " usecs minimum execution time\n", config->min_us);
	if (config->max_us)
		out_printf(o, "    %" PRIu64 " usecs maximum execution time\n", config->max_us);
	if (config->noints)
		out_text(o, "    no functions in interrupt context\n");
	if (config->onlyints)
		out_text(o, "    only functions in interrupt context\n");
	if (config->nr_functions)
		out_text(o, "    function list\n");
	out_printf(o,
		   "\nFilter Counters:\n\nExecution time filter count = %" PRIu64
		   "\nInterrupt filter count = %" PRIu64 "\nFunction list filter count = %" PRIu64
		   "\nTotal entries filtered = %" PRIu64 "\nEntries not found = %" PRIu64
		   "\n\nNumber of entries after filters = %" PRIu64 "\n\n",
		   run->by_time, run->by_interrupt, run->by_list,
		   run->by_time + run->by_interrupt + run->by_list, run->not_found, run->live);
}

static void put_name(const struct kft_run *run, struct out *o, uint32_t function, int width)
{
	const struct call_function *fn;

	if (function == UINT32_MAX) {
		out_text(o, "-");
		return;
	}
	fn = call_filter_function(run->v->filter, function);
	if (fn->name)
		out_printf(o, "%*s", width, fn->name);
	else
		out_printf(o, "0x%0*" PRIx64, width > 2 ? width - 2 : 1, fn->ip);
}

void kft_run_put(const struct kft_run *run, struct out *o)
{
	put_head(run, o);
	out_text(o, " Entry      Delta      PID            Function                    Called At\n"
		    "--------   --------   -----   -------------------------   "
		    "-------------------------\n");
	for (size_t i = run->first; i < run->nr && !o->err; i++) {
		const struct kft_row *row = &run->rows[i];

		if (row->removed)
			continue;
		out_printf(o, "%8" PRIu64 " ", (row->ts - run->start_ts) / 1000);
		if (row->is_exit)
			out_printf(o, "%10s", "exit");
		else
			out_printf(o, "%10" PRId64, row->delta_us);
		out_printf(o, " %7" PRId32 "   ", row->pid);
		put_name(run, o, row->function, 25);
		out_text(o, "   ");
		put_name(run, o, row->caller, 0);
		out_text(o, "\n");
	}
}

void kft_status_put(struct out *o, const struct kft_config *config, const struct kft_run *run)
{
	out_printf(o, "status: run id 0%s%s%s\nconfig:\n  mode 0\n",
		   run ? ", primed" : ", configured",
		   run && run->was_triggered ? ", triggered" : "",
		   run && run->state == KFT_COMPLETE ? ", complete" : "");
	kft_config_put(o, config);
	if (run)
		out_printf(o, "entries: %" PRIu64 "\n", run->live);
}
