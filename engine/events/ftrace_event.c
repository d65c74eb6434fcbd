/* SPDX-License-Identifier: MIT */
/*
 * See ftrace_event.h. Formats and ids are the kernel's (6.12). An instance has the event_file of
 * ftrace:print in print_file while a filter or a trigger acts on it. Then the record is put
 * together on the writer's stack, as for other events (event_act.c). fork: as all events. Tests:
 */
#include "engine/events/ftrace_event.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/core/ftrace_formats.h"
#include "engine/events/event.h"
#include "engine/events/filter/filter.h"
#include "engine/events/trigger/trigger.h"
#include "engine/ring/ring_write.h"

#define HEAD_BYTES 16u

#define ULONG "unsigned long"

/* The text as an array of open length, up to its NUL, for filters. */
#define TEXT_BYTES 256u

static const struct event_field stack_fields[] = {
	{"int", "size", 4, 8, 1, FILTER_OTHER},
	{ULONG "[8]", "caller", 64, 16, 0, FILTER_OTHER},
};
static const struct event_field print_fields[] = {
	{ULONG, "ip", 8, 8, 0, FILTER_OTHER},
	{"char[]", "buf", TEXT_BYTES, 16, 0, FILTER_STATIC_STRING},
};
static const struct event_field bprint_fields[] = {
	{ULONG, "ip", 8, 8, 0, FILTER_OTHER},
	{"const char *", "fmt", 8, 16, 0, FILTER_OTHER},
	{"u32[]", "buf", 4, 24, 0, FILTER_OTHER},
};
static const struct event_field bputs_fields[] = {
	{ULONG, "ip", 8, 8, 0, FILTER_OTHER},
	{"const char *", "str", 8, 16, 0, FILTER_OTHER},
};
static const struct event_field user_stack_fields[] = {
	{"unsigned int", "tgid", 4, 8, 0, FILTER_OTHER},
	{ULONG "[8]", "caller", 64, 16, 0, FILTER_OTHER},
};
static const struct event_field raw_data_fields[] = {
	{"unsigned int", "id", 4, 8, 0, FILTER_OTHER},
	{"char[]", "buf", TEXT_BYTES, 12, 0, FILTER_STATIC_STRING},
};
static const struct event_field func_repeats_fields[] = {
	{ULONG, "ip", 8, 8, 0, FILTER_OTHER},
	{ULONG, "parent_ip", 8, 16, 0, FILTER_OTHER},
	{"u16", "count", 2, 24, 0, FILTER_OTHER},
	{"u16", "top_delta_ts", 2, 26, 0, FILTER_OTHER},
	{"u32", "bottom_delta_ts", 4, 28, 0, FILTER_OTHER},
};

static const struct event_field branch_fields[] = {
	{"unsigned int", "line", 4, 8, 0, FILTER_OTHER},
	{"char[31]", "func", 31, 12, 0, FILTER_STATIC_STRING},
	{"char[21]", "file", 21, 43, 0, FILTER_STATIC_STRING},
	{"char", "correct", 1, 64, 0, FILTER_OTHER},
	{"char", "constant", 1, 65, 0, FILTER_OTHER},
};

static const struct event_field boot_call_fields[] = {
	{ULONG, "func", 8, 8, 0, FILTER_OTHER},
	{"int", "caller", 4, 16, 1, FILTER_OTHER},
};
static const struct event_field boot_ret_fields[] = {
	{ULONG, "func", 8, 8, 0, FILTER_OTHER},
	{"unsigned long long", "duration", 8, 16, 0, FILTER_OTHER},
	{"int", "result", 4, 24, 1, FILTER_OTHER},
};

static const struct event_field kmem_alloc_fields[] = {
	{ULONG, "call_site", 8, 8, 0, FILTER_OTHER},
	{"const void *", "ptr", 8, 16, 0, FILTER_OTHER},
	{"size_t", "bytes_req", 8, 24, 0, FILTER_OTHER},
	{"size_t", "bytes_alloc", 8, 32, 0, FILTER_OTHER},
	{"unsigned int", "gfp_flags", 4, 40, 0, FILTER_OTHER},
	{"int", "node", 4, 44, 1, FILTER_OTHER},
};
static const struct event_field kmem_free_fields[] = {
	{ULONG, "call_site", 8, 8, 0, FILTER_OTHER},
	{"const void *", "ptr", 8, 16, 0, FILTER_OTHER},
};

