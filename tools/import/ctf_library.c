/* SPDX-License-Identifier: MIT */
/*
 * See ctf_library.h. A graph of the library: a source for each folder, a muxer that puts their
 * messages in order of time, and a sink of ours. The texts of fields are as `babeltrace2` prints
 * them. Tests: tests/cli/test_import_ctf.py.
 */
#include "tools/import/ctf_library.h"

#include <babeltrace2/babeltrace.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/late_library.h"

#define MAX_CPUS 4096u
#define NESTING	 64u
#define NS_PER_S 1000000000

#define FUNCTIONS(X)                                                                               \
	X(plugin_find)                                                                             \
	X(plugin_borrow_source_component_class_by_name_const)                                      \
	X(plugin_borrow_filter_component_class_by_name_const)                                      \
	X(value_map_create)                                                                        \
	X(value_map_insert_empty_array_entry)                                                      \
	X(value_array_append_string_element)                                                       \
	X(graph_create)                                                                            \
	X(graph_add_source_component)                                                              \
	X(graph_add_filter_component)                                                              \
	X(graph_add_simple_sink_component)                                                         \
	X(graph_connect_ports)                                                                     \
	X(graph_run)                                                                               \
	X(component_source_get_output_port_count)                                                  \
	X(component_source_borrow_output_port_by_index_const)                                      \
	X(component_filter_get_input_port_count)                                                   \
	X(component_filter_borrow_input_port_by_index_const)                                       \
	X(component_filter_borrow_output_port_by_index_const)                                      \
	X(component_sink_borrow_input_port_by_index_const)                                         \
	X(message_iterator_next)                                                                   \
	X(message_get_type)                                                                        \
	X(message_put_ref)                                                                         \
	X(message_event_borrow_event_const)                                                        \
	X(message_event_borrow_default_clock_snapshot_const)                                       \
	X(message_event_borrow_stream_class_default_clock_class_const)                             \
	X(message_discarded_events_get_count)                                                      \
	X(clock_snapshot_get_ns_from_origin)                                                       \
	X(clock_class_get_offset)                                                                  \
	X(clock_class_get_frequency)                                                               \
	X(event_borrow_class_const)                                                                \
	X(event_borrow_packet_const)                                                               \
	X(event_borrow_stream_const)                                                               \
	X(event_borrow_common_context_field_const)                                                 \
	X(event_borrow_specific_context_field_const)                                               \
	X(event_borrow_payload_field_const)                                                        \
	X(event_class_get_name)                                                                    \
	X(stream_borrow_class_const)                                                               \
	X(stream_class_supports_packets)                                                           \
	X(packet_borrow_context_field_const)                                                       \
	X(field_get_class_type)                                                                    \
	X(field_borrow_class_const)                                                                \
	X(field_class_integer_get_preferred_display_base)                                          \
	X(field_bool_get_value)                                                                    \
	X(field_bit_array_get_value_as_integer)                                                    \
	X(field_integer_unsigned_get_value)                                                        \
	X(field_integer_signed_get_value)                                                          \
	X(field_real_single_precision_get_value)                                                   \
	X(field_real_double_precision_get_value)                                                   \
	X(field_enumeration_unsigned_get_mapping_labels)                                           \
	X(field_enumeration_signed_get_mapping_labels)                                             \
	X(field_string_get_value)                                                                  \
	X(field_array_get_length)                                                                  \
	X(field_array_borrow_element_field_by_index_const)                                         \
	X(field_structure_borrow_member_field_by_index_const)                                      \
	X(field_structure_borrow_member_field_by_name_const)                                       \
	X(field_class_structure_get_member_count)                                                  \
	X(field_class_structure_borrow_member_by_index_const)                                      \
	X(field_class_structure_member_get_name)                                                   \
	X(field_option_borrow_field_const)                                                         \
	X(field_variant_borrow_selected_option_field_const)                                        \
	X(current_thread_take_error)                                                               \
	X(error_get_cause_count)                                                                   \
	X(error_borrow_cause_by_index)                                                             \
	X(error_cause_get_message)

static struct {
#define POINTER(name) __typeof__(&bt_##name) name;
	FUNCTIONS(POINTER)
#undef POINTER
} bt;

