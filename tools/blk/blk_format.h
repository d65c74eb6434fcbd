/* SPDX-License-Identifier: MIT */
/*
 * blktrace's records, as the kernel writes them (include/uapi/linux/blktrace_api.h): 48 bytes and
 * a payload, in the byte order of the recording machine. A file NAME.blktrace.CPU has the records
 * of one device and one CPU. Payloads are big-endian on every machine.
 */
#ifndef VESTIGE_TOOLS_BLK_FORMAT_H
#define VESTIGE_TOOLS_BLK_FORMAT_H

#include <assert.h>
#include <stdint.h>

#define BLK_MAGIC   0x65617400u /* the last byte is the version */
#define BLK_VERSION 0x07u

struct blk_event {
	uint32_t magic;
	uint32_t sequence; /* of its device and CPU, from 1 */
	uint64_t time_ns;
	uint64_t sector;
	uint32_t bytes;
	uint32_t action; /* enum blk_act below, enum blk_cat above */
	uint32_t pid;
	uint32_t device; /* BLK_DEV() */
	uint32_t cpu;
	uint16_t error;
	uint16_t pdu_bytes; /* of the payload behind it */
};
static_assert(sizeof(struct blk_event) == 48, "blktrace's record has 48 bytes");

/* A payload of a remap, in host order. */
struct blk_remap {
	uint32_t from, to;
	uint64_t sector_from;
};

/* The kernel's dev_t. */
#define BLK_MINOR_BITS	 20u
#define BLK_MAJOR(dev)	 ((dev) >> BLK_MINOR_BITS)
#define BLK_MINOR(dev)	 ((dev) & ((1u << BLK_MINOR_BITS) - 1))
#define BLK_DEV(maj, mi) (((uint32_t)(maj) << BLK_MINOR_BITS) | (uint32_t)(mi))

enum blk_act {
	BLK_QUEUE = 1,
	BLK_BACKMERGE,
	BLK_FRONTMERGE,
	BLK_GETRQ,
	BLK_SLEEPRQ,
	BLK_REQUEUE,
	BLK_ISSUE,
	BLK_COMPLETE,
	BLK_PLUG,
	BLK_UNPLUG_IO,
	BLK_UNPLUG_TIMER,
	BLK_INSERT,
	BLK_SPLIT,
	BLK_BOUNCE,
	BLK_REMAP,
	BLK_ABORT,
	BLK_DRV_DATA,
};

/* A payload begins with 8 bytes of the control group's id. */
#define BLK_ACT_CGROUP	     0x100u
#define BLK_CGROUP_BYTES     8u
#define BLK_ACT(action)	     ((action)&0xffffu & ~BLK_ACT_CGROUP)
#define BLK_CAT(category)    ((uint32_t)(category) << 16)
#define BLK_HAS(e, category) (!!((e)->action & BLK_CAT(category)))

enum blk_cat {
	BLK_CAT_READ = 1 << 0,
	BLK_CAT_WRITE = 1 << 1,
	BLK_CAT_FLUSH = 1 << 2,
	BLK_CAT_SYNC = 1 << 3,
	BLK_CAT_QUEUE = 1 << 4,
	BLK_CAT_REQUEUE = 1 << 5,
	BLK_CAT_ISSUE = 1 << 6,
	BLK_CAT_COMPLETE = 1 << 7,
	BLK_CAT_FS = 1 << 8,
	BLK_CAT_PC = 1 << 9,
	BLK_CAT_NOTIFY = 1 << 10,
	BLK_CAT_AHEAD = 1 << 11,
	BLK_CAT_META = 1 << 12,
	BLK_CAT_DISCARD = 1 << 13,
	BLK_CAT_DRV_DATA = 1 << 14,
	BLK_CAT_FUA = 1 << 15,
};

/* Notes among the records: a process's name, the time of day at the record's time, a message. */
#define BLK_NOTE_PROCESS   (BLK_CAT(BLK_CAT_NOTIFY) | 0u)
#define BLK_NOTE_TIMESTAMP (BLK_CAT(BLK_CAT_NOTIFY) | 1u)
#define BLK_NOTE_MESSAGE   (BLK_CAT(BLK_CAT_NOTIFY) | 2u)

#define BLK_COMM_BYTES 16u

#endif
