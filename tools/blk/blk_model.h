/* SPDX-License-Identifier: MIT */
/* The sums of a recording that btt prints: blk_times.c makes them, blk_tables.c prints them. */
#ifndef VESTIGE_TOOLS_BLK_MODEL_H
#define VESTIGE_TOOLS_BLK_MODEL_H

#include "tools/blk/blk_read.h"
#include "tools/blk/blk_seeks.h"
#include "tools/blk/blk_times.h"

#define BLK_NEVER UINT64_MAX

/* Times from step to step. Device mapper and md have their own, as in btt. */
enum blk_step {
	Q2Q_DM,
	Q2A_DM,
	Q2C_DM,
	Q2Q,
	Q2A,
	Q2G,
	S2G,
	G2I,
	Q2M,
	I2D,
	M2D,
	D2C,
	Q2C,
	BLK_STEPS
};

struct blk_sum {
	uint64_t n, min, max, total;
};

/* Ranges of time without a long pause. */
struct blk_range {
	uint64_t from_ns, to_ns;
};

struct blk_ranges {
	struct blk_range *of;
	size_t nr, room;
};

struct blk_activity {
	struct blk_ranges q, c;
};

#define BLK_Q2D_CLASSES 10

struct blk_q2d {
	uint64_t n, of[BLK_Q2D_CLASSES];
};

/* A request that is queued. The tree's node is first. */
struct blk_queued {
	struct blk_tree_node node;
	uint64_t sector, end;
	uint64_t q_ns, g_ns, i_ns, m_ns, d_ns, s_ns;
	size_t process;
	size_t io; /* in blk_model.ios, of a program's */
};

struct blk_device {
	uint32_t device;
	bool culling; /* no request was queued yet: present ones began before the recording */
	struct blk_sum sums[BLK_STEPS], blocks;
	struct blk_activity activity;
	struct blk_seeks q_seeks, d_seeks;
	struct blk_ranges live; /* from issue to complete, joined */
	struct blk_q2d q2d;
	struct blk_tree queued; /* by first sector; requests may overlap */
	uint64_t last_q_ns;
	uint64_t nr_q, nr_d, at_q, in_queue;
	bool plugged;
	uint64_t nr_unplugs, nr_timer_unplugs, ios_up, ios_up_timer;
	double begin_s, end_s, plug_s, plugged_s;
};

struct blk_process {
	uint32_t pid;
	char name[BLK_COMM_BYTES + 1];
	struct blk_sum sums[BLK_STEPS];
	struct blk_activity activity;
	uint64_t last_q_ns;
};

/* The processes are entries by pid, which lead to a process of that name. */
struct blk_pid {
	uint32_t pid;
	size_t process;
};

struct blk_model {
	const struct blk_times_flags *f;
	struct blk_device *devices; /* in the order of their first records */
	size_t nr_devices, room_devices;
	struct blk_process *processes;
	size_t nr_processes, room_processes;
	struct blk_pid *pids; /* by pid */
	size_t nr_pids, room_pids;
	struct blk_sum sums[BLK_STEPS];
	struct blk_activity activity;
	struct blk_ranges live;
	uint64_t last_q_ns;
	uint64_t zero_ns; /* time 0 by the machine's clock */
	struct blk_ios
		ios; /* in the order of their queueing; none without blk_times_flags.program */
};

static inline double blk_seconds(uint64_t ns)
{
	return (double)(ns / 1000000000) + (double)(ns % 1000000000) / 1.0e9;
}

static inline bool blk_is_remapper(uint32_t device)
{
	uint32_t major = BLK_MAJOR(device);

	return major == 9 || major == 253 || major == 254;
}

/* The rows of the tables of times; @name NULL: an empty line. */
struct blk_step_row {
	enum blk_step step;
	const char *name;
	bool of_each; /* of processes and devices, too */
};
#define BLK_STEP_ROWS 14
extern const struct blk_step_row blk_step_rows[BLK_STEP_ROWS];

/* The requested device (-D) behind @d; @d NULL: the first one. Return: NULL: there are no more. */
struct blk_device *blk_next_device(const struct blk_model *m, struct blk_device *d);
/* Is a device requested (-D)? */
bool blk_is_device_asked(const struct blk_model *m, uint32_t device);
/* Is a process of that name requested (-e)? */
bool blk_is_program_asked(const struct blk_model *m, const char *name);

/* The times during which requests were active; in seconds, the share in percent. */
struct blk_live {
	double act, pause; /* means */
	double share;
};
struct blk_live blk_live_of(const struct blk_ranges *r);

/* The shares of the time from queue to complete. */
#define BLK_SHARES 5
extern const enum blk_step blk_shares[BLK_SHARES];

/*
 * Call it at the end of the recording, before the tables: sorts processes by name, and ends plugs.
 */
void blk_model_end(struct blk_model *m);

/* Print all tables: as btt's text, or as JSON. Return: 0 or -errno with fail() set. */
int blk_tables_put(struct out *o, const struct blk_model *m);
int blk_json_put(struct out *o, const struct blk_model *m);

#endif
