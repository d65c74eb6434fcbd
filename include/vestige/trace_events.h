/* SPDX-License-Identifier: MIT */
/*
 * The passes of define_trace.h over a header of events. Each pass defines TRACE_EVENT(), __field()
 * and the other macros anew, and includes the header again.
 *
 *	1  the tracepoints, and names for print formats (TRACE_DEFINE_ENUM)
 *	2  struct trace_event_raw_CLASS: the record
 *	3  struct trace_event_data_offsets_CLASS: where the parts of variable length are
 *	4  trace_event_get_offsets_CLASS(): how long they are
 *	5  trace_event_raw_event_CLASS(): the probe function, which writes a record
 *	6  vestige_fields_CLASS(): the fields, as in `format`; vestige_print_CLASS: its last line
 *	7  struct vestige_event: what libvestige finds
 *
 * All macros that define events expand to DECLARE_EVENT_CLASS(), which makes an event class, and
 * VESTIGE_EVENT_OF_(), which makes an event of a class.
 */
#pragma GCC system_header
#include <vestige/tracepoint.h>
#include <vestige/trace_types.h>
/* clang-format off */

VESTIGE_ITEMS_NOTE_;

#undef TRACE_EVENT
#undef TRACE_EVENT_CONDITION
#undef TRACE_EVENT_FN
#undef TRACE_EVENT_FN_COND
#undef TRACE_EVENT_NOP
#undef DECLARE_EVENT_CLASS
#undef DECLARE_EVENT_CLASS_NOP
#undef DECLARE_EVENT_NOP
#undef DEFINE_EVENT
#undef DEFINE_EVENT_PRINT
#undef DEFINE_EVENT_FN
#undef DEFINE_EVENT_CONDITION
#undef DEFINE_EVENT_NOP
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION
#undef TRACE_EVENT_FLAGS
#undef TRACE_EVENT_PERF_PERM
#undef TRACE_DEFINE_ENUM
#undef TRACE_DEFINE_SIZEOF

/* Macros that mean the same in every pass. */
#define TRACE_EVENT(name, proto, args, tstruct, assign, print)                                     \
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),    \
			    PARAMS(print))                                                         \
	VESTIGE_EVENT_OF_(name, name, NULL, NULL, vestige_print_##name, name)
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print)                     \
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), PARAMS(print))
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg)                      \
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),    \
			    PARAMS(print))                                                         \
	VESTIGE_EVENT_OF_(name, name, reg, unreg, vestige_print_##name, name)
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, reg, unreg)           \
	TRACE_EVENT_FN(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign),         \
		       PARAMS(print), reg, unreg)