static const struct event_field kmem_leak_fields[] = {
	{"size_t", "bytes", 8, 8, 0, FILTER_OTHER},
	{ULONG, "blocks", 8, 16, 0, FILTER_OTHER},
	{"unsigned long long", "age", 8, 24, 0, FILTER_OTHER},
};

static const struct event_field ksym_fields[] = {
	{ULONG, "ip", 8, 8, 0, FILTER_OTHER},
	{"unsigned char", "type", 1, 16, 0, FILTER_OTHER},
	{"char[63]", "ksym_name", 63, 17, 0, FILTER_STATIC_STRING},
};

/* fields of sysprof, with the kernel's names */
static const struct event_field special_fields[] = {
	{ULONG, "arg1", 8, 8, 0, FILTER_OTHER},
	{ULONG, "arg2", 8, 16, 0, FILTER_OTHER},
	{ULONG, "arg3", 8, 24, 0, FILTER_OTHER},
};

static const struct event_field blk_fields[] = {
	{"sector_t", "sector", 8, 8, 0, FILTER_OTHER},
	{"unsigned int", "nr_sector", 4, 16, 0, FILTER_OTHER},
	{"unsigned int", "bytes", 4, 20, 0, FILTER_OTHER},
	{"unsigned int", "major", 4, 24, 0, FILTER_OTHER},
	{"unsigned int", "minor", 4, 28, 0, FILTER_OTHER},
	{"int", "error", 4, 32, 1, FILTER_OTHER},
	{"char", "act", 1, 36, 0, FILTER_OTHER},
	{"char[3]", "rwbs", 3, 37, 0, FILTER_STATIC_STRING},
	{"int", "pid", 4, 40, 1, FILTER_OTHER},
};

static const struct event_field power_fields[] = {
	{"unsigned int", "kind", 4, 8, 0, FILTER_OTHER},
	{"unsigned int", "state", 4, 12, 0, FILTER_OTHER},
	{"unsigned int", "cpu_id", 4, 16, 0, FILTER_OTHER},
	{"unsigned int", "below", 4, 20, 0, FILTER_OTHER},
};

static const struct event_field hw_branch_fields[] = {
	{ULONG, "from", 8, 8, 0, FILTER_OTHER},
	{ULONG, "to", 8, 16, 0, FILTER_OTHER},
	{"unsigned int", "cpu_id", 4, 24, 0, FILTER_OTHER},
};

static const struct event_field mmio_rw_fields[] = {
	{"resource_size_t", "phys", 8, 8, 0, FILTER_OTHER},
	{ULONG, "value", 8, 16, 0, FILTER_OTHER},
	{ULONG, "pc", 8, 24, 0, FILTER_OTHER},
	{"int", "map_id", 4, 32, 1, FILTER_OTHER},
	{"unsigned char", "opcode", 1, 36, 0, FILTER_OTHER},
	{"unsigned char", "width", 1, 37, 0, FILTER_OTHER},
};

static const struct event_field mmio_map_fields[] = {
	{"resource_size_t", "phys", 8, 8, 0, FILTER_OTHER},
	{ULONG, "virt", 8, 16, 0, FILTER_OTHER},
	{ULONG, "len", 8, 24, 0, FILTER_OTHER},
	{"int", "map_id", 4, 32, 1, FILTER_OTHER},
	{"unsigned char", "opcode", 1, 36, 0, FILTER_OTHER},
};

/* fields of context_switch and wakeup */
static const struct event_field switch_fields[] = {
	{"unsigned int", "prev_pid", 4, 8, 0, FILTER_OTHER},
	{"unsigned int", "next_pid", 4, 12, 0, FILTER_OTHER},
	{"unsigned int", "next_cpu", 4, 16, 0, FILTER_OTHER},
	{"unsigned char", "prev_prio", 1, 20, 0, FILTER_OTHER},
	{"unsigned char", "prev_state", 1, 21, 0, FILTER_OTHER},
	{"unsigned char", "next_prio", 1, 22, 0, FILTER_OTHER},
	{"unsigned char", "next_state", 1, 23, 0, FILTER_OTHER},
};

