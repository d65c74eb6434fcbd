/* SPDX-License-Identifier: MIT */
/* See kernel_event.h. Holds nothing; fork: nothing to do. Tests: tests/engine/events/switches. */
#include "engine/events/kernel_event.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/heap.h"

#define MAX_FORMAT   8192u
#define FIRST_PID_NS "pid:[4026531836]"

static int is_tracefs(const char *path)
{
	struct statfs fs;

	return !arch_syscall(SYS_statfs, (long)path, (long)&fs, 0, 0, 0, 0) &&
	       fs.f_type == TRACEFS_MAGIC;
}

static long read_file(const struct own_event *e, const char *file, char *text, uint32_t bytes)
{
	static const char *const roots[] = {"/sys/kernel/tracing/", "/sys/kernel/debug/tracing/"};
	char path[128];
	struct seq_buf s;
	uint32_t i;
	long n = -ENOENT;
	int fd;

	for (i = 0; i < ARRAY_SIZE(roots); i++) {
		/* `vestige enter` lays a process's own files there, which would ask us for them */
		if (!is_tracefs(roots[i]))
			continue;
		seq_init(&s, path, sizeof(path) - 1);
		seq_puts(&s, roots[i]);
		seq_puts(&s, "events/");
		seq_puts(&s, e->system);
		seq_putc(&s, '/');
		seq_puts(&s, e->name);
		seq_puts(&s, file);
		path[s.len] = 0;
		fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
		if (fd < 0) {
			n = fd;
			continue;
		}
		n = sys_read(fd, text, bytes - 1);
		sys_close(fd);
		text[n > 0 ? n : 0] = 0;
		return n;
	}
	return n;
}

/*
 * Where the format has `NAME;` or `NAME[N];`, TAB, `offset:N`, in a line that begins with `field:TYPE`.
 * Return: N; -1: it has no such field.
 */
static int field_offset(const char *format, const char *name, uint8_t *is_loc)
{
	const char *p, *field = format;
	size_t n = strlen(name);
	uint64_t v = 0;

	for (p = format; *p; p++) {
		if (str_starts(p, "field:"))
			field = p;
		if (*p != ' ' || memcmp(p + 1, name, n) || (p[1 + n] != ';' && p[1 + n] != '['))
			continue;
		*is_loc = (uint8_t)str_starts(field, "field:__data_loc");
		while (*p && !str_starts(p, "offset:"))
			p++;
		for (p += *p ? 7 : 0; *p >= '0' && *p <= '9'; p++)
			v = v * 10 + (uint64_t)(*p - '0');
		return (int)v;
	}
	return -1;
}

uint64_t kernel_event_find(const struct own_event *e, struct kernel_event_places *places)
{
	const struct vestige_event_field *f = e->fields;
	char id[32], *format = heap_alloc(MAX_FORMAT);
	uint64_t v = 0;
	long n;
	int i, at;

	if (!format)
		return 0;
	n = read_file(e, "/id", id, sizeof(id));
	if (n > 0 && !str_to_u64(id, (size_t)n, &v) &&
	    read_file(e, "/format", format, MAX_FORMAT) <= 0)
		v = 0;
	for (i = 0; v && f[i].type; i++) {
		at = field_offset(format, f[i].name, &places->is_loc[i]);
		places->at[i] = (uint16_t)at;
		if (at < 0)
			v = 0;
	}
	heap_free(format);
	return v;
}

/* A string whose place is told, where we have room for @room bytes. */
static int put_string(const uint8_t *raw, uint32_t raw_bytes, uint32_t at, uint8_t *to,
		      uint32_t room)
{
	uint32_t loc, n;

	if (at + sizeof(loc) > raw_bytes)
		return 0;
	memcpy(&loc, raw + at, sizeof(loc));
	n = loc >> 16;
	at = loc & 0xffff;
	if (at > raw_bytes || n > raw_bytes - at)
		return 0;
	memcpy(to, raw + at, n < room ? n : room - 1);
	return 1;
}

uint32_t kernel_event_convert(const struct own_event *e, const struct kernel_event_places *places,
			      const uint8_t *raw, uint32_t raw_bytes, uint8_t *to)
{
	const struct vestige_event_field *f;
	uint32_t i, bytes = sizeof(struct own_record);

	for (i = 0, f = e->fields; f->type; i++, f++) {
		if (places->is_loc[i]) {
			if (!put_string(raw, raw_bytes, places->at[i], to + f->offset, f->size))
				return 0;
		} else {
			if (places->at[i] + f->size > raw_bytes)
				return 0;
			memcpy(to + f->offset, raw + places->at[i], f->size);
		}
		bytes = f->offset + f->size;
	}
	return bytes;
}

int kernel_event_ids_are_ours(void)
{
	char name[32];
	long n = arch_syscall(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)name,
			      sizeof(name) - 1, 0, 0);

	name[n > 0 ? n : 0] = 0;
	return str_equal(name, FIRST_PID_NS);
}