#define DEFINE_EVENT(template, name, proto, args)                                                  \
	VESTIGE_EVENT_OF_(template, name, NULL, NULL, vestige_print_##template, template)
#define DEFINE_EVENT_CONDITION(template, name, proto, args, cond)                                  \
	DEFINE_EVENT(template, name, PARAMS(proto), PARAMS(args))
#define DEFINE_EVENT_FN(template, name, proto, args, reg, unreg)                                   \
	VESTIGE_EVENT_OF_(template, name, reg, unreg, vestige_print_##template, template)
#define DEFINE_EVENT_PRINT(template, name, proto, args, print)                                     \
	VESTIGE_OWN_PRINT_(name, PARAMS(print))                                                    \
	VESTIGE_EVENT_OF_(template, name, NULL, NULL, vestige_print_##name, template)
#define TRACE_EVENT_NOP(name, proto, args, tstruct, assign, print)
#define DECLARE_EVENT_CLASS_NOP(name, proto, args, tstruct, assign, print)
#define DECLARE_EVENT_NOP(name, proto, args, tstruct, assign, print)
#define DEFINE_EVENT_NOP(template, name, proto, args)
#define DECLARE_TRACE(name, proto, args)
#define DECLARE_TRACE_CONDITION(name, proto, args, cond)
#define TRACE_EVENT_FLAGS(event, flag)
#define TRACE_EVENT_PERF_PERM(event, expr...)
#undef TP_STRUCT__entry
#undef TP_fast_assign
#undef TP_perf_assign
#undef TP_printk
#define TP_STRUCT__entry(args...) args
#define TP_fast_assign(args...)	  args
#define TP_perf_assign(args...)
#define TP_printk(fmt, args...)	  fmt, args

#ifndef __perf_count
#define __perf_addr(a)	(a)
#define __perf_count(c) (c)
#define __perf_task(t)	(t)
#endif

/* ---- 1: tracepoints, names for print formats ---- */
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)
#define VESTIGE_OWN_PRINT_(name, print)
#define VESTIGE_EVENT_OF_(template, name, reg, unreg, print, proto_of)                             \
	VESTIGE_DEFINE_TRACE_(name, reg, unreg);
#define VESTIGE_EVAL_(text, number, serial)                                                        \
	static const struct vestige_eval VESTIGE_CAT_(vestige_eval_, serial) = {                   \
		VESTIGE_STR_(TRACE_SYSTEM), text, (uint64_t)(number)};                             \
	VESTIGE_ITEM_(VESTIGE_CAT_(eval_, serial), VESTIGE_ITEM_EVAL,                              \
		      &VESTIGE_CAT_(vestige_eval_, serial));
#define TRACE_DEFINE_ENUM(a)   VESTIGE_EVAL_(#a, a, __COUNTER__)
#define TRACE_DEFINE_SIZEOF(a) VESTIGE_EVAL_("sizeof(" #a ")", sizeof(a), __COUNTER__)

#include VESTIGE_INCLUDE_(TRACE_INCLUDE_FILE)

#undef TRACE_DEFINE_ENUM
#undef TRACE_DEFINE_SIZEOF
#undef VESTIGE_EVAL_
#define TRACE_DEFINE_ENUM(a)
#define TRACE_DEFINE_SIZEOF(a)

/* ---- 2: the record ---- */
#undef DECLARE_EVENT_CLASS
#undef VESTIGE_EVENT_OF_
#define VESTIGE_EVENT_OF_(template, name, reg, unreg, print, proto_of)
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)                             \
	struct trace_event_raw_##name {                                                            \
		struct trace_entry ent;                                                            \
		tstruct                                                                            \
		char __data[];                                                                     \
	};

#define __field(type, item)			     type item;
#define __field_ext(type, item, filter_type)	     type item;
#define __field_struct(type, item)		     type item;
#define __field_struct_ext(type, item, filter_type)  type item;
#define __array(type, item, len)		     type item[len];
#define __dynamic_array(type, item, len)	     uint32_t __data_loc_##item;
#define __rel_dynamic_array(type, item, len)	     uint32_t __rel_loc_##item;
#define VESTIGE_PART_(item)			     uint32_t __data_loc_##item;
#define VESTIGE_REL_PART_(item)			     uint32_t __rel_loc_##item;
#define __string(item, src)			     VESTIGE_PART_(item)
#define __string_len(item, src, len)		     VESTIGE_PART_(item)
#define __vstring(item, fmt, ap)		     VESTIGE_PART_(item)
#define __bitmask(item, nr_bits)		     VESTIGE_PART_(item)
#define __cpumask(item)				     VESTIGE_PART_(item)
#define __sockaddr(item, len)			     VESTIGE_PART_(item)
#define __rel_string(item, src)			     VESTIGE_REL_PART_(item)
#define __rel_string_len(item, src, len)	     VESTIGE_REL_PART_(item)
#define __rel_vstring(item, fmt, ap)		     VESTIGE_REL_PART_(item)
#define __rel_bitmask(item, nr_bits)		     VESTIGE_REL_PART_(item)
#define __rel_cpumask(item)			     VESTIGE_REL_PART_(item)
#define __rel_sockaddr(item, len)		     VESTIGE_REL_PART_(item)

