/* SPDX-License-Identifier: MIT */
/*
 * blkparse's sums of a recording: requests and bytes by CPU, device and process, the depth of
 * queues, and the times between the steps of a request. Tests: tests/cli/test_blk.py.
 */
#ifndef VESTIGE_TOOLS_BLK_SUMS_H
#define VESTIGE_TOOLS_BLK_SUMS_H

#include "tools/blk/blk_read.h"
#include "tools/text/json.h"
#include "tools/text/out.h"

struct blk_sums;

/*
 * blk_sums_new() - begin. @times: follow the steps of requests. @by_process: make sums by process.
 * @by_name: processes of the same name have one sum. Return: NULL with fail() set: no memory.
 */
struct blk_sums *blk_sums_new(bool times, bool by_process, bool by_name);
void blk_sums_free(struct blk_sums *s);

/*
 * blk_sums_seen() - call it first for each record that is read, also if it is not shown. Return: 0
 * or -errno with fail() set. blk_sums_reached() - call it if the record is in the range of time
 * that is shown.
 */
int blk_sums_seen(struct blk_sums *s, unsigned int input, unsigned int cpu);
void blk_sums_reached(struct blk_sums *s, unsigned int input, uint64_t time_ns);

/*
 * blk_sums_add() - count it.
 * @elapsed_ns: of insert since the request was made, of issue since insert (without one: since the
 * request was made), of complete since issue; else BLK_NO_TIME. Return: 0 or -errno.
 */
int blk_sums_add(struct blk_sums *s, struct blk_reader *r, unsigned int input, unsigned int cpu,
		 const struct blk_record *rec, uint64_t *elapsed_ns);

/* A record that is shown or written. */
void blk_sums_shown(struct blk_sums *s, unsigned int input, uint64_t time_ns);

/* Print the tables of processes; of CPUs and devices. */
void blk_sums_put_processes(struct out *o, const struct blk_sums *s);
void blk_sums_put_devices(struct out *o, const struct blk_sums *s, const struct blk_reader *r);
/* The same as members of an object, `processes` and `devices`: numbers, bytes, and ns. */
void blk_sums_json_processes(struct json *j, const struct blk_sums *s);
void blk_sums_json_devices(struct json *j, const struct blk_sums *s, const struct blk_reader *r);

#endif