struct text {
	size_t nr;
	char at[CTF_TEXT_BYTES];
};

/* The thread that the kernel's sched_switch has put on a CPU; for traces without contexts. */
struct running {
	bool known;
	int64_t tid;
	char comm[64];
};

struct run {
	int fd;
	bool closed; /* the reader has closed the other end of @fd */
	uint64_t nr_events, lost;
	struct text name, comm, text;
	struct running running[MAX_CPUS];
};

/* See @patience_s; the handler of SIGPROF and the sink use them. */
static volatile sig_atomic_t silent_s;
static unsigned int patience;

static void second_passed(int sig)
{
	(void)sig;
	if ((unsigned int)++silent_s >= patience)
		_exit(CTF_STUCK_STATUS);
}

static void watch(unsigned int patience_s)
{
	struct sigaction sa = {.sa_handler = second_passed, .sa_flags = SA_RESTART};
	const struct itimerval second = {{1, 0}, {1, 0}};

	patience = patience_s;
	sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &second, NULL);
}

static void put(struct text *t, const char *text, size_t n)
{
	size_t room = sizeof(t->at) - 1 - t->nr;

	memcpy(t->at + t->nr, text, n < room ? n : room);
	t->nr += n < room ? n : room;
	t->at[t->nr] = '\0';
}

static void put_text(struct text *t, const char *text)
{
	put(t, text, strlen(text));
}

static void set_text(struct text *t, const char *text)
{
	t->nr = 0;
	put_text(t, text ? text : "");
}

static void __attribute__((format(printf, 2, 3))) put_printf(struct text *t, const char *fmt, ...)
{
	char buf[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(buf, sizeof(buf), fmt, args);
	va_end(args);
	put_text(t, buf);
}

static bool write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

static void write_item(struct run *run, struct ctf_item *item)
{
	static char buf[sizeof(*item) + 3 * CTF_TEXT_BYTES];
	char *end = buf + sizeof(*item);

	item->name_bytes = (uint32_t)run->name.nr;
	item->comm_bytes = (uint32_t)run->comm.nr;
	item->text_bytes = (uint32_t)run->text.nr;
	memcpy(buf, item, sizeof(*item));
	end = mempcpy(end, run->name.at, run->name.nr);
	end = mempcpy(end, run->comm.at, run->comm.nr);
	end = mempcpy(end, run->text.at, run->text.nr);
	if (!write_all(run->fd, buf, (size_t)(end - buf)))
		run->closed = true;
}

static void put_quoted(struct text *t, const char *s)
{
	put_text(t, "\"");
	for (; *s; s++) {
		static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";
		const char *at = strchr(from, *s);

		if (at)
			put_printf(t, "\\%c", to[at - from]);
		else
			put(t, s, 1);
	}
	put_text(t, "\"");
}

static void put_unsigned(struct text *t, uint64_t v,
			 bt_field_class_integer_preferred_display_base base)
{
	switch (base) {
	case BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_BINARY:
		put_text(t, "0b");
		for (unsigned int bit = v ? 64u - (unsigned int)__builtin_clzll(v) : 1; bit--;)
			put_text(t, v >> bit & 1 ? "1" : "0");
		return;
	case BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_OCTAL:
		put_printf(t, "0%" PRIo64, v);
		return;
	case BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL:
		put_printf(t, "0x%" PRIX64, v);
		return;
	default:
		put_printf(t, "%" PRIu64, v);
	}
}

static void put_labels(struct text *t, const bt_field *f, bt_field_class_type type)
{
	bt_field_class_enumeration_mapping_label_array labels = NULL;
	uint64_t nr = 0;

	if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION)
		(void)bt.field_enumeration_unsigned_get_mapping_labels(f, &labels, &nr);
	else
		(void)bt.field_enumeration_signed_get_mapping_labels(f, &labels, &nr);
	put_text(t, "( ");
	if (!nr)
		put_text(t, "<unknown>");
	else if (nr > 1)
		put_text(t, "{ ");
	for (uint64_t i = 0; i < nr; i++) {
		put_text(t, i ? ", " : "");
		put_quoted(t, labels[i]);
	}
	put_text(t, nr > 1 ? " } : container = " : " : container = ");
}

