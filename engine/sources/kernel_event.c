/* SPDX-License-Identifier: MIT */
/* See kernel_event.h. No state; nothing for fork. Tests: tests/engine/events/switches. */
#include "engine/sources/kernel_event.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"

#define MAX_FORMAT   8192u
#define FIRST_PID_NS UINT32_C(4026531836) /* its inode, in each kernel */

#define FSOPEN_CLOEXEC	    1
#define FSMOUNT_CLOEXEC	    1
#define FSCONFIG_CMD_CREATE 6
#define MOUNT_ATTR_RDONLY   1

/*
 * Mount a tracefs without a name, which goes with its descriptor: for systems on which it is not
 * mounted, and within `vestige enter`, which mounts a process's own files over it. Return: the
 * folder's descriptor, or -errno.
 */
static int mount_tracefs(void)
{
	long fs = arch_syscall(SYS_fsopen, (long)"tracefs", FSOPEN_CLOEXEC, 0, 0, 0, 0), fd;

	if (fs < 0)
		return (int)fs;
	fd = arch_syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, 0, 0, 0, 0);
	if (!fd)
		fd = arch_syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY, 0, 0, 0);
	sys_close((int)fs);
	return (int)fd;
}

static int open_tracefs(void)
{
	static const char *const names[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	struct statfs fs;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		/*
		 * not a tracefs that `vestige enter` mounted: the engine itself would answer its
		 * files
		 */
		if (!arch_syscall(SYS_statfs, (long)names[i], (long)&fs, 0, 0, 0, 0) &&
		    fs.f_type == TRACEFS_MAGIC)
			return sys_open(names[i], O_RDONLY | O_CLOEXEC | O_DIRECTORY, 0);
	return mount_tracefs();
}

/*
 * Read a file of the event. @root: the folder of tracefs. Return: bytes, with a NUL behind them;
 * -errno.
 */
static long read_file(int root, const struct kernel_tracepoint *e, const char *file, char *text,
		      uint32_t bytes)
{
	char path[128];
	struct seq_buf s;
	long n, fd;

	seq_init(&s, path, sizeof(path) - 1);
	seq_puts(&s, "events/");
	seq_puts(&s, e->system);
	seq_putc(&s, '/');
	seq_puts(&s, e->name);
	seq_puts(&s, file);
	path[s.len] = 0;
	fd = arch_syscall(SYS_openat, root, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return fd;
	n = sys_read((int)fd, text, bytes - 1);
	sys_close((int)fd);
	text[n > 0 ? n : 0] = 0;
	return n;
}

/*
 * Find a field in the format: `NAME;` or `NAME[N];`, a TAB and `offset:N`, in a line that begins
 * with `field:TYPE`. Return: N; -1: there is no such field.
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
		text_decimal(p + (*p ? 7 : 0), SIZE_MAX, &v);
		return (int)v;
	}
	return -1;
}

static uint64_t find_below(int root, const struct kernel_tracepoint *e, char *format,
			   struct kernel_event_places *places)
{
	const struct vestige_event_field *f = e->fields;
	char id[32];
	uint64_t v = 0;
	long n = read_file(root, e, "/id", id, sizeof(id));
	int i, at;

	if (n <= 0 || str_to_u64(id, (size_t)n, &v) ||
	    read_file(root, e, "/format", format, MAX_FORMAT) <= 0)
		return 0;
	for (i = 0; f[i].type; i++) {
		at = field_offset(format, f[i].name, &places->is_loc[i]);
		if (at < 0)
			return 0;
		places->at[i] = (uint16_t)at;
	}
	return v;
}

uint64_t kernel_event_find(const struct kernel_tracepoint *e, struct kernel_event_places *places)
{
	char *format = heap_alloc(MAX_FORMAT);
	int root = format ? open_tracefs() : -ENOMEM;
	uint64_t v = 0;

	if (root >= 0) {
		v = find_below(root, e, format, places);
		sys_close(root);
	}
	heap_free(format);
	return v;
}

/*
 * Copy a string that the kernel's record refers to by offset and length, to a field of @room bytes.
 */
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

uint32_t kernel_event_convert(const struct kernel_tracepoint *e,
			      const struct kernel_event_places *places, const uint8_t *raw,
			      uint32_t raw_bytes, uint8_t *to)
{
	const struct vestige_event_field *f;
	uint32_t i, bytes = sizeof(struct builtin_record);

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
	return area->pid_ns == FIRST_PID_NS;
}