#include VESTIGE_INCLUDE_(TRACE_INCLUDE_FILE)

/* ---- 3: offsets of the parts of variable length ---- */
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)                             \
	struct trace_event_data_offsets_##name {                                                   \
		tstruct                                                                            \
	};

#undef __field
#undef __field_ext
#undef __field_struct
#undef __field_struct_ext
#undef __array
#undef __dynamic_array
#undef __rel_dynamic_array
#undef VESTIGE_PART_
#undef VESTIGE_REL_PART_
#define __field(type, item)
#define __field_ext(type, item, filter_type)
#define __field_struct(type, item)
#define __field_struct_ext(type, item, filter_type)
#define __array(type, item, len)
#define __dynamic_array(type, item, len)     VESTIGE_PART_(item)
#define __rel_dynamic_array(type, item, len) VESTIGE_PART_(item)
#define VESTIGE_PART_(item)                                                                        \
	uint32_t item;                                                                             \
	const void *item##_ptr_;
#define VESTIGE_REL_PART_(item) VESTIGE_PART_(item)

#include VESTIGE_INCLUDE_(TRACE_INCLUDE_FILE)

/* ---- 4: their lengths ---- */
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)                             \
	static inline __attribute__((always_inline)) VESTIGE_NOTRACE_ int                          \
	trace_event_get_offsets_##name(struct trace_event_data_offsets_##name *__data_offsets,     \
				       proto)                                                      \
	{                                                                                          \
		typedef struct trace_event_raw_##name vestige_raw_ __attribute__((unused));        \
		int __data_size = 0;                                                               \
                                                                                                   \
		(void)__data_offsets;                                                              \
		tstruct                                                                            \
		return __data_size;                                                                \
	}

#undef __dynamic_array
#undef __rel_dynamic_array
#undef __string
#undef __string_len
#undef __vstring
#undef __bitmask
#undef __cpumask
#undef __sockaddr
#undef __rel_string
#undef __rel_string_len
#undef __rel_vstring
#undef __rel_bitmask
#undef __rel_cpumask
#undef __rel_sockaddr
#undef VESTIGE_PART_
#undef VESTIGE_REL_PART_
#define VESTIGE_PART_(item, bytes, src)                                                            \
	__data_offsets->item##_ptr_ = (const void *)(src);                                         \
	__data_offsets->item =                                                                     \
		vestige_part_(&__data_size, offsetof(vestige_raw_, __data), (size_t)(bytes));