static bool is_unsigned(bt_field_class_type type)
{
	return type == BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER ||
	       type == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION;
}

static bool is_signed(bt_field_class_type type)
{
	return type == BT_FIELD_CLASS_TYPE_SIGNED_INTEGER ||
	       type == BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION;
}

static bool is_structure(const bt_field *f)
{
	return f && bt.field_get_class_type(f) == BT_FIELD_CLASS_TYPE_STRUCTURE;
}

static void put_field(struct text *t, const bt_field *f, unsigned int depth);

static void put_members(struct text *t, const bt_field *f, unsigned int depth)
{
	const bt_field_class *class = bt.field_borrow_class_const(f);
	uint64_t nr = bt.field_class_structure_get_member_count(class);

	for (uint64_t i = 0; i < nr; i++) {
		put_text(t, i ? ", " : "");
		put_text(t,
			 bt.field_class_structure_member_get_name(
				 bt.field_class_structure_borrow_member_by_index_const(class, i)));
		put_text(t, " = ");
		put_field(t, bt.field_structure_borrow_member_field_by_index_const(f, i),
			  depth + 1);
	}
}

static void put_elements(struct text *t, const bt_field *f, unsigned int depth)
{
	uint64_t nr = bt.field_array_get_length(f);

	put_text(t, nr ? "[ " : "[ ]");
	for (uint64_t i = 0; i < nr && t->nr < sizeof(t->at) - 1; i++) {
		put_printf(t, "%s[%" PRIu64 "] = ", i ? ", " : "", i);
		put_field(t, bt.field_array_borrow_element_field_by_index_const(f, i), depth + 1);
	}
	put_text(t, nr ? " ]" : "");
}

static void put_integer(struct text *t, const bt_field *f, bt_field_class_type type)
{
	bt_field_class_integer_preferred_display_base base =
		bt.field_class_integer_get_preferred_display_base(bt.field_borrow_class_const(f));

	if (is_unsigned(type))
		put_unsigned(t, bt.field_integer_unsigned_get_value(f), base);
	else if (base == BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_DECIMAL)
		put_printf(t, "%" PRId64, bt.field_integer_signed_get_value(f));
	else
		put_unsigned(t, (uint64_t)bt.field_integer_signed_get_value(f), base);
}

static void put_field(struct text *t, const bt_field *f, unsigned int depth)
{
	bt_field_class_type type = bt.field_get_class_type(f);

	if (depth > NESTING) {
		put_text(t, "...");
	} else if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION ||
		   type == BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION) {
		put_labels(t, f, type);
		put_integer(t, f, type);
		put_text(t, " )");
	} else if (is_unsigned(type) || is_signed(type)) {
		put_integer(t, f, type);
	} else if (type == BT_FIELD_CLASS_TYPE_BOOL) {
		put_text(t, bt.field_bool_get_value(f) ? "true" : "false");
	} else if (type == BT_FIELD_CLASS_TYPE_BIT_ARRAY) {
		put_printf(t, "0x%" PRIX64, bt.field_bit_array_get_value_as_integer(f));
	} else if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL) {
		put_printf(t, "%g", (double)bt.field_real_single_precision_get_value(f));
	} else if (type == BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL) {
		put_printf(t, "%g", bt.field_real_double_precision_get_value(f));
	} else if (type == BT_FIELD_CLASS_TYPE_STRING) {
		put_quoted(t, bt.field_string_get_value(f));
	} else if (type == BT_FIELD_CLASS_TYPE_STRUCTURE) {
		put_text(t, "{ ");
		put_members(t, f, depth);
		put_text(t, " }");
	} else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY)) {
		put_elements(t, f, depth);
	} else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_OPTION)) {
		f = bt.field_option_borrow_field_const(f);
		if (f)
			put_field(t, f, depth + 1);
		else
			put_text(t, "<none>");
	} else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_VARIANT)) {
		put_text(t, "{ ");
		put_field(t, bt.field_variant_borrow_selected_option_field_const(f), depth + 1);
		put_text(t, " }");
	} else {
		put_text(t, "?");
	}
}

/* A member of a structure; NULL: there is none. */
static const bt_field *member(const bt_field *f, const char *name)
{
	return is_structure(f) ? bt.field_structure_borrow_member_field_by_name_const(f, name)
			       : NULL;
}

