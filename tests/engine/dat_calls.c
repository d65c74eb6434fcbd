/* SPDX-License-Identifier: MIT */
/*
 * dat_calls - count the calls of a trace.dat by libtracecmd, a reader that we did not write.
 *
 *	dat_calls FILE
 *
 * Prints a line for each pair of a function and a place that it was called from:
 *
 *	IP PARENT_IP COUNT NAME_OF_IP
 *
 * and at the end `events N`, `missed N` (the losses that the file reports; -1 of unknown number).
 * For the oracle and the tests of the engine; nothing of ours is linked.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event-parse.h>
#include <trace-cmd.h>

struct pair {
	uint64_t ip, parent_ip, count;
};

static struct pair *pairs;
static size_t nr_pairs, nr_slots = 1 << 12;
static uint64_t nr_events, nr_missed;
static struct tep_event *function;
static struct tep_format_field *ip_field, *parent_field;

static struct pair *find(struct pair *slots, size_t n, uint64_t ip, uint64_t parent_ip)
{
	uint64_t h =
		(ip * UINT64_C(0x9e3779b97f4a7c15)) ^ (parent_ip * UINT64_C(0xc2b2ae3d27d4eb4f));
	size_t i = (h ^ h >> 29) & (n - 1);

	while (slots[i].count && (slots[i].ip != ip || slots[i].parent_ip != parent_ip))
		i = (i + 1) & (n - 1);
	return &slots[i];
}

static int grow(void)
{
	size_t n = nr_slots * 2, i;
	struct pair *more = calloc(n, sizeof(*more));

	if (!more)
		return -1;
	for (i = 0; i < nr_slots; i++)
		if (pairs[i].count)
			*find(more, n, pairs[i].ip, pairs[i].parent_ip) = pairs[i];
	free(pairs);
	pairs = more;
	nr_slots = n;
	return 0;
}

static int count(struct tracecmd_input *handle, struct tep_record *record, int cpu, void *data)
{
	struct tep_handle *tep = tracecmd_get_tep(handle);
	unsigned long long ip, parent_ip;
	struct pair *p;

	nr_events++;
	if (record->missed_events)
		nr_missed += record->missed_events;
	if (tep_data_type(tep, record) != function->id)
		return 0;
	if (tep_read_number_field(ip_field, record->data, &ip) ||
	    tep_read_number_field(parent_field, record->data, &parent_ip))
		return -1;
	if (nr_pairs * 2 >= nr_slots && grow())
		return -1;
	p = find(pairs, nr_slots, ip, parent_ip);
	if (!p->count++) {
		p->ip = ip;
		p->parent_ip = parent_ip;
		nr_pairs++;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct tracecmd_input *handle;
	struct tep_handle *tep;
	size_t i;

	if (argc != 2) {
		fprintf(stderr, "usage: dat_calls FILE\n");
		return 2;
	}
	handle = tracecmd_open(argv[1], TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!handle) {
		fprintf(stderr, "dat_calls: libtracecmd cannot open %s\n", argv[1]);
		return 1;
	}
	tep = tracecmd_get_tep(handle);
	function = tep_find_event_by_name(tep, "ftrace", "function");
	pairs = calloc(nr_slots, sizeof(*pairs));
	if (!function || !pairs) {
		fprintf(stderr, "dat_calls: no format of ftrace:function in %s\n", argv[1]);
		return 1;
	}
	ip_field = tep_find_field(function, "ip");
	parent_field = tep_find_field(function, "parent_ip");
	if (!ip_field || !parent_field || tracecmd_iterate_events(handle, NULL, 0, count, NULL)) {
		fprintf(stderr, "dat_calls: cannot read the events of %s\n", argv[1]);
		return 1;
	}
	for (i = 0; i < nr_slots; i++) {
		const char *name;

		if (!pairs[i].count)
			continue;
		name = tep_find_function(tep, pairs[i].ip);
		printf("%#" PRIx64 " %#" PRIx64 " %" PRIu64 " %s\n", pairs[i].ip,
		       pairs[i].parent_ip, pairs[i].count, name ? name : "?");
	}
	printf("events %" PRIu64 "\nmissed %" PRId64 "\n", nr_events, (int64_t)nr_missed);
	free(pairs);
	tracecmd_close(handle);
	return 0;
}
