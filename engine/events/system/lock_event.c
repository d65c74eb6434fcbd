/* SPDX-License-Identifier: MIT */
/*
 * lock:* are the program's calls of libc's locks (sources/lock.h), with the names, fields and print
 * formats of the kernel (6.12, lockdep's as well): lock_acquire, lock_acquired, lock_contended,
 * lock_release, contention_begin and contention_end. The contention events also cover semaphores,
 * barriers and pthread_once(); for the last two the flags are our own.
 * Any context. fork: the child goes on. Tests: tests/engine/events/lock.
 */
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/events/builtin_event.h"
#include "engine/sources/lock.h"

#define NAME_BYTES 8u

/* The fields of lock_acquire, and of lockdep's other three events. */
struct acquire {
	struct builtin_record head;
	unsigned int flags;
	uint32_t name;
	const void *lockdep_addr;
	char text[NAME_BYTES];
};

struct lock {
	struct builtin_record head;
	uint32_t name;
	uint32_t unused;
	const void *lockdep_addr;
	char text[NAME_BYTES];
};

struct contention {
	struct builtin_record head;
	const void *lock_addr;
	union {
		unsigned int flags;
		int ret;
	};
	uint32_t unused;
};

static const struct vestige_event_field acquire_fields[] = {
	BUILTIN_FIELD(struct acquire, flags, "unsigned int", 0),
	BUILTIN_FIELD(struct acquire, name, "__data_loc char[]", 0),
	BUILTIN_FIELD(struct acquire, lockdep_addr, "void *", 0),
	BUILTIN_FIELDS_END,
};

static const struct vestige_event_field lock_fields[] = {
	BUILTIN_FIELD(struct lock, name, "__data_loc char[]", 0),
	BUILTIN_FIELD(struct lock, lockdep_addr, "void *", 0),
	BUILTIN_FIELDS_END,
};

static const struct vestige_event_field begin_fields[] = {
	BUILTIN_FIELD(struct contention, lock_addr, "void *", 0),
	BUILTIN_FIELD(struct contention, flags, "unsigned int", 0),
	BUILTIN_FIELDS_END,
};

static const struct vestige_event_field end_fields[] = {
	BUILTIN_FIELD(struct contention, lock_addr, "void *", 0),
	BUILTIN_FIELD(struct contention, ret, "int", 1),
	BUILTIN_FIELDS_END,
};

enum { TRY = 1, READ = 2 };				    /* lock_acquire's flags */
enum { F_SPIN = 1, F_READ = 2, F_WRITE = 4, F_MUTEX = 32 }; /* contention_begin's */
enum { F_BARRIER = 1 << 16, F_ONCE = 1 << 17 };		    /* flags of our own */

static int lock_enable(struct builtin_event *e, int on);

#define LOCK_PRINT "\"%p %s\", REC->lockdep_addr, __get_str(name)"

static struct builtin_event lock_events[] = {
	[LOCK_ACQUIRE] = {.system = "lock",
			  .name = "lock_acquire",
			  .fields = acquire_fields,
			  .print_fmt =
				  "\"%p %s%s%s\", REC->lockdep_addr, (REC->flags & 1) ? \"try \" : "
				  "\"\", (REC->flags & 2) ? \"read \" : \"\", __get_str(name)",
			  .enable = lock_enable},
	[LOCK_ACQUIRED] = {.system = "lock",
			   .name = "lock_acquired",
			   .fields = lock_fields,
			   .print_fmt = LOCK_PRINT,
			   .enable = lock_enable},
	[LOCK_CONTENDED] = {.system = "lock",
			    .name = "lock_contended",
			    .fields = lock_fields,
			    .print_fmt = LOCK_PRINT,
			    .enable = lock_enable},
	[LOCK_RELEASE] = {.system = "lock",
			  .name = "lock_release",
			  .fields = lock_fields,
			  .print_fmt = LOCK_PRINT,
			  .enable = lock_enable},
	[LOCK_BEGIN] =
		{.system = "lock",
		 .name = "contention_begin",
		 .fields = begin_fields,
		 .print_fmt = "\"%p (flags=%s)\", REC->lock_addr, __print_flags(REC->flags, "
			      "\"|\", { (1U << 0), \"SPIN\" }, { (1U << 1), \"READ\" }, { (1U << "
			      "2), \"WRITE\" }, { (1U << 3), \"RT\" }, { (1U << 4), \"PERCPU\" "
			      "}, { (1U << 5), \"MUTEX\" }, { (1U << 16), \"BARRIER\" }, { (1U << "
			      "17), \"ONCE\" })",
		 .enable = lock_enable},
	[LOCK_END] = {.system = "lock",
		      .name = "contention_end",
		      .fields = end_fields,
		      .print_fmt = "\"%p (ret=%d)\", REC->lock_addr, REC->ret",
		      .enable = lock_enable},
};

