/* SPDX-License-Identifier: MIT */
/*
 * The events of a trace.dat that we write, with the ids and layouts of the system ftrace of Linux
 * 6.1, which all later readers know. The fields stack and how are ours and follow the kernel's
 * fields: docs/formats/trace-dat.md. To add an event, add a row here. Tests:
 * tests/unit/test_dat_pages.c.
 */
#include "tools/export/dat_events.h"

#include <string.h>

#include "tools/dat/dat_format.h"

#define COMMON_FIELDS                                                                              \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"                                 \
	"\n"

static void encode_function(unsigned char *data, const struct record *rec)
{
	memcpy(data + 8, &rec->ip, 8);
	memcpy(data + 16, &rec->parent_ip, 8);
}

#define PRINT_TEXT_AT  16u
#define PRINT_TEXT_MAX (DAT_EVENT_MAX - PRINT_TEXT_AT - 4u)

static uint32_t print_text_bytes(const struct record *rec)
{
	return rec->data_bytes < PRINT_TEXT_MAX ? rec->data_bytes : PRINT_TEXT_MAX;
}

/* As in the kernel, the text ends with a newline and a NUL. */
static uint32_t size_print(const struct record *rec)
{
	return (PRINT_TEXT_AT + print_text_bytes(rec) + 2u + 3u) & ~3u;
}

static void encode_print(unsigned char *data, const struct record *rec)
{
	uint32_t n = print_text_bytes(rec), end = size_print(rec);

	memcpy(data + 8, &rec->ip, 8);
	if (n)
		memcpy(data + PRINT_TEXT_AT, rec->data, n);
	data[PRINT_TEXT_AT + n] = '\n';
	memset(data + PRINT_TEXT_AT + n + 1, 0, end - (PRINT_TEXT_AT + n + 1));
}

static void put_u32(unsigned char *to, uint32_t v)
{
	memcpy(to, &v, sizeof(v));
}

static void encode_entry(unsigned char *data, const struct record *rec)
{
	memcpy(data + 8, &rec->ip, 8);
	put_u32(data + 16, rec->depth);
	put_u32(data + 20, rec->task);
	put_u32(data + 24, rec->kind == RECORD_TAIL ? DAT_HOW_TAIL : 0);
}

/* The arguments follow the fields and fill the record, as in the kernel since 6.15. */
static void put_args(unsigned char *to, const struct record *rec)
{
	if (rec->graph & RECORD_GRAPH_ARGS)
		memcpy(to, rec->args, 8u * RECORD_NR_ARGS);
}

static uint32_t args_bytes(const struct record *rec)
{
	return rec->graph & RECORD_GRAPH_ARGS ? 8u * RECORD_NR_ARGS : 0;
}

static uint32_t size_function_args(const struct record *rec)
{
	return 24 + args_bytes(rec);
}

static void encode_function_args(unsigned char *data, const struct record *rec)
{
	encode_function(data, rec);
	put_args(data + 24, rec);
}

static uint32_t size_entry_args(const struct record *rec)
{
	return 32 + args_bytes(rec);
}

static void encode_entry_args(unsigned char *data, const struct record *rec)
{
	encode_entry(data, rec);
	put_u32(data + 28, 0);
	put_args(data + 32, rec);
}

static void encode_exit(unsigned char *data, const struct record *rec)
{
	uint64_t calltime = rec->ts - rec->duration;
	uint32_t how = 0;

	if (rec->graph & RECORD_GRAPH_UNWOUND)
		how |= DAT_HOW_UNWOUND;
	if (rec->graph & RECORD_GRAPH_NO_START)
		how |= DAT_HOW_NO_START;
	if (rec->graph & RECORD_GRAPH_RETVAL)
		how |= DAT_HOW_RETVAL;
	memcpy(data + 8, &rec->ip, 8);
	put_u32(data + 16, rec->depth);
	put_u32(data + 20, rec->overrun);
	memcpy(data + 24, &calltime, 8);
	memcpy(data + 32, &rec->ts, 8);
	put_u32(data + 40, rec->task);
	put_u32(data + 44, how);
}

/* An event that is larger than a sub-buffer can hold is cut. Our ring's events are smaller. */
static uint32_t size_event(const struct record *rec)
{
	uint32_t n = rec->data_bytes < DAT_EVENT_MAX ? rec->data_bytes : DAT_EVENT_MAX;

	return n < 8 ? 8 : (n + 3u) & ~3u;
}

static void encode_event(unsigned char *data, const struct record *rec)
{
	uint32_t n = size_event(rec), have = rec->data_bytes < n ? rec->data_bytes : n;

	if (have > 8)
		memcpy(data + 8, (const unsigned char *)rec->data + 8, have - 8);
	if (have < n)
		memset(data + (have < 8 ? 8 : have), 0, n - (have < 8 ? 8 : have));
}

static void encode_exit_retval(unsigned char *data, const struct record *rec)
{
	uint64_t retval = rec->graph & RECORD_GRAPH_RETVAL ? rec->retval : 0;

	encode_exit(data, rec);
	memcpy(data + 48, &retval, 8);
}

#define FUNCTION_FORMAT(more)                                                                      \
	"name: function\n"                                                                         \
	"ID: 1\n" COMMON_FIELDS "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"       \
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n" more "\n"             \
	"print fmt: \" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip\n"

#define ENTRY_FORMAT(more)                                                                         \
	"name: funcgraph_entry\n"                                                                  \
	"ID: 11\n" COMMON_FIELDS "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"    \
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"                                     \
	"\tfield:unsigned int stack;\toffset:20;\tsize:4;\tsigned:0;\n"                            \
	"\tfield:unsigned int how;\toffset:24;\tsize:4;\tsigned:0;\n" more "\n"                    \
	"print fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n"

