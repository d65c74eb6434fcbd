/* SPDX-License-Identifier: MIT */
/*
 * A recording as the viewer draws it: tracks, each with rows of spans (span_row.h), and the columns
 * of the events. A call takes 24 bytes; an event takes 36 and its text, and equal texts are kept
 * once. Large columns may be in a file: spill_array.h.
 */
#ifndef VESTIGE_TOOLS_COLUMNS_H
#define VESTIGE_TOOLS_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/text/view.h"
#include "tools/view/span_row.h"

/* A stack deeper than this is cut: struct columns.too_deep. */
#define COLUMNS_MAX_ROWS 4096u
#define COLUMNS_NO_CPU	 UINT32_MAX

enum track_kind {
	/*
	 * What a CPU runs: one row. Name: the thread's; extra: its pid. Only where context switches
	 * are recorded.
	 */
	TRACK_CPU,
	/* The events of a CPU: one row, no lengths. Name: the event's; extra: its number. */
	TRACK_CPU_EVENTS,
	/*
	 * States of a thread, where context switches are recorded: one row. Name: one of
	 * columns_state_names; extra: the CPU.
	 */
	TRACK_STATES,
	/* The events of a thread: as TRACK_CPU_EVENTS. */
	TRACK_EVENTS,
	/*
	 * Calls on one stack: a row for each depth, the outermost first. Name: the function's;
	 * extra: the CPU on which it ended, or COLUMNS_NO_CPU.
	 */
	TRACK_CALLS,
	TRACK_NR_KINDS
};

enum column_state {
	STATE_RUNNING,
	STATE_WOKEN,	 /* it could run after a wakeup, and did not yet */
	STATE_PREEMPTED, /* it could go on, another had the CPU */
	STATE_BLOCKED,
	STATE_NR
};

extern const char *const columns_state_names[STATE_NR];
extern const char *const columns_kind_names[TRACK_NR_KINDS];

struct track {
	enum track_kind kind;
	uint32_t file;	  /* of columns.files */
	int32_t id;	  /* of a CPU its number, else the thread */
	int32_t pid;	  /* the thread's process; 0 unknown, or a CPU */
	uint32_t process; /* as struct record */
	uint32_t stack;	  /* TRACK_CALLS of another stack than the thread's own; 0 */
	bool is_other;	  /* its process has events alone, and other processes have more */
	const char *name; /* the thread's; "" of a CPU */
	const char
		*buffer; /* instance of the file that its spans are of; "": the top one, or all */
	struct span_row *rows;
	uint32_t nr_rows, room_rows;
};

struct column_name {
	char *text;
	char *object; /* name of a function's object; NULL of other names */
	char *place;  /* of a function `file.c:12`, with view.srcline; else NULL */
	uint64_t ip;  /* entry of a function of the first file; else 0 */
};

/* By number, in order of time. */
struct column_events {
	uint64_t *ts;
	uint32_t *cpu;
	int32_t *tid;
	uint32_t *name;
	uint32_t *text;	   /* number of its text: columns.texts */
	uint32_t *latency; /* number of the text of its latency flags: five characters, `d..1.` */
	uint32_t *track;   /* number of its thread's TRACK_EVENTS */
	size_t nr, room;
};

/* One of the recordings that are shown. */
struct column_file {
	const char *path; /* its view's */
	int64_t offset;	  /* ns that were added to its times; of a guest: to its first time */
	/* If it is of a guest, and its host's file is shown, too: columns_guests(). */
	uint32_t host; /* number of the host's file + 1; 0 none */
	struct column_vcpu {
		uint32_t cpu; /* the guest's */
		int32_t tid;  /* of the host's thread that runs it */
	} * vcpus;
	uint32_t nr_vcpus;
};

struct column_lost {
	uint64_t ts; /* of the record behind the gap */
	uint64_t nr; /* or RECORD_LOST_UNKNOWN */
	uint32_t cpu;
	uint32_t buffer; /* record_buffer(); 0 in an outline that was stored */
};

struct columns {
	struct view *v;		      /* borrowed: its reader; of several files the first one's */
	const struct columns *parent; /* columns_filter(): names, texts, lost are its; else NULL */
	struct column_file *files;    /* one, or all of columns_join() */
	uint32_t nr_files;
	uint64_t first, last; /* ns of the trace's clock: of all that is shown */
	uint64_t nr_calls;
	uint64_t too_deep; /* calls left out: COLUMNS_MAX_ROWS */
	bool has_states;
	bool outline;	      /* columns_outline(): trees alone, and the number of events */
	struct track *tracks; /* CPUs first, then by process and thread */
	size_t nr_tracks, room_tracks;
	struct column_name *names;
	size_t nr_names, room_names;
	char **texts;
	size_t nr_texts, room_texts;
	struct column_events events;
	struct column_lost *lost;
	size_t nr_lost, room_lost;
	void *index; /* index_load(): memory with the leaves of its rows; NULL */
};

/* Gets outlines while the columns are read. */
struct columns_watch {
	/*
	 * Called with an outline of what was read so far: first after some tenths of a second, then
	 * each time that the reading has taken three times as long. Open calls are not in it.
	 * @part: columns_free() it. Called in the thread that reads.
	 */
	void (*part)(void *arg, struct columns *part);
	void *arg;
};

/*
 * columns_read() - read all that @v shows.
 * @v: open; borrowed until columns_free(). @watch: NULL: none.
 * Return: 0 or -errno with fail() set: ENODATA where nothing was recorded.
 */
int columns_read(struct view *v, const struct columns_watch *watch, struct columns **out);

/*
 * columns_outline() - the outline of @c, which may be unfinished: names, tracks with the trees of
 * their rows (span_row_outline()), places where records were lost. It shares nothing with @c but
 * the view and the files' paths. Only answer_info() and answer_spans() take an outline.
 * Return: 0 or -ENOMEM with fail() set.
 */
int columns_outline(const struct columns *c, struct columns **out);

/* Keep a copy of @bytes at @text until columns_free(). Return: 0 or -ENOMEM with fail() set. */
int columns_own_text(struct columns *c, const char *text, size_t bytes, const char **out);

/*
 * columns_finish() - the last step of reading: order the tracks, and make each row's tree.
 * Return: 0, -ENODATA if @c is empty, or -ENOMEM, with fail() set.
 */
int columns_finish(struct columns *c);
void columns_free(struct columns *c);

/*
 * columns_join() - several recordings on one timeline.
 * @c: @nr of them. They are freed, also after a failure; their views stay open. @offsets: ns to add
 * to the times of each; times before 0 become 0.
 * Return: 0 or -ENOMEM with fail() set.
 */
int columns_join(struct columns **c, unsigned int nr, const int64_t *offsets, struct columns **out);

/*
 * columns_guests() - find files of guests and of their hosts among several, by their trace ids.
 * Times of a guest become the host's, as the guest's file says, and its column_file.host is set.
 * @c: @nr of them, before columns_join(). Files of other formats than trace.dat are passed over.
 * Return: 0 or -ENOMEM with fail() set.
 */
int columns_guests(struct columns *const *c, unsigned int nr);

/* Append a copy of event number @i of @from. Return: 0 or -ENOMEM with fail() set. */
int column_events_add(struct column_events *e, const struct column_events *from, size_t i);

#endif
