/* SPDX-License-Identifier: MIT */
/*
 * The call trace of a fatal signal, and of vestige_warn_on(): the kernel's oops in a process. Text,
 * registers and frames are in the area (struct area_oops); the text goes where oops_file says.
 */
#ifndef VESTIGE_CONTROL_OOPS_H
#define VESTIGE_CONTROL_OOPS_H

#include <stdint.h>

#include "abi/area.h"
#include "engine/base/seq_buf.h"

/*
 * ftrace_dump_on_oops. @dump: 0: do nothing at a fatal signal; 1, 2: see area.h. Under the tree
 * lock. Return: 0 or -errno.
 */
int oops_set(uint64_t dump);
uint64_t oops_get(void);

/*
 * oops_file. @path: @n bytes, in which %p means the process's id; empty: stderr. Under the tree
 * lock. Return: 0 or -errno.
 */
int oops_file_set(const char *path, size_t n);
const char *oops_file_get(void);

/* vestige_warn_on(): see vestige.h. Any context. */
int oops_warn(const char *condition, const char *file, int line, const void *ip);

/* vestige_on_oops(): the callback; NULL: none. Any thread. */
typedef void oops_callback(const char *text, size_t bytes, const char *path, void *arg);
int oops_on(oops_callback *call, void *arg);

/* In the agent: write out the text of a thread that may make no system call. */
void oops_serve(void);

/* oops_names.c: functions by the symbol tables of the objects' files. */
#define OOPS_NAME_BYTES 112u
struct oops_name {
	uint64_t ip;
	uint32_t exact;	 /* 1: address of an instruction; 0: a return address */
	uint32_t object; /* UINT32_MAX: no object has it */
	uint64_t value;	 /* start of the function, from the object's bias; 0: no name is known */
	uint64_t next;	 /* start of the next function */
	uint64_t bytes;	 /* size by the symbol; 0: it has none */
	char name[OOPS_NAME_BYTES];
};

/* The index of the object that has @ip; UINT32_MAX: none. Any context. */
uint32_t oops_object(uint64_t ip);

/*
 * Look up @nr names. The caller has filled in ip and exact. Opens and maps the objects' files, one
 * at a time. Any context that may make system calls.
 */
void oops_names(struct oops_name *names, uint32_t nr);

/* Put NAME+0xOFFSET/0xSIZE [OBJECT], or 0xADDRESS [OBJECT+0xOFFSET]. */
void oops_put_name(struct seq_buf *s, const struct oops_name *n);

/*
 * oops_text.c: put the text of @o, whose numbers are filled in. @names: first the instruction's,
 * then the frames'. @code: OOPS_CODE_BYTES around the instruction; NULL: they cannot be read.
 */
#define OOPS_CODE_BYTES	 64u
#define OOPS_CODE_BEFORE 42u
struct oops_warning {
	const char *condition, *file;
	int line;
};
void oops_text(struct seq_buf *s, const struct area_oops *o, const struct oops_name *names,
	       const uint8_t *code, const struct oops_warning *warning);

#endif
