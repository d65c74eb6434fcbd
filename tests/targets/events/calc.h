/* SPDX-License-Identifier: MIT */
/* Events with each kind of field, in C and in C++. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM calc

#if !defined(CALC_H) || defined(TRACE_HEADER_MULTI_READ)
#define CALC_H

#include <vestige/tracepoint.h>

#ifndef CALC_ONCE
#define CALC_ONCE
enum calc_op { CALC_ADD, CALC_MUL = 7 };
struct calc_pair {
	int a, b;
};
#endif

TRACE_DEFINE_ENUM(CALC_ADD);
TRACE_DEFINE_ENUM(CALC_MUL);
TRACE_DEFINE_SIZEOF(struct calc_pair);

/* clang-format off */
TRACE_EVENT(calc_sum,

	TP_PROTO(int a, int b),

	TP_ARGS(a, b),

	TP_STRUCT__entry(
		__field(int, a)
		__field(int, b)
	),

	TP_fast_assign(
		__entry->a = a;
		__entry->b = b;
	),

	TP_printk("a=%d b=%d", __entry->a, __entry->b)
);

TRACE_EVENT(calc_fields,

	TP_PROTO(const char *s, enum calc_op op, unsigned long flags, const void *where),

	TP_ARGS(s, op, flags, where),

	TP_STRUCT__entry(
		__string(s, s)
		__field(enum calc_op, op)
		__array(char, name, 16)
		__array(unsigned short, shorts, 3)
		__field(bool, yes)
		__field(char, c)
		__field(signed char, sc)
		__field(unsigned long, flags)
		__field(const void *, where)
		__dynamic_array(int, numbers, 3)
		__rel_string(rel, s)
		__string_len(part, s, 2)
		__field_struct(struct calc_pair, pair)
		__bitmask(mask, 100)
		__field(unsigned char, size)
	),

	TP_fast_assign(
		int i;
		unsigned long mask[2] = {5, 1};

		__assign_str(s);
		__entry->op = op;
		memset(__entry->name, 0, 16);
		memcpy(__entry->name, "name", 5);
		for (i = 0; i < 3; i++) {
			__entry->shorts[i] = (unsigned short)(i + 1);
			((int *)__get_dynamic_array(numbers))[i] = 5 * i;
		}
		__entry->yes = true;
		__entry->c = 'c';
		__entry->sc = -3;
		__entry->flags = flags;
		__entry->where = where;
		__assign_rel_str(rel);
		__assign_str(part);
		__entry->pair.a = 1;
		__entry->pair.b = 2;
		__assign_bitmask(mask, mask, 100);
		__entry->size = __get_dynamic_array_len(numbers);
	),

	TP_printk("s=%s op=%s name=%s shorts=%s yes=%d c=%d flags=%s rel=%s part=%s numbers=%s size=%u bytes=%lu",
		  __get_str(s),
		  __print_symbolic(__entry->op, {CALC_ADD, "add"}, {CALC_MUL, "mul"}),
		  __entry->name, __print_array(__entry->shorts, 3, 2), __entry->yes, __entry->c,
		  __print_flags(__entry->flags, "|", {1, "ONE"}, {2, "TWO"}, {4, "FOUR"}),
		  __get_rel_str(rel), __get_str(part),
		  __print_array(__get_dynamic_array(numbers), 3, 4), __entry->size,
		  sizeof(struct calc_pair))
);

TRACE_EVENT_CONDITION(calc_odd,

	TP_PROTO(int n),

	TP_ARGS(n),

	TP_CONDITION(n & 1),

	TP_STRUCT__entry(
		__field(int, n)
	),

	TP_fast_assign(
		__entry->n = n;
	),

	TP_printk("n=%d", __entry->n)
);

DECLARE_EVENT_CLASS(calc_class,

	TP_PROTO(unsigned long at, int n),

	TP_ARGS(at, n),

	TP_STRUCT__entry(
		__field(unsigned long, at)
		__field(int, n)
	),

	TP_fast_assign(
		__entry->at = at;
		__entry->n = n;
	),

	TP_printk("at=%ps n=%d", (void *)__entry->at, __entry->n)
);

DEFINE_EVENT(calc_class, calc_one,
	TP_PROTO(unsigned long at, int n),
	TP_ARGS(at, n)
);

DEFINE_EVENT_PRINT(calc_class, calc_two,
	TP_PROTO(unsigned long at, int n),
	TP_ARGS(at, n),
	TP_printk("two n=%d", __entry->n)
);
/* clang-format on */

/* A tracepoint that is no event. */
DECLARE_TRACE(calc_bare, TP_PROTO(int n), TP_ARGS(n));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE calc
#include <vestige/define_trace.h>
