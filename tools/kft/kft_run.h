/* SPDX-License-Identifier: MIT */
/*
 * A run of KFT over the calls of a recording: triggers begin and end it, filters choose its
 * entries, and the log has them in the order of entry. A stack watch adds the stacks for which the
 * event stack:stack_left shows too few free bytes. Logs have the form of KFT, so its tools can read
 * them.
 * Tests: tests/cli/test_kft.py, tests/fuzz/kft.c.
 */
#ifndef VESTIGE_TOOLS_KFT_RUN_H
#define VESTIGE_TOOLS_KFT_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/analysis/open_calls.h"
#include "tools/kft/kft_config.h"
#include "tools/text/view.h"

/* The marks that `vestige kft start` and `stop` write into the records of a process. */
#define KFT_MARK_START "kft: start"
#define KFT_MARK_STOP  "kft: stop"

/* The event that a stack watch reads: its system and name. */
#define KFT_WATCH_SYSTEM "stack"
#define KFT_WATCH_EVENT	 "stack_left"

enum kft_state { KFT_PRIMED, KFT_TRIGGERED, KFT_COMPLETE };

/* The cause of the begin or the end of a run. */
enum kft_why {
	KFT_BY_NONE,
	KFT_BY_ENTRY,
	KFT_BY_EXIT,
	KFT_BY_TIME,
	KFT_BY_USER,
	KFT_BY_FULL_LOG,
	KFT_BY_END
};

struct kft_row {
	uint64_t ts;
	int64_t delta_us;
	uint32_t function, caller; /* numbers of the view's filter; NO_FUNCTION none */
	uint32_t slot;		   /* 1 + its index in `open`, 0: it has ended */
	int32_t pid;		   /* -1: of an interrupt */
	bool removed, is_exit;
};

struct kft_run {
	const struct kft_config *config;
	struct view *v;
	enum kft_state state;
	enum kft_why begun, ended; /* the first begin, and the last end */
	bool was_triggered;
	bool by_hand; /* without a trigger to start, it waits for KFT_MARK_START */
	uint64_t start_ts, stop_ts, last_start_ts;
	struct kft_row *rows;
	size_t nr, room, first; /* rows before `first` were overwritten */
	uint64_t live;
	size_t *open; /* rows of open calls */
	size_t nr_open, room_open;
	uint32_t free_slot; /* 1 + the first that is free; `open` has the next */
	uint8_t *roles;	    /* by function: its roles in the configuration */
	size_t nr_roles;
	uint64_t watch_bytes;	 /* log stacks with less free bytes than this */
	struct open_calls stack; /* with a watch */
	uint64_t nr_watches;	 /* stacks that are in the log, or were */
	uint64_t by_time, by_interrupt, by_list, not_found;
	int err;
};

/*
 * kft_run_read() - read the records of @v, which is open and has calls, and make the run of them.
 * @run: zeroed by the caller, but for config and v; freed with kft_run_free() either way.
 * Return: 0 or -errno with fail() set.
 */
int kft_run_read(struct kft_run *run);
void kft_run_free(struct kft_run *run);

/*
 * kft_run_check_names() - does each function of the configuration's triggers and list exist in the
 * records?
 * Return: 0 or -ENOENT with fail() set, which suggests a similar name.
 */
int kft_run_check_names(const struct kft_run *run);

/* Print its log. */
void kft_run_put(const struct kft_run *run, struct out *o);
/* Print `status: run id 0, primed, triggered, complete`, and the configuration. */
void kft_status_put(struct out *o, const struct kft_config *config, const struct kft_run *run);

#endif