/* The flags of each sort of lock. */
static const struct {
	char name[NAME_BYTES];
	unsigned int acquire; /* TRY is added */
	unsigned int contention;
} sorts[LOCK_NR_SORTS] = {
	[LOCK_IS_MUTEX] = {"mutex", 0, F_MUTEX},       [LOCK_IS_READER] = {"rwlock", READ, F_READ},
	[LOCK_IS_WRITER] = {"rwlock", 0, F_WRITE},     [LOCK_IS_SPIN] = {"spin", 0, F_SPIN},
	[LOCK_IS_MTX] = {"mtx", 0, F_MUTEX},	       [LOCK_IS_SEM] = {"sem", 0, 0},
	[LOCK_IS_BARRIER] = {"barrier", 0, F_BARRIER}, [LOCK_IS_ONCE] = {"once", 0, F_ONCE},
};

static void note_acquire(const struct lock_call *c)
{
	struct acquire r = {.flags = sorts[c->sort].acquire | (c->try ? TRY : 0),
			    .name = BUILTIN_DATA_LOC(offsetof(struct acquire, text), NAME_BYTES),
			    .lockdep_addr = c->lock};

	__builtin_memcpy(r.text, sorts[c->sort].name, NAME_BYTES);
	builtin_event_write(&lock_events[LOCK_ACQUIRE], &r, sizeof(r));
}

static void note_lock(const struct lock_call *c)
{
	struct lock r = {.name = BUILTIN_DATA_LOC(offsetof(struct lock, text), NAME_BYTES),
			 .lockdep_addr = c->lock};

	__builtin_memcpy(r.text, sorts[c->sort].name, NAME_BYTES);
	builtin_event_write(&lock_events[c->id], &r, sizeof(r));
}

static void note_begin(const struct lock_call *c)
{
	struct contention r = {.lock_addr = c->lock, .flags = sorts[c->sort].contention};

	builtin_event_write(&lock_events[LOCK_BEGIN], &r, sizeof(r));
}

static void note_end(const struct lock_call *c)
{
	struct contention r = {.lock_addr = c->lock, .ret = -c->err};

	builtin_event_write(&lock_events[LOCK_END], &r, sizeof(r));
}

static struct lock_listener listeners[LOCK_NR_EVENTS] = {
	[LOCK_ACQUIRE] = {.call = note_acquire}, [LOCK_ACQUIRED] = {.call = note_lock},
	[LOCK_CONTENDED] = {.call = note_lock},	 [LOCK_RELEASE] = {.call = note_lock},
	[LOCK_BEGIN] = {.call = note_begin},	 [LOCK_END] = {.call = note_end},
};

static int lock_enable(struct builtin_event *e, int on)
{
	uint32_t id = (uint32_t)(e - lock_events);

	return source_switch(&lock_sources[id], &listeners[id].link, on);
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	if (interpose_possible())
		builtin_events_add(lock_events, ARRAY_SIZE(lock_events));
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