#define SWITCH_FMT(arrow)                                                                          \
	"\"%u:%u:%u  " arrow " %u:%u:%u [%03u]\", REC->prev_pid, REC->prev_prio, "                 \
	"REC->prev_state, REC->next_pid, REC->next_prio, REC->next_state, REC->next_cpu"

#define STACK_FMT                                                                                  \
	"\"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" "       \
	"\"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1], "           \
	"(void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], "                 \
	"(void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]"

#define EVENT(i, text, ident, its_fields, fmt)                                                     \
	[i] = {                                                                                    \
		.system = "ftrace",                                                                \
		.name = (text),                                                                    \
		.id = (ident),                                                                     \
		.nr_fields = ARRAY_SIZE(its_fields),                                               \
		.fields = (its_fields),                                                            \
		.print_fmt = (fmt),                                                                \
		.next = (i) ? &ftrace_events[(i)-1] : NULL,                                        \
	}

struct event ftrace_events[FTRACE_NR_EVENTS] = {
	EVENT(21, "mmiotrace_map", FTRACE_MMIO_MAP, mmio_map_fields,
	      "\"%lx %lx %lx %d %x\", (unsigned long)REC->phys, REC->virt, REC->len, REC->map_id, "
	      "REC->opcode"),
	EVENT(20, "mmiotrace_rw", FTRACE_MMIO_RW, mmio_rw_fields,
	      "\"%lx %lx %lx %d %x %x\", (unsigned long)REC->phys, REC->value, REC->pc, "
	      "REC->map_id, REC->opcode, REC->width"),
	EVENT(19, "hw_branch", FTRACE_HW_BRANCH, hw_branch_fields,
	      "\"%u %ps -> %ps\", REC->cpu_id, (void *)REC->from, (void *)REC->to"),
	EVENT(18, "power", FTRACE_POWER, power_fields,
	      "\"kind=%u state=%u cpu_id=%u below=%u\", REC->kind, REC->state, REC->cpu_id, "
	      "REC->below"),
	EVENT(17, "blk", FTRACE_BLK, blk_fields,
	      "\"%u,%u %s %s %llu + %u [%d]\", REC->major, REC->minor, "
	      /* trace-cmd knows no %c */
	      "__print_symbolic(REC->act, { 67, \"C\" }, { 81, \"Q\" }), REC->rwbs, "
	      "(unsigned long long)REC->sector, REC->nr_sector, REC->error"),
	EVENT(16, "special", FTRACE_SPECIAL, special_fields,
	      "\"(%lu, %ps, %lx)\", REC->arg1, (void *)REC->arg2, REC->arg3"),
	EVENT(15, "wakeup", FTRACE_WAKEUP, switch_fields, SWITCH_FMT("==+")),
	EVENT(14, "context_switch", FTRACE_CONTEXT_SWITCH, switch_fields, SWITCH_FMT("==>")),
	EVENT(13, "ksym_trace", FTRACE_KSYM, ksym_fields,
	      "\"ip: %pS type: %u ksym_name: %s\", (void *)REC->ip, (unsigned int)REC->type, "
	      "REC->ksym_name"),
	EVENT(12, "kmem_leak", FTRACE_KMEM_LEAK, kmem_leak_fields,
	      "\"bytes:%zu blocks:%lu age:%llu\", REC->bytes, REC->blocks, REC->age"),
	EVENT(11, "kmem_alloc", FTRACE_KMEM_ALLOC, kmem_alloc_fields,
	      "\"call_site:%pS ptr:%p req:%zu alloc:%zu flags:%x node:%d\", "
	      "(void *)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc, "
	      "REC->gfp_flags, REC->node"),
	EVENT(10, "kmem_free", FTRACE_KMEM_FREE, kmem_free_fields,
	      "\"call_site:%pS ptr:%p\", (void *)REC->call_site, REC->ptr"),
	EVENT(9, "boot_call", FTRACE_BOOT_CALL, boot_call_fields,
	      "\"calling  %pS @ %d\", (void *)REC->func, REC->caller"),
	EVENT(8, "boot_ret", FTRACE_BOOT_RET, boot_ret_fields,
	      "\"initcall %pS returned %d after %llu usecs\", (void *)REC->func, REC->result, "
	      "REC->duration / 1000"),
	EVENT(7, "branch", FTRACE_BRANCH, branch_fields,
	      "\"%u:%s:%s (%u)%s\", REC->line, REC->func, REC->file, REC->correct, "
	      "REC->constant ? \" CONSTANT\" : \"\""),
	EVENT(6, "kernel_stack", FTRACE_KERNEL_STACK, stack_fields, STACK_FMT),
	EVENT(5, "print", FTRACE_PRINT, print_fields, "\"%ps: %s\", (void *)REC->ip, REC->buf"),
	EVENT(4, "bprint", FTRACE_BPRINT, bprint_fields, "\"%ps: %s\", (void *)REC->ip, REC->fmt"),
	EVENT(3, "user_stack", FTRACE_USER_STACK, user_stack_fields, STACK_FMT),
	EVENT(2, "bputs", FTRACE_BPUTS, bputs_fields, "\"%ps: %s\", (void *)REC->ip, REC->str"),
	EVENT(1, "raw_data", FTRACE_RAW_DATA, raw_data_fields,
	      "\"id:%04x %08x\", REC->id, (int)REC->buf[0]"),
	EVENT(0, "func_repeats", FTRACE_FUNC_REPEATS, func_repeats_fields,
	      "\" %ps <-%ps\\t(repeats:%u  delta: -%llu)\", (void *)REC->ip, "
	      "(void *)REC->parent_ip, REC->count, (((u64)(REC)->top_delta_ts << 32) | "
	      "(REC)->bottom_delta_ts)"),
};