#define VESTIGE_REL_PART_(item, bytes, src)                                                        \
	__data_offsets->item##_ptr_ = (const void *)(src);                                         \
	__data_offsets->item = vestige_part_(&__data_size,                                         \
					     offsetof(vestige_raw_, __data) -                      \
						     offsetof(vestige_raw_, __rel_loc_##item) -    \
						     sizeof(uint32_t),                             \
					     (size_t)(bytes));
#define __dynamic_array(type, item, len)     VESTIGE_PART_(item, (len) * sizeof(type), NULL)
#define __rel_dynamic_array(type, item, len) VESTIGE_REL_PART_(item, (len) * sizeof(type), NULL)
#define __string(item, src)                                                                        \
	VESTIGE_PART_(item, vestige_string_bytes_(__data_offsets->item##_ptr_), src)
#define __string_len(item, src, len) VESTIGE_PART_(item, (len) + 1, src)
#define __vstring(item, fmt, ap)     VESTIGE_PART_(item, vestige_vstring_bytes_(fmt, ap), NULL)
#define __bitmask(item, nr_bits)     VESTIGE_PART_(item, VESTIGE_BITMAP_BYTES_(nr_bits), NULL)
#define __cpumask(item)		     __bitmask(item, nr_cpumask_bits)
#define __sockaddr(item, len)	     __dynamic_array(uint8_t, item, len)
#define __rel_string(item, src)                                                                    \
	VESTIGE_REL_PART_(item, vestige_string_bytes_(__data_offsets->item##_ptr_), src)
#define __rel_string_len(item, src, len) VESTIGE_REL_PART_(item, (len) + 1, src)
#define __rel_vstring(item, fmt, ap)                                                               \
	VESTIGE_REL_PART_(item, vestige_vstring_bytes_(fmt, ap), NULL)
#define __rel_bitmask(item, nr_bits)                                                               \
	VESTIGE_REL_PART_(item, VESTIGE_BITMAP_BYTES_(nr_bits), NULL)
#define __rel_cpumask(item)	  __rel_bitmask(item, nr_cpumask_bits)
#define __rel_sockaddr(item, len) __rel_dynamic_array(uint8_t, item, len)

#include VESTIGE_INCLUDE_(TRACE_INCLUDE_FILE)

/* ---- 5: the probe ---- */
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)                             \
	static __attribute__((noinline)) VESTIGE_NOTRACE_ void trace_event_raw_event_##name(       \
		void *__data, proto)                                                               \
	{                                                                                          \
		struct trace_event_data_offsets_##name __data_offsets;                             \
		const struct vestige_event_ops *vestige_ops_ =                                     \
			((struct vestige_event_file *)__data)->ops;                                \
		struct vestige_event_slot vestige_slot_;                                           \
		struct trace_event_raw_##name *entry;                                              \
		size_t vestige_bytes_ =                                                            \
			sizeof(*entry) +                                                           \
			(size_t)trace_event_get_offsets_##name(&__data_offsets, args);             \
                                                                                                   \
		if (vestige_bytes_ > VESTIGE_EVENT_MAX_)                                           \
			vestige_slot_.scratch = NULL;                                              \
		else                                                                               \
			vestige_slot_.scratch = __builtin_alloca_with_align(vestige_bytes_, 64);   \
		entry = (struct trace_event_raw_##name *)  vestige_ops_->reserve(                  \
			__data, &vestige_slot_, (uint32_t)vestige_bytes_);                         \
		if (!entry)                                                                        \
			return;                                                                    \
		(void)__data_offsets;                                                              \
		tstruct                                                                            \
		{                                                                                  \
			assign;                                                                    \
		}                                                                                  \
		vestige_ops_->commit(__data, &vestige_slot_);                                      \
	}
#define VESTIGE_EVENT_MAX_ 4096u

#undef __dynamic_array
#undef __rel_dynamic_array
#undef __string
#undef __string_len
#undef __vstring
#undef __bitmask
#undef __cpumask
#undef __sockaddr
#undef __rel_string
#undef __rel_string_len
#undef __rel_vstring
#undef __rel_bitmask
#undef __rel_cpumask
#undef __rel_sockaddr
#undef VESTIGE_PART_
#undef VESTIGE_REL_PART_
#define VESTIGE_PART_(item)		     __entry->__data_loc_##item = __data_offsets.item;
#define VESTIGE_REL_PART_(item)		     __entry->__rel_loc_##item = __data_offsets.item;
#define __dynamic_array(type, item, len)     VESTIGE_PART_(item)
#define __rel_dynamic_array(type, item, len) VESTIGE_REL_PART_(item)
#define __string(item, src)		     VESTIGE_PART_(item)
#define __string_len(item, src, len)	     VESTIGE_PART_(item)
#define __vstring(item, fmt, ap)	     VESTIGE_PART_(item)
#define __bitmask(item, nr_bits)	     VESTIGE_PART_(item)
#define __cpumask(item)			     VESTIGE_PART_(item)
#define __sockaddr(item, len)		     VESTIGE_PART_(item)
#define __rel_string(item, src)		     VESTIGE_REL_PART_(item)
#define __rel_string_len(item, src, len)     VESTIGE_REL_PART_(item)
#define __rel_vstring(item, fmt, ap)	     VESTIGE_REL_PART_(item)
#define __rel_bitmask(item, nr_bits)	     VESTIGE_REL_PART_(item)
#define __rel_cpumask(item)		     VESTIGE_REL_PART_(item)
#define __rel_sockaddr(item, len)	     VESTIGE_REL_PART_(item)

/* Macros for TP_fast_assign(). */
#undef __entry
#define __entry entry
#define __get_dynamic_array(item)	 ((void *)((char *)__entry + (__entry->__data_loc_##item & 0xffff)))
#define __get_dynamic_array_len(item)	 (__entry->__data_loc_##item >> 16)
#define __get_rel_dynamic_array(item)                                                              \
	((void *)((char *)__entry + offsetof(__typeof__(*__entry), __rel_loc_##item) +             \
		  sizeof(uint32_t) + (__entry->__rel_loc_##item & 0xffff)))
#define __get_rel_dynamic_array_len(item) (__entry->__rel_loc_##item >> 16)
#define __get_str(item)		   ((char *)__get_dynamic_array(item))
#define __get_rel_str(item)	   ((char *)__get_rel_dynamic_array(item))
#define __get_sockaddr(item)	   ((struct sockaddr *)__get_dynamic_array(item))
#define __get_rel_sockaddr(item)   ((struct sockaddr *)__get_rel_dynamic_array(item))
#define __get_bitmask(item)	   __get_dynamic_array(item)
#define __get_rel_bitmask(item)	   __get_rel_dynamic_array(item)
#define __get_cpumask(item)	   __get_dynamic_array(item)
#define __get_rel_cpumask(item)	   __get_rel_dynamic_array(item)
/* Up to Linux 6.9 there is a second argument, the same as in __string(). It is ignored. */
#define __assign_str(item, src...)                                                                 \
	vestige_put_string_(__get_str(item), __get_dynamic_array_len(item),                        \
			    __data_offsets.item##_ptr_)
#define __assign_str_len(item, src, len) __assign_str(item)
#define __assign_vstr(item, fmt, ap)                                                               \
	do {                                                                                       \
		va_list vestige_ap_;                                                               \
		va_copy(vestige_ap_, *(ap));                                                       \
		vsnprintf(__get_str(item), __get_dynamic_array_len(item), fmt, vestige_ap_);       \
		va_end(vestige_ap_);                                                               \
	} while (0)
#define __assign_bitmask(item, src, nr_bits)                                                       \
	memcpy(__get_bitmask(item), (src), VESTIGE_BITMAP_BYTES_(nr_bits))
#define __assign_cpumask(item, src)	  __assign_bitmask(item, src, nr_cpumask_bits)
#define __assign_sockaddr(item, src, len) memcpy(__get_dynamic_array(item), (src), (len))
#define __assign_rel_str(item, src...)                                                             \
	vestige_put_string_(__get_rel_str(item), __get_rel_dynamic_array_len(item),                \
			    __data_offsets.item##_ptr_)
#define __assign_rel_str_len(item, src, len) __assign_rel_str(item)
#define __assign_rel_bitmask(item, src, nr_bits)                                                   \
	memcpy(__get_rel_bitmask(item), (src), VESTIGE_BITMAP_BYTES_(nr_bits))
#define __assign_rel_cpumask(item, src)	      __assign_rel_bitmask(item, src, nr_cpumask_bits)
#define __assign_rel_sockaddr(item, src, len) memcpy(__get_rel_dynamic_array(item), (src), (len))

#include VESTIGE_INCLUDE_(TRACE_INCLUDE_FILE)

#undef __get_dynamic_array
#undef __get_dynamic_array_len
#undef __get_rel_dynamic_array
#undef __get_rel_dynamic_array_len
#undef __get_str
#undef __get_rel_str
#undef __get_sockaddr
#undef __get_rel_sockaddr
#undef __get_bitmask
#undef __get_rel_bitmask
#undef __get_cpumask
#undef __get_rel_cpumask
#undef __assign_str
#undef __assign_str_len
#undef __assign_vstr
#undef __assign_bitmask
#undef __assign_cpumask
#undef __assign_sockaddr
#undef __assign_rel_str
#undef __assign_rel_str_len
#undef __assign_rel_bitmask
#undef __assign_rel_cpumask
#undef __assign_rel_sockaddr
#undef VESTIGE_EVENT_MAX_

/* ---- 6: fields and print formats ---- */
#undef DECLARE_EVENT_CLASS
#undef TP_printk
#undef VESTIGE_OWN_PRINT_
#undef __entry
#define __entry REC
#define TP_printk(fmt, args...) "\"" fmt "\", " VESTIGE_STR_(args)
#define VESTIGE_OWN_PRINT_(name, print) static const char vestige_print_##name[] = print;
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)                             \
	static const char vestige_print_##name[] __attribute__((unused)) = print;                  \
	static VESTIGE_NOTRACE_ const struct vestige_event_field *vestige_fields_##name(void)      \
	{                                                                                          \
		typedef struct trace_event_raw_##name vestige_raw_ __attribute__((unused));        \
		static const struct vestige_event_field fields[] = {                               \
			tstruct {NULL, NULL, 0, 0, 0, 0, 0}};                                      \
		return fields;                                                                     \
	}

#undef __field
#undef __field_ext
#undef __field_struct
#undef __field_struct_ext
#undef __array
#undef __dynamic_array
#undef __rel_dynamic_array
#undef __string
#undef __string_len
#undef __vstring
#undef __bitmask
#undef __cpumask
#undef __sockaddr
#undef __rel_string
#undef __rel_string_len
#undef __rel_vstring
#undef __rel_bitmask
#undef __rel_cpumask
#undef __rel_sockaddr
#undef VESTIGE_PART_
#undef VESTIGE_REL_PART_
#define VESTIGE_FIELD_(type_text, type_size, item, item_offset, is_signed, filter)                 \
	{type_text, #item, (uint32_t)(type_size), (uint32_t)(item_offset), is_signed, filter, 0},
#define __field_ext(type, item, filter_type)                                                       \
	VESTIGE_FIELD_(#type, sizeof(type), item, offsetof(vestige_raw_, item),                    \
		       VESTIGE_SIGNED_(type), filter_type)
#define __field(type, item) __field_ext(type, item, FILTER_OTHER)
#define __field_struct_ext(type, item, filter_type)                                                \
	VESTIGE_FIELD_(#type, sizeof(type), item, offsetof(vestige_raw_, item), 0, filter_type)
#define __field_struct(type, item) __field_struct_ext(type, item, FILTER_OTHER)
#define __array(type, item, len)                                                                   \
	VESTIGE_FIELD_(#type "[" VESTIGE_STR_(len) "]", sizeof(type[len]), item,                   \
		       offsetof(vestige_raw_, item), VESTIGE_SIGNED_(type), FILTER_OTHER)
#define __dynamic_array(type, item, len)                                                           \
	VESTIGE_FIELD_("__data_loc " #type "[]", 4, item,                                          \
		       offsetof(vestige_raw_, __data_loc_##item), VESTIGE_SIGNED_(type),           \
		       FILTER_OTHER)
#define __rel_dynamic_array(type, item, len)                                                       \
	VESTIGE_FIELD_("__rel_loc " #type "[]", 4, item,                                           \
		       offsetof(vestige_raw_, __rel_loc_##item), VESTIGE_SIGNED_(type),            \
		       FILTER_OTHER)
#define __string(item, src)	     __dynamic_array(char, item, -1)
#define __string_len(item, src, len) __dynamic_array(char, item, -1)
#define __vstring(item, fmt, ap)     __dynamic_array(char, item, -1)
#define __bitmask(item, nr_bits)     __dynamic_array(unsigned long, item, -1)
#define __cpumask(item)                                                                            \
	VESTIGE_FIELD_("__data_loc cpumask_t", 4, item,                                            \
		       offsetof(vestige_raw_, __data_loc_##item), 0, FILTER_OTHER)
#define __sockaddr(item, len)                                                                      \
	VESTIGE_FIELD_("__data_loc u8[]", 4, item, offsetof(vestige_raw_, __data_loc_##item), 0,   \
		       FILTER_OTHER)
#define __rel_string(item, src)		 __rel_dynamic_array(char, item, -1)
#define __rel_string_len(item, src, len) __rel_dynamic_array(char, item, -1)
#define __rel_vstring(item, fmt, ap)	 __rel_dynamic_array(char, item, -1)
#define __rel_bitmask(item, nr_bits)	 __rel_dynamic_array(unsigned long, item, -1)
#define __rel_cpumask(item)                                                                        \
	VESTIGE_FIELD_("__rel_loc cpumask_t", 4, item, offsetof(vestige_raw_, __rel_loc_##item),   \
		       0, FILTER_OTHER)
#define __rel_sockaddr(item, len)                                                                  \
	VESTIGE_FIELD_("__rel_loc u8[]", 4, item, offsetof(vestige_raw_, __rel_loc_##item), 0,     \
		       FILTER_OTHER)

#include VESTIGE_INCLUDE_(TRACE_INCLUDE_FILE)

/* ---- 7: what libvestige finds ---- */
#undef DECLARE_EVENT_CLASS
#undef VESTIGE_OWN_PRINT_
#undef VESTIGE_EVENT_OF_
#define VESTIGE_OWN_PRINT_(name, print)
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)
#define VESTIGE_EVENT_OF_(template, event, reg, unreg, print, proto_of)                            \
	static struct vestige_event vestige_event_##event = {                                      \
		sizeof(struct vestige_event),                                                      \
		0,                                                                                 \
		VESTIGE_STR_(TRACE_SYSTEM),                                                        \
		#event,                                                                            \
		&__tracepoint_##event,                                                             \
		(void *)trace_event_raw_event_##template,                                          \
		vestige_fields_##template,                                                         \
		print,                                                                             \
		NULL};                                                                             \
	VESTIGE_ITEM_(event_##event, VESTIGE_ITEM_EVENT, &vestige_event_##event);

#include VESTIGE_INCLUDE_(TRACE_INCLUDE_FILE)

/* Undefine the names; the next inclusion of tracepoint.h defines them to declare events. */
#undef __entry
#undef __field
#undef __field_ext
#undef __field_struct
#undef __field_struct_ext
#undef __array
#undef __dynamic_array
#undef __rel_dynamic_array
#undef __string
#undef __string_len
#undef __vstring
#undef __bitmask
#undef __cpumask
#undef __sockaddr
#undef __rel_string
#undef __rel_string_len
#undef __rel_vstring
#undef __rel_bitmask
#undef __rel_cpumask
#undef __rel_sockaddr
#undef VESTIGE_FIELD_
#undef VESTIGE_OWN_PRINT_
#undef VESTIGE_EVENT_OF_
#undef TP_STRUCT__entry
#undef TP_fast_assign
#undef TP_perf_assign
#undef TP_printk
#undef TRACE_EVENT
#undef TRACE_EVENT_CONDITION
#undef TRACE_EVENT_FN
#undef TRACE_EVENT_FN_COND
#undef TRACE_EVENT_NOP
#undef DECLARE_EVENT_CLASS
#undef DECLARE_EVENT_CLASS_NOP
#undef DECLARE_EVENT_NOP
#undef DEFINE_EVENT
#undef DEFINE_EVENT_PRINT
#undef DEFINE_EVENT_FN
#undef DEFINE_EVENT_CONDITION
#undef DEFINE_EVENT_NOP
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION
#undef TRACE_EVENT_FLAGS
#undef TRACE_EVENT_PERF_PERM
#undef TRACE_DEFINE_ENUM
#undef TRACE_DEFINE_SIZEOF
/* clang-format on */
