/* SPDX-License-Identifier: MIT */
/*
 * Events that take one line, for programs that do not need TRACE_EVENT():
 *
 *	VESTIGE_EVENT(shop, order, (int, number), (const char *, item));
 *	...
 *		trace_order(17, "tea");
 *
 * The line defines events/shop/order, with a field for each pair (TYPE, NAME), and trace_order().
 * There may be 0 to 8 pairs. Types are numbers, pointers and strings (`char *`, `const char *`);
 * strings are copied. Write the line in one source file, outside functions. Other files declare the
 * functions that they call:
 *
 *	DECLARE_TRACE(order, TP_PROTO(int number, const char *item), TP_ARGS(number, item));
 */
#ifndef VESTIGE_EVENT_H
#define VESTIGE_EVENT_H
#pragma GCC system_header

#include <vestige/tracepoint.h>
#include <vestige/trace_types.h>
/* clang-format off */

/*
 * VESTIGE_COUNT_(): the number of pairs. VESTIGE_EACH_N(): applies the macro @m to each of N pairs.
 */
#define VESTIGE_COUNT__(a, b, c, d, e, f, g, h, i, n, ...) n
#define VESTIGE_COUNT_(...) VESTIGE_COUNT__(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define VESTIGE_EACH_0(m, sep)
#define VESTIGE_EACH_1(m, sep, a)      m a
#define VESTIGE_EACH_2(m, sep, a, ...) m a sep() VESTIGE_EACH_1(m, sep, __VA_ARGS__)
#define VESTIGE_EACH_3(m, sep, a, ...) m a sep() VESTIGE_EACH_2(m, sep, __VA_ARGS__)
#define VESTIGE_EACH_4(m, sep, a, ...) m a sep() VESTIGE_EACH_3(m, sep, __VA_ARGS__)
#define VESTIGE_EACH_5(m, sep, a, ...) m a sep() VESTIGE_EACH_4(m, sep, __VA_ARGS__)
#define VESTIGE_EACH_6(m, sep, a, ...) m a sep() VESTIGE_EACH_5(m, sep, __VA_ARGS__)
#define VESTIGE_EACH_7(m, sep, a, ...) m a sep() VESTIGE_EACH_6(m, sep, __VA_ARGS__)
#define VESTIGE_EACH_8(m, sep, a, ...) m a sep() VESTIGE_EACH_7(m, sep, __VA_ARGS__)
#define VESTIGE_COMMA_() ,
#define VESTIGE_BLANK_()

/* What a pair expands to, in each part of the definition. */
#define VESTIGE_PAIR_PROTO_(type, item)	 type item
#define VESTIGE_PAIR_NAME_(type, item)	 item
#define VESTIGE_PAIR_MEMBER_(type, item) VESTIGE_SLOT_(type) item;
#define VESTIGE_PAIR_BYTES_(type, item)                                                            \
	if (VESTIGE_IS_STRING_(type))                                                              \
		vestige_bytes_ += vestige_string_bytes_(*(const void *const *)&item);
#define VESTIGE_PAIR_ASSIGN_(type, item)                                                           \
	if (VESTIGE_IS_STRING_(type)) {                                                            \
		const void *vestige_s_ = *(const void *const *)&item;                              \
		uint32_t vestige_n_ = (uint32_t)vestige_string_bytes_(vestige_s_);                 \
		uint32_t vestige_w_ = vestige_at_ | vestige_n_ << 16;                              \
                                                                                                   \
		memcpy(&vestige_e_->item, &vestige_w_, sizeof(vestige_e_->item) < 4 ? 1 : 4);      \
		vestige_put_string_((char *)vestige_e_ + vestige_at_, vestige_n_, vestige_s_);     \
		vestige_at_ += vestige_n_;                                                         \
	} else {                                                                                   \
		memcpy(&vestige_e_->item, &item, sizeof(vestige_e_->item));                        \
	}
#define VESTIGE_PAIR_FIELD_(type, item)                                                            \
	{VESTIGE_IS_STRING_(type) ? "__data_loc char[]" : #type,                                   \
	 #item,                                                                                    \
	 (uint32_t)sizeof(VESTIGE_SLOT_(type)),                                                    \
	 (uint32_t)offsetof(vestige_raw_, item),                                                   \
	 VESTIGE_IS_STRING_(type) ? 0 : VESTIGE_SIGNED_(type),                                     \
	 FILTER_OTHER,                                                                             \
	 0},