static struct event *by_id(uint32_t id)
{
	uint32_t i;

	for (i = 0; i < FTRACE_NR_EVENTS; i++)
		if (ftrace_events[i].id == id)
			return &ftrace_events[i];
	return NULL;
}

static int describe(enum ftrace_id id)
{
	return event_describe(by_id(id));
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	ftrace_format_register(describe);
}

int ftrace_event_is_print(const struct event *e)
{
	return e->id == FTRACE_PRINT;
}

void ftrace_event_update(struct event_file *f)
{
	if (!ftrace_event_is_print(f->event))
		return;
	/* its histograms are found through its row */
	if (f->triggers)
		event_describe(f->event);
	store_release(&f->tr->print_file, f->filter || f->triggers ? f : NULL);
}

static int put(struct ring *r, const void *ip, const char *text, uint32_t n)
{
	uint32_t size = HEAD_BYTES + ((n + 1 + 7) & ~7u);
	struct ring_slot slot;

	if (!ring_reserve(r, &slot, size))
		return -EBADF;
	slot.words[1] = (uint64_t)(uintptr_t)ip;
	/* the page was zeroed, so there are NULs behind it */
	memcpy(slot.words + 2, text, n);
	ring_commit(&slot, RECORD_PRINT, size);
	return 1;
}

static __attribute__((noinline)) int act(struct event_file *f, const void *ip, const char *text,
					 uint32_t n)
{
	const struct event_filter *filter;
	struct srcu_thread *inside;
	struct ring *r;
	int ret = 0;
	struct {
		uint64_t common, ip;
		char text[FTRACE_PRINT_MAX + 1];
	} record;

	inside = ring_enter();
	r = inside ? f->tr->ring : NULL;
	if (r) {
		record.common = 0;
		record.ip = (uint64_t)(uintptr_t)ip;
		memcpy(record.text, text, n);
		/* without the newline at the end, as a reader shows it: `echo` writes one */
		record.text[n && text[n - 1] == '\n' ? n - 1 : n] = 0;
		if (load_relaxed(&f->triggers))
			triggers_fire(f, &record, 0);
		filter = load_acquire(&f->filter);
		if (!filter || filter_match(filter, &record))
			ret = put(r, ip, text, n);
		if (load_relaxed(&f->triggers))
			triggers_fire(f, &record, 1);
	}
	if (inside)
		ring_leave(inside);
	return r ? ret : -EBADF;
}

int ftrace_print(struct trace_array *tr, const void *ip, const char *text, uint32_t n)
{
	struct event_file *f = load_acquire(&tr->print_file);

	if (unlikely(f))
		return act(f, ip, text, n);
	return put(tr->ring, ip, text, n);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
