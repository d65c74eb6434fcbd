/* SPDX-License-Identifier: MIT */
/*
 * Events that a write defines: dynamic_events, and kprobe_events and uprobe_events, which know one
 * kind each. One list of all of them, in order of their definition. Under the tree's lock.
 */
#ifndef VESTIGE_EVENTS_PROBE_DYNEVENT_H
#define VESTIGE_EVENTS_PROBE_DYNEVENT_H

#include "engine/base/registry.h"
#include "engine/base/seq_buf.h"
#include "engine/events/filter/filter.h"

#define DYN_MAX_WORDS	 131u /* the kernel's 128 arguments, and what is before and behind them */
#define DYN_MAX_COMMAND	 4094u
#define DYN_MAX_NAME	 64u /* of a group or an event, NUL included */
#define DYN_PROBE_KPROBE 1u
#define DYN_PROBE_UPROBE 2u
#define DYN_PROBE_FPROBE 4u
#define DYN_PROBE_EPROBE 8u
#define DYN_PROBE_TPROBE 16u
#define DYN_SYNTH	 32u
#define DYN_ANY		 (~0u)

struct dyn_event;

/* One command: its words, as the error log shows them, with single blanks. */
struct dyn_command {
	const char *raw; /* as it was written, without a comment */
	size_t raw_bytes;
	uint32_t nr_words;
	const char *word[DYN_MAX_WORDS];
	uint32_t bytes[DYN_MAX_WORDS];
	/* positions in `text`; of a word that is missing, and the last one: behind it */
	uint32_t at[DYN_MAX_WORDS + 1];
	/*
	 * The meaning that the writer added to each word (abi/probe_word.h), from its mark on; 0:
	 * none.
	 */
	const char *said[DYN_MAX_WORDS];
	uint32_t said_bytes[DYN_MAX_WORDS];
	char text[DYN_MAX_COMMAND + DYN_MAX_WORDS];
	uint32_t text_bytes;
};

/* The error. */
struct dyn_error {
	const char *location; /* of the error log; NULL: nothing is to be logged */
	struct parse_error error;
	const char *command; /* as it is logged, @bytes of it; NULL: the command's words */
	size_t bytes;
};

struct dyn_class {
	uint32_t kind; /* DYN_*, of its own; the lowest is asked first */
	/*
	 * Define what a command says. Return: 0; -ECANCELED: it is not of this class; -errno, and
	 * *@error if there is something to log.
	 */
	int (*create)(const struct dyn_command *c, struct dyn_error *error);
	/* Its definition, without the end of the line. */
	void (*show)(const struct dyn_event *e, struct seq_buf *s);
	/* Whether it may not go now. */
	int (*is_busy)(const struct dyn_event *e);
	/*
	 * Whether `GRP/EV` and the words of a definition that follow name it. @group: NULL: any;
	 * @name: NULL: any.
	 */
	int (*matches)(const struct dyn_event *e, const char *group, size_t group_bytes,
		       const char *name, size_t name_bytes, const struct dyn_command *c);
	/* It goes, and is freed. It is not busy, and not in the list any more. */
	void (*free)(struct dyn_event *e);
};

REGISTRY(vestige_dyn_classes, const struct dyn_class);
#define DYN_CLASS_REGISTER(self) REGISTRY_ADD(vestige_dyn_classes, self)

/* The head of each. */
struct dyn_event {
	const struct dyn_class *class;
	struct dyn_event *next;
};

extern struct dyn_event *dyn_events;

/* Put it at the list's end. */
void dyn_event_add(struct dyn_event *e);

/* It goes, and is freed. It is not busy. */
void dyn_event_remove(struct dyn_event *e);

/* A line of text -> its words. Return: 0 (none: nr_words is 0) or -E2BIG. */
int dyn_command_split(struct dyn_command *c, const char *text, size_t n);

/* Whether the words from @first on equal @words, a text with single blanks. */
int dyn_command_words_are(const struct dyn_command *c, uint32_t first, const char *words, size_t n);

/*
 * dyn_event_command() - run one command, which defines an event or removes some.
 * @kinds: DYN_* that it may be about. Return: 0 or -errno and *@error.
 */
int dyn_event_command(const struct dyn_command *c, uint32_t kinds, struct dyn_error *error);

/* Remove all of these kinds. Return: 0; -EBUSY: one is in use, none was removed. */
int dyn_events_clear(uint32_t kinds);

void dyn_events_show(uint32_t kinds, struct seq_buf *s);

#endif