static bool number(const bt_field *f, const char *name, int64_t *v)
{
	const bt_field *m = member(f, name);
	bt_field_class_type type = m ? bt.field_get_class_type(m) : 0;

	if (m && is_unsigned(type))
		*v = (int64_t)bt.field_integer_unsigned_get_value(m);
	else if (m && is_signed(type))
		*v = bt.field_integer_signed_get_value(m);
	else
		return false;
	return true;
}

static const char *string(const bt_field *f, const char *name)
{
	const bt_field *m = member(f, name);

	return m && bt.field_get_class_type(m) == BT_FIELD_CLASS_TYPE_STRING
		       ? bt.field_string_get_value(m)
		       : NULL;
}

/* The label of a function's number in our own exports, else its address. */
static void name_function(struct run *run, const bt_field *payload, uint64_t addr)
{
	const bt_field *f = member(payload, "name");
	bt_field_class_enumeration_mapping_label_array labels;
	uint64_t nr = 0;

	run->name.nr = 0;
	if (f && bt.field_get_class_type(f) == BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION &&
	    bt.field_enumeration_unsigned_get_mapping_labels(f, &labels, &nr) ==
		    BT_FIELD_ENUMERATION_GET_MAPPING_LABELS_STATUS_OK &&
	    nr)
		put_text(&run->name, labels[0]);
	else
		put_printf(&run->name, "0x%" PRIx64, addr);
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* The event's thread: by its context, else the thread to which the CPU was switched. */
static void take_thread(struct run *run, const bt_event *ev, struct ctf_item *item)
{
	const bt_field *contexts[] = {bt.event_borrow_common_context_field_const(ev),
				      bt.event_borrow_specific_context_field_const(ev)};
	const struct running *r = item->cpu < MAX_CPUS ? &run->running[item->cpu] : NULL;

	item->pid = item->tid = CTF_NO_THREAD;
	set_text(&run->comm, NULL);
	for (unsigned int i = 0; i < 2; i++) {
		const char *comm = string(contexts[i], "procname");

		(void)(number(contexts[i], "vpid", &item->pid) ||
		       number(contexts[i], "pid", &item->pid));
		(void)(number(contexts[i], "vtid", &item->tid) ||
		       number(contexts[i], "tid", &item->tid));
		if (comm)
			set_text(&run->comm, comm);
	}
	if (item->tid == CTF_NO_THREAD && item->pid != CTF_NO_THREAD)
		item->tid = item->pid;
	if (item->tid == CTF_NO_THREAD && r && r->known) {
		item->tid = r->tid;
		if (!run->comm.nr)
			set_text(&run->comm, r->comm);
	}
}

static void take_switch(struct run *run, const bt_field *payload, uint32_t cpu)
{
	const char *comm = string(payload, "next_comm");
	struct running *r = cpu < MAX_CPUS ? &run->running[cpu] : NULL;

	if (!r || !(number(payload, "next_tid", &r->tid) || number(payload, "next_pid", &r->tid)))
		return;
	r->known = true;
	snprintf(r->comm, sizeof(r->comm), "%s", comm ? comm : "");
}

static void take_time(struct run *run, const bt_message *msg, struct ctf_item *item)
{
	const bt_clock_class *clock =
		bt.message_event_borrow_stream_class_default_clock_class_const(msg);
	int64_t seconds = 0;
	uint64_t cycles = 0, frequency;

	item->ns = (int64_t)run->nr_events; /* without a clock: their order */
	if (!clock)
		return;
	if (bt.clock_snapshot_get_ns_from_origin(
		    bt.message_event_borrow_default_clock_snapshot_const(msg), &item->ns) !=
	    BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		item->ns = INT64_MAX;
	bt.clock_class_get_offset(clock, &seconds, &cycles);
	frequency = bt.clock_class_get_frequency(clock);
	if (seconds < INT64_MAX / NS_PER_S && seconds > INT64_MIN / NS_PER_S && frequency)
		item->origin_ns = seconds * NS_PER_S + (int64_t)((unsigned __int128)cycles *
								 NS_PER_S / frequency % NS_PER_S);
}

static uint32_t cpu_of(const bt_event *ev)
{
	const bt_stream *stream = bt.event_borrow_stream_const(ev);
	int64_t cpu = 0;

	if (bt.stream_class_supports_packets(bt.stream_borrow_class_const(stream)))
		(void)number(bt.packet_borrow_context_field_const(bt.event_borrow_packet_const(ev)),
			     "cpu_id", &cpu);
	return cpu < 0 || cpu > UINT32_MAX ? 0 : (uint32_t)cpu;
}

static void take_event(struct run *run, const bt_message *msg)
{
	const bt_event *ev = bt.message_event_borrow_event_const(msg);
	const bt_field *payload = bt.event_borrow_payload_field_const(ev);
	const char *name = bt.event_class_get_name(bt.event_borrow_class_const(ev));
	struct ctf_item item = {.kind = CTF_EVENT, .cpu = cpu_of(ev)};
	int64_t addr = 0, caller = 0;

	run->nr_events++;
	take_time(run, msg, &item);
	take_thread(run, ev, &item);
	set_text(&run->name, name ? name : "[unnamed]");
	set_text(&run->text, NULL);
	if (number(payload, "addr", &addr) && begins(run->name.at, "lttng_ust_cyg_profile"))
		item.kind = strstr(run->name.at, ":func_entry")	 ? CTF_ENTER
			    : strstr(run->name.at, ":func_exit") ? CTF_LEAVE
								 : CTF_EVENT;
	else if (!strcmp(run->name.at, "vestige:function") && number(payload, "addr", &addr))
		item.kind = CTF_HIT;
	if (item.kind != CTF_EVENT) {
		(void)number(payload, "call_site", &caller);
		item.addr = (uint64_t)addr;
		item.caller = (uint64_t)caller;
		name_function(run, payload, item.addr);
	} else if (!strcmp(run->name.at, "vestige:print") && string(payload, "text")) {
		set_text(&run->name, "print");
		set_text(&run->text, string(payload, "text"));
	} else if (is_structure(payload)) {
		put_members(&run->text, payload, 0);
	}
	write_item(run, &item);
	if (!strcmp(run->name.at, "sched_switch"))
		take_switch(run, payload, item.cpu);
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *it,
								  void *arg)
{
	struct run *run = arg;
	bt_message_array_const msgs;
	uint64_t nr = 0, lost;
	bt_message_iterator_next_status status = bt.message_iterator_next(it, &msgs, &nr);

	silent_s = 0;
	if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return (bt_graph_simple_sink_component_consume_func_status)status;
	for (uint64_t i = 0; i < nr; i++) {
		bt_message_type type = bt.message_get_type(msgs[i]);

		if (type == BT_MESSAGE_TYPE_EVENT)
			take_event(run, msgs[i]);
		else if (type == BT_MESSAGE_TYPE_DISCARDED_EVENTS)
			run->lost += bt.message_discarded_events_get_count(msgs[i], &lost) ==
						     BT_PROPERTY_AVAILABILITY_AVAILABLE
					     ? lost
					     : 1;
		bt.message_put_ref(msgs[i]);
	}
	return run->closed ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END
			   : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

static void end_run(struct run *run, uint32_t kind)
{
	run->name.nr = run->comm.nr = 0;
	if (run->lost) {
		struct text why = run->text;

		run->text.nr = 0;
		write_item(run, &(struct ctf_item){.kind = CTF_LOST, .addr = run->lost});
		run->text = why;
	}
	if (kind == CTF_END)
		run->text.nr = 0;
	write_item(run, &(struct ctf_item){.kind = kind});
}

/* End with the library's own error message, the first cause. */
static void end_error(struct run *run, const char *what)
{
	const bt_error *error =
		bt.current_thread_take_error ? bt.current_thread_take_error() : NULL;

	set_text(&run->text, what);
	if (error && bt.error_get_cause_count(error)) {
		put_text(&run->text, ": ");
		put_text(&run->text,
			 bt.error_cause_get_message(bt.error_borrow_cause_by_index(error, 0)));
	}
	end_run(run, CTF_ERROR);
}

static bool load(struct run *run)
{
#define FUNCTION(name) {"bt_" #name, &bt.name},
	static const struct late_function functions[] = {FUNCTIONS(FUNCTION)};
#undef FUNCTION

	if (late_library(BABELTRACE_SONAME, functions, sizeof(functions) / sizeof(*functions),
			 "CTF needs babeltrace2's library (libbabeltrace2-0)")) {
		end_error(run, fail_text());
		return false;
	}
	/* its plug-ins need its functions in the global scope */
	return dlopen(BABELTRACE_SONAME, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

static bool connect(bt_graph *graph, const bt_component_source *from,
		    const bt_component_filter *muxer)
{
	uint64_t nr = bt.component_source_get_output_port_count(from);

	for (uint64_t i = 0; i < nr; i++) {
		uint64_t last = bt.component_filter_get_input_port_count(muxer) - 1;

		if (bt.graph_connect_ports(
			    graph, bt.component_source_borrow_output_port_by_index_const(from, i),
			    bt.component_filter_borrow_input_port_by_index_const(muxer, last),
			    NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return false;
	}
	return true;
}

static bool add_source(bt_graph *graph, const bt_component_class_source *class, const char *folder,
		       size_t i, const bt_component_filter *muxer)
{
	bt_value *params = bt.value_map_create(), *inputs;
	const bt_component_source *source;
	char name[32];

	snprintf(name, sizeof(name), "source%zu", i);
	return params &&
	       bt.value_map_insert_empty_array_entry(params, "inputs", &inputs) ==
		       BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
	       bt.value_array_append_string_element(inputs, folder) ==
		       BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK &&
	       bt.graph_add_source_component(graph, class, name, params, BT_LOGGING_LEVEL_NONE,
					     &source) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
	       connect(graph, source, muxer);
}

/* Return: NULL, or a text: the step that failed. The graph lives as long as the process. */
static const char *make_graph(struct run *run, const char *const *folders, size_t nr,
			      bt_graph **graph)
{
	const bt_plugin *ctf, *utils;
	const bt_component_class_source *source;
	const bt_component_class_filter *muxer_class;
	const bt_component_filter *muxer;
	const bt_component_sink *sink;

	if (bt.plugin_find("ctf", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &ctf) !=
		    BT_PLUGIN_FIND_STATUS_OK ||
	    bt.plugin_find("utils", BT_TRUE, BT_FALSE, BT_TRUE, BT_TRUE, BT_FALSE, &utils) !=
		    BT_PLUGIN_FIND_STATUS_OK)
		return "babeltrace2's plug-ins ctf and utils cannot be loaded";
	source = bt.plugin_borrow_source_component_class_by_name_const(ctf, "fs");
	muxer_class = bt.plugin_borrow_filter_component_class_by_name_const(utils, "muxer");
	*graph = bt.graph_create(0);
	if (!source || !muxer_class || !*graph ||
	    bt.graph_add_filter_component(*graph, muxer_class, "muxer", NULL, BT_LOGGING_LEVEL_NONE,
					  &muxer) != BT_GRAPH_ADD_COMPONENT_STATUS_OK ||
	    bt.graph_add_simple_sink_component(*graph, "sink", NULL, consume, NULL, run, &sink) !=
		    BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return "babeltrace2's graph cannot be made";
	for (size_t i = 0; i < nr; i++)
		if (!add_source(*graph, source, folders[i], i, muxer))
			return folders[i];
	if (bt.graph_connect_ports(*graph,
				   bt.component_filter_borrow_output_port_by_index_const(muxer, 0),
				   bt.component_sink_borrow_input_port_by_index_const(sink, 0),
				   NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
		return "babeltrace2's graph cannot be connected";
	return NULL;
}

void ctf_library_run(const char *const *folders, size_t nr, int fd, unsigned int patience_s)
{
	static struct run run;
	bt_graph_run_status status;
	const char *failed;
	bt_graph *graph;

	run.fd = fd;
	watch(patience_s);
	if (!load(&run))
		return;
	failed = make_graph(&run, folders, nr, &graph);
	if (failed) {
		end_error(&run, failed);
		return;
	}
	do
		status = bt.graph_run(graph);
	while (status == BT_GRAPH_RUN_STATUS_AGAIN);
	if (status == BT_GRAPH_RUN_STATUS_OK)
		end_run(&run, CTF_END);
	else
		end_error(&run, "it is damaged");
}