#define EXIT_FORMAT(more, more_text, more_args)                                                    \
	"name: funcgraph_exit\n"                                                                   \
	"ID: 10\n" COMMON_FIELDS "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"    \
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"                                     \
	"\tfield:unsigned int overrun;\toffset:20;\tsize:4;\tsigned:0;\n"                          \
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"                   \
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n"                    \
	"\tfield:unsigned int stack;\toffset:40;\tsize:4;\tsigned:0;\n"                            \
	"\tfield:unsigned int how;\toffset:44;\tsize:4;\tsigned:0;\n" more "\n"                    \
	"print fmt: \"<-- %ps (%d) (start: %llx  end: %llx) over: %d" more_text "\", "             \
	"(void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth" more_args "\n"

const struct dat_event dat_events[] = {
	{
		.kind = RECORD_FUNCTION,
		.id = DAT_ID_FUNCTION,
		.bytes = 24,
		.name = "function",
		.values = DAT_WITHOUT_VALUES,
		.format = FUNCTION_FORMAT(""),
		.encode = encode_function,
	},
	{
		.kind = RECORD_FUNCTION,
		.id = DAT_ID_FUNCTION,
		.name = "function",
		.values = DAT_WITH_VALUES,
		.format = FUNCTION_FORMAT(
			"\tfield:unsigned long args[];\toffset:24;\tsize:0;\tsigned:0;\n"),
		.size = size_function_args,
		.encode = encode_function_args,
	},
	{
		.kind = RECORD_PRINT,
		.id = DAT_ID_PRINT,
		.name = "print",
		.format = "name: print\n"
			  "ID: 5\n" COMMON_FIELDS
			  "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
			  "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"
			  "\n"
			  "print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n",
		.size = size_print,
		.encode = encode_print,
	},
	{
		.kind = RECORD_ENTRY,
		.id = DAT_ID_ENTRY,
		.bytes = 28,
		.name = "funcgraph_entry",
		.graph = true,
		.values = DAT_WITHOUT_VALUES,
		.format = ENTRY_FORMAT(""),
		.encode = encode_entry,
	},
	{
		.kind = RECORD_ENTRY,
		.id = DAT_ID_ENTRY,
		.name = "funcgraph_entry",
		.graph = true,
		.values = DAT_WITH_VALUES,
		.format = ENTRY_FORMAT(
			"\tfield:unsigned long args[];\toffset:32;\tsize:0;\tsigned:0;\n"),
		.size = size_entry_args,
		.encode = encode_entry_args,
	},
	{
		.kind = RECORD_TAIL,
		.id = DAT_ID_ENTRY,
		.bytes = 28,
		.name = "funcgraph_entry",
		.graph = true,
		.values = DAT_WITHOUT_VALUES,
		.encode = encode_entry,
	},
	{
		.kind = RECORD_TAIL,
		.id = DAT_ID_ENTRY,
		.name = "funcgraph_entry",
		.graph = true,
		.values = DAT_WITH_VALUES,
		.size = size_entry_args,
		.encode = encode_entry_args,
	},
	{
		.kind = RECORD_EXIT,
		.id = DAT_ID_EXIT,
		.bytes = 48,
		.name = "funcgraph_exit",
		.graph = true,
		.values = DAT_WITHOUT_VALUES,
		.format = EXIT_FORMAT("", "", ""),
		.encode = encode_exit,
	},
	{
		.kind = RECORD_EXIT,
		.id = DAT_ID_EXIT,
		.bytes = 56,
		.name = "funcgraph_exit",
		.graph = true,
		.values = DAT_WITH_VALUES,
		.format = EXIT_FORMAT(
			"\tfield:unsigned long retval;\toffset:48;\tsize:8;\tsigned:0;\n",
			" retval: %lx", ", REC->retval"),
		.encode = encode_exit_retval,
	},
};

/* For events whose formats come from the reader: each record has its id. */
static const struct dat_event event_formatted = {
	.kind = RECORD_EVENT,
	.size = size_event,
	.encode = encode_event,
};

const unsigned int dat_nr_events = sizeof(dat_events) / sizeof(dat_events[0]);

static const char compact_entry[] =
	"name: funcgraph_entry\n"
	"ID: 11\n" COMMON_FIELDS "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:short depth;\toffset:16;\tsize:2;\tsigned:1;\n"
	"\tfield:unsigned char stack;\toffset:18;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char how;\toffset:19;\tsize:1;\tsigned:0;\n"
	"\n"
	"print fmt: \"--> %ps (%d)\", (void *)REC->func, REC->depth\n";

static const char compact_exit[] =
	"name: funcgraph_exit\n"
	"ID: 10\n" COMMON_FIELDS "\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long calltime;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:short depth;\toffset:32;\tsize:2;\tsigned:1;\n"
	"\tfield:unsigned char overrun;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char stack;\toffset:34;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char how;\toffset:35;\tsize:1;\tsigned:0;\n"
	"\n"
	"print fmt: \"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", "
	"(void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth\n";

const char *dat_compact_format(uint16_t id)
{
	return id == DAT_ID_ENTRY ? compact_entry : id == DAT_ID_EXIT ? compact_exit : NULL;
}

const struct dat_event *dat_event_of(uint8_t kind, bool values)
{
	unsigned int i;

	for (i = 0; i < dat_nr_events; i++) {
		if (dat_events[i].kind == kind &&
		    (dat_events[i].values == DAT_EITHER ||
		     (dat_events[i].values == DAT_WITH_VALUES) == values))
			return &dat_events[i];
	}
	return kind == RECORD_EVENT ? &event_formatted : NULL;
}