#define VESTIGE_EVENT(system, name, pairs...)                                                      \
	VESTIGE_EVENT_N_(VESTIGE_COUNT_(0, ##pairs), system, name, ##pairs)
#define VESTIGE_EVENT_N_(n, system, name, pairs...)                                                \
	VESTIGE_CAT_(VESTIGE_EVENT_ARGS_, n)(n, system, name, ##pairs)
#define VESTIGE_EVENT_ARGS_0(n, system, name)                                                      \
	VESTIGE_DECLARE_WITH_(name, void, , 1, void *data, vestige_f_->data);                      \
	VESTIGE_EVENT_MAKE_(n, system, name, void *vestige_file_)
#define VESTIGE_EVENT_ARGS_(n, system, name, pairs...)                                             \
	VESTIGE_DECLARE_TRACE_(                                                                    \
		name,                                                                              \
		PARAMS(VESTIGE_CAT_(VESTIGE_EACH_, n)(VESTIGE_PAIR_PROTO_, VESTIGE_COMMA_,         \
						      ##pairs)),                                   \
		PARAMS(VESTIGE_CAT_(VESTIGE_EACH_, n)(VESTIGE_PAIR_NAME_, VESTIGE_COMMA_,          \
						      ##pairs)),                                   \
		1);                                                                                \
	VESTIGE_EVENT_MAKE_(n, system, name,                                                       \
			    PARAMS(void *vestige_file_,                                            \
				   VESTIGE_CAT_(VESTIGE_EACH_, n)(VESTIGE_PAIR_PROTO_,             \
								  VESTIGE_COMMA_, ##pairs)),       \
			    ##pairs)
#define VESTIGE_EVENT_ARGS_1 VESTIGE_EVENT_ARGS_
#define VESTIGE_EVENT_ARGS_2 VESTIGE_EVENT_ARGS_
#define VESTIGE_EVENT_ARGS_3 VESTIGE_EVENT_ARGS_
#define VESTIGE_EVENT_ARGS_4 VESTIGE_EVENT_ARGS_
#define VESTIGE_EVENT_ARGS_5 VESTIGE_EVENT_ARGS_
#define VESTIGE_EVENT_ARGS_6 VESTIGE_EVENT_ARGS_
#define VESTIGE_EVENT_ARGS_7 VESTIGE_EVENT_ARGS_
#define VESTIGE_EVENT_ARGS_8 VESTIGE_EVENT_ARGS_

#define VESTIGE_EVENT_MAKE_(n, system, name, probe_proto, pairs...)                                \
	struct vestige_raw_##name {                                                                \
		struct trace_entry ent;                                                            \
		VESTIGE_CAT_(VESTIGE_EACH_, n)(VESTIGE_PAIR_MEMBER_, VESTIGE_BLANK_, ##pairs)      \
		char vestige_data_[];                                                              \
	};                                                                                         \
	static __attribute__((noinline)) VESTIGE_NOTRACE_ void vestige_probe_##name(probe_proto)   \
	{                                                                                          \
		const struct vestige_event_ops *vestige_ops_ =                                     \
			((struct vestige_event_file *)vestige_file_)->ops;                         \
		struct vestige_event_slot vestige_slot_;                                           \
		struct vestige_raw_##name *vestige_e_;                                             \
		uint32_t vestige_at_ = (uint32_t)offsetof(struct vestige_raw_##name,               \
							  vestige_data_);                          \
		size_t vestige_bytes_ = sizeof(*vestige_e_);                                       \
                                                                                                   \
		VESTIGE_CAT_(VESTIGE_EACH_, n)(VESTIGE_PAIR_BYTES_, VESTIGE_BLANK_, ##pairs)       \
		vestige_slot_.scratch =                                                            \
			vestige_bytes_ > 4096 ? NULL                                               \
					      : __builtin_alloca_with_align(vestige_bytes_, 64);   \
		vestige_e_ = (struct vestige_raw_##name *)vestige_ops_->reserve(                   \
			vestige_file_, &vestige_slot_,                                             \
			(uint32_t)(vestige_bytes_ < 65536 ? vestige_bytes_ : 65536));              \
		if (!vestige_e_)                                                                   \
			return;                                                                    \
		(void)vestige_at_;                                                                 \
		VESTIGE_CAT_(VESTIGE_EACH_, n)(VESTIGE_PAIR_ASSIGN_, VESTIGE_BLANK_, ##pairs)      \
		vestige_ops_->commit(vestige_file_, &vestige_slot_);                               \
	}                                                                                          \
	static VESTIGE_NOTRACE_ const struct vestige_event_field *vestige_fields_##name(void)      \
	{                                                                                          \
		typedef struct vestige_raw_##name vestige_raw_ __attribute__((unused));            \
		static const struct vestige_event_field fields[] = {                               \
			VESTIGE_CAT_(VESTIGE_EACH_, n)(VESTIGE_PAIR_FIELD_, VESTIGE_BLANK_,        \
						       ##pairs) {NULL, NULL, 0, 0, 0, 0, 0}};      \
		return fields;                                                                     \
	}                                                                                          \
	VESTIGE_DEFINE_TRACE_(name, NULL, NULL);                                                   \
	static struct vestige_event vestige_event_##name = {sizeof(struct vestige_event),          \
							    0,                                     \
							    #system,                               \
							    #name,                                 \
							    &__tracepoint_##name,                  \
							    (void *)vestige_probe_##name,          \
							    vestige_fields_##name,                 \
							    NULL,                                  \
							    NULL};                                 \
	VESTIGE_ITEM_(event_##name, VESTIGE_ITEM_EVENT, &vestige_event_##name);                    \
	VESTIGE_ITEMS_NOTE_

/* clang-format on */
#endif
