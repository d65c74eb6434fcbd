/* SPDX-License-Identifier: MIT */
#include "tools/text/call_dot.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/text/duration.h"

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory for the graph");
}

int dot_graph_node(struct dot_graph *g, const char *name, const char *object, uint32_t *node)
{
	uint64_t hash = hash_bytes(hash_bytes(HASH_BYTES_SEED, name, strlen(name) + 1), object,
				   strlen(object));
	int64_t found = HASH_INDEX_FIND(&g->index, hash, i,
					!strcmp(g->nodes[i].name, name) &&
						!strcmp(g->nodes[i].object, object));
	struct dot_node n = {0};

	if (found < 0) {
		n.name = strdup(name);
		n.object = strdup(object);
		if (!n.name || !n.object || ARRAY_ROOM(g->nodes, g->nr_nodes, g->room_nodes, 64) ||
		    hash_index_add(&g->index, hash, (uint32_t)g->nr_nodes)) {
			free(n.name);
			free(n.object);
			return no_memory();
		}
		found = (int64_t)g->nr_nodes;
		g->nodes[g->nr_nodes++] = n;
	}
	*node = (uint32_t)found;
	return 0;
}

int dot_graph_edge(struct dot_graph *g, const struct dot_edge *edge)
{
	if (ARRAY_ROOM(g->edges, g->nr_edges, g->room_edges, 64))
		return no_memory();
	g->edges[g->nr_edges++] = *edge;
	return 0;
}

static void add_sums(struct dot_sums *to, const struct dot_sums *s)
{
	to->calls += s->calls;
	to->self += s->self;
	to->total += s->total;
}

int dot_graph_add(struct dot_graph *g, const struct call_tree *t,
		  const char *(*object)(const void *arg, const struct call_function *fn),
		  const void *arg, bool old)
{
	struct call_edges e = {0};
	int err = call_edges_make(t, &e);
	uint32_t *node = calloc(e.nr_functions + 1u, sizeof(*node));

	if (!err && !node)
		err = no_memory();
	g->with_times = true;
	g->with_old |= old;
	for (uint32_t i = 0; i < e.nr_functions && !err; i++) {
		const struct call_function *fn = call_filter_function(t->filter, i);
		struct dot_sums s = {e.calls[i], e.self[i], e.total[i]};
		char address[24];

		if (!e.calls[i])
			continue;
		snprintf(address, sizeof(address), "0x%" PRIx64, fn->ip);
		err = dot_graph_node(g, fn->name ? fn->name : address, object(arg, fn), &node[i]);
		if (!err)
			add_sums(old ? &g->nodes[node[i]].old : &g->nodes[node[i]].now, &s);
	}
	for (size_t k = 0; k < e.nr && !err; k++) {
		struct dot_sums s = {e.at[k].calls, 0, e.at[k].total};
		struct dot_edge edge = {.from = node[e.at[k].caller], .to = node[e.at[k].callee]};

		*(old ? &edge.old : &edge.now) = s;
		err = dot_graph_edge(g, &edge);
	}
	free(node);
	call_edges_free(&e);
	return err;
}

void dot_graph_free(struct dot_graph *g)
{
	for (size_t i = 0; i < g->nr_nodes; i++) {
		free(g->nodes[i].name);
		free(g->nodes[i].object);
	}
	free(g->nodes);
	free(g->edges);
	hash_index_clear(&g->index);
}

static int by_ends(const void *x, const void *y)
{
	const struct dot_edge *a = x, *b = y;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

/* Merge the arrows between the same two nodes into one. */
static void join_edges(struct dot_graph *g)
{
	size_t nr = 0;

	if (!g->nr_edges)
		return;
	qsort(g->edges, g->nr_edges, sizeof(*g->edges), by_ends);
	for (size_t i = 1; i < g->nr_edges; i++) {
		if (by_ends(&g->edges[nr], &g->edges[i])) {
			g->edges[++nr] = g->edges[i];
			continue;
		}
		add_sums(&g->edges[nr].now, &g->edges[i].now);
		add_sums(&g->edges[nr].old, &g->edges[i].old);
	}
	g->nr_edges = nr + 1;
}

/* Callers of callers, or callees of callees, of the nodes whose place[] is 0, up to a distance. */
static void spread(const struct dot_graph *g, unsigned int *place, unsigned int distance, bool up)
{
	bool more = true;

	for (unsigned int d = 0; d < distance && more; d++) {
		more = false;
		for (size_t k = 0; k < g->nr_edges; k++) {
			uint32_t from = up ? g->edges[k].to : g->edges[k].from;
			uint32_t to = up ? g->edges[k].from : g->edges[k].to;

			if (place[from] == d && place[to] > d + 1) {
				place[to] = d + 1;
				more = true;
			}
		}
	}
}

static int choose_near(struct dot_graph *g, const struct dot_options *opt)
{
	unsigned int *up = malloc((g->nr_nodes + 1) * sizeof(*up));
	unsigned int *down = malloc((g->nr_nodes + 1) * sizeof(*down));
	bool any = false;

	if (!up || !down) {
		free(up);
		free(down);
		return no_memory();
	}
	for (size_t i = 0; i < g->nr_nodes; i++) {
		bool wanted = !fnmatch(opt->near, g->nodes[i].name, 0);

		up[i] = down[i] = wanted ? 0 : UINT32_MAX;
		any |= wanted;
	}
	spread(g, up, opt->distance, true);
	spread(g, down, opt->distance, false);
	for (size_t i = 0; i < g->nr_nodes; i++)
		g->nodes[i].shown &= up[i] <= opt->distance || down[i] <= opt->distance;
	free(up);
	free(down);
	return any ? 0
		   : fail(ENOENT,
			  "no function in the recording is called %s: `vestige profile` "
			  "prints them",
			  opt->near);
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The functions with the greatest weight are in the picture. */
static uint64_t weight(const struct dot_graph *g, const struct dot_node *n)
{
	if (g->with_old)
		return difference(n->now.total, n->old.total);
	return g->with_times ? n->now.total : n->now.calls;
}

struct choice {
	uint64_t weight;
	uint32_t node;
};

static int by_weight(const void *x, const void *y)
{
	const struct choice *a = x, *b = y;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static uint64_t all_time(const struct dot_graph *g)
{
	uint64_t now = 0, old = 0;

	for (size_t i = 0; i < g->nr_nodes; i++) {
		now += g->nodes[i].now.self;
		old += g->nodes[i].old.self;
	}
	return now > old ? now : old;
}

static int choose(struct dot_graph *g, const struct dot_options *opt, unsigned int *shown)
{
	double least = opt->min_percent / 100 * (double)all_time(g);
	struct choice *c = malloc((g->nr_nodes + 1) * sizeof(*c));
	size_t nr = 0;
	int err = 0;

	if (!c)
		return no_memory();
	for (size_t i = 0; i < g->nr_nodes; i++) {
		struct dot_node *n = &g->nodes[i];
		uint64_t calls = n->now.calls > n->old.calls ? n->now.calls : n->old.calls;
		uint64_t total = n->now.total > n->old.total ? n->now.total : n->old.total;

		n->shown = calls >= opt->min_calls && (double)total >= least;
	}
	if (opt->near)
		err = choose_near(g, opt);
	for (size_t i = 0; i < g->nr_nodes; i++)
		if (g->nodes[i].shown)
			c[nr++] = (struct choice){weight(g, &g->nodes[i]), (uint32_t)i};
	qsort(c, nr, sizeof(*c), by_weight);
	*shown = (unsigned int)nr;
	for (size_t i = opt->nodes; opt->nodes && i < nr; i++) {
		g->nodes[c[i].node].shown = false;
		*shown = opt->nodes;
	}
	free(c);
	if (!err && !nr)
		err = fail(ENOENT, "no function is left by the flags");
	return err;
}

/* Tarjan's strongly connected components, with a stack of its own. */
struct walk {
	uint32_t *first; /* a node's first edge */
	uint32_t *next;	 /* its next edge to follow */
	uint32_t *number, *low, *path, *open;
	size_t nr_path, nr_open;
	uint32_t counted, cycles;
};

static void close_component(struct dot_graph *g, struct walk *w, uint32_t n, bool loops)
{
	uint32_t member, cycle = 0;

	if (w->open[w->nr_open - 1] != n || loops)
		cycle = ++w->cycles;
	do {
		member = w->open[--w->nr_open];
		w->low[member] = UINT32_MAX;
		g->nodes[member].cycle = cycle;
	} while (member != n);
}

static void walk_from(struct dot_graph *g, struct walk *w, uint32_t start)
{
	w->path[w->nr_path++] = start;
	while (w->nr_path) {
		uint32_t n = w->path[w->nr_path - 1];
		bool loops = false, descended = false;

		if (!w->number[n]) {
			w->number[n] = w->low[n] = ++w->counted;
			w->open[w->nr_open++] = n;
			w->next[n] = w->first[n];
		}
		for (; w->next[n] < w->first[n + 1] && !descended; w->next[n]++) {
			uint32_t to = g->edges[w->next[n]].to;

			if (!w->number[to]) {
				w->path[w->nr_path++] = to;
				descended = true;
				break; /* and come back to this edge */
			}
			if (w->low[to] < w->low[n])
				w->low[n] = w->low[to];
		}
		if (descended)
			continue;
		for (uint32_t k = w->first[n]; k < w->first[n + 1]; k++)
			loops |= g->edges[k].to == n;
		w->nr_path--;
		if (w->low[n] == w->number[n])
			close_component(g, w, n, loops);
	}
}

static int find_cycles(struct dot_graph *g)
{
	size_t n = g->nr_nodes;
	uint32_t *room = calloc(n * 6 + 1, sizeof(*room));
	struct walk w = {.first = room,
			 .next = room + n + 1,
			 .number = room + 2 * n + 1,
			 .low = room + 3 * n + 1,
			 .path = room + 4 * n + 1,
			 .open = room + 5 * n + 1};

	if (!room)
		return no_memory();
	for (size_t k = 0; k < g->nr_edges; k++)
		w.first[g->edges[k].from + 1]++;
	for (size_t i = 0; i < n; i++)
		w.first[i + 1] += w.first[i];
	for (size_t i = 0; i < n; i++)
		if (!w.number[i])
			walk_from(g, &w, (uint32_t)i);
	free(room);
	return 0;
}

static void put_text(struct out *o, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			out_text(o, "\\");
		out_write(o, (unsigned char)*text < ' ' ? "?" : text, 1);
	}
}

static void put_time(struct out *o, uint64_t ns)
{
	char time[DURATION_WIDTH + 1];

	duration_text(time, ns);
	out_text(o, time);
}

/* " (+1.2 ms)" of a time, against the older one. */
static void put_change(struct out *o, uint64_t now, uint64_t old)
{
	out_printf(o, " (%c", now < old ? '-' : '+');
	put_time(o, difference(now, old));
	out_text(o, ")");
}

static void put_node(struct out *o, const struct dot_graph *g, const struct dot_options *opt,
		     uint32_t i, uint64_t all, uint64_t most)
{
	const struct dot_node *n = &g->nodes[i];
	uint64_t now = opt->color_total ? n->now.total : n->now.self;
	uint64_t old = opt->color_total ? n->old.total : n->old.self;
	double share = all ? (double)now / (double)all : 0, hue = 0.02;

	out_printf(o, "\tf%u [label=\"", i);
	put_text(o, n->name);
	if (g->with_times) {
		out_text(o, "\\nself ");
		put_time(o, n->now.self);
		if (g->with_old)
			put_change(o, n->now.self, n->old.self);
		else
			out_printf(o, " (%.1f %%)",
				   all ? 100 * (double)n->now.self / (double)all : 0.0);
		out_text(o, "\\ntotal ");
		put_time(o, n->now.total);
		if (g->with_old)
			put_change(o, n->now.total, n->old.total);
	}
	out_printf(o, "\\n%" PRIu64 " call%s", n->now.calls, n->now.calls == 1 ? "" : "s");
	if (g->with_old) {
		out_printf(o, " (%+" PRId64 ")", (int64_t)(n->now.calls - n->old.calls));
		share = most ? (double)difference(now, old) / (double)most : 0;
		hue = now < old ? 0.33 : 0.02;
	}
	out_printf(o, "\", fillcolor=\"%.2f %.3f 1.0\"", hue, share < 1 ? share : 1.0);
	if (g->with_old && (!n->old.calls || !n->now.calls))
		out_printf(o, ", tooltip=\"%s\", style=\"filled,%s\"",
			   n->old.calls ? "gone" : "new", n->old.calls ? "dotted" : "bold");
	out_text(o, n->cycle ? ", color=red];\n" : "];\n");
}

static void put_edge(struct out *o, const struct dot_graph *g, const struct dot_edge *e,
		     uint64_t all)
{
	uint32_t cycle = g->nodes[e->from].cycle;

	out_printf(o, "\tf%u -> f%u [label=\"%" PRIu64, e->from, e->to, e->now.calls);
	if (g->with_old)
		out_printf(o, " (%+" PRId64 ")", (int64_t)(e->now.calls - e->old.calls));
	if (g->with_times) {
		out_text(o, "\\n");
		put_time(o, e->now.total);
		if (g->with_old)
			put_change(o, e->now.total, e->old.total);
	}
	out_printf(o, "\", penwidth=%.2f", 1 + (all ? 4 * (double)e->now.total / (double)all : 0));
	out_text(o, cycle && cycle == g->nodes[e->to].cycle ? ", color=red, style=dashed];\n"
							    : "];\n");
}

static void put_clusters(struct out *o, const struct dot_graph *g)
{
	for (size_t i = 0; i < g->nr_nodes; i++) {
		const char *object = g->nodes[i].object;
		size_t k;

		for (k = 0; k < i; k++)
			if (g->nodes[k].shown && !strcmp(g->nodes[k].object, object))
				break;
		if (!g->nodes[i].shown || k < i)
			continue;
		out_printf(o, "\tsubgraph cluster_%zu {\n\t\tlabel=\"", i);
		put_text(o, object);
		out_text(o, "\";\n\t\tstyle=rounded;\n\t\tfontname=sans;\n");
		for (k = i; k < g->nr_nodes; k++)
			if (g->nodes[k].shown && !strcmp(g->nodes[k].object, object))
				out_printf(o, "\t\tf%zu;\n", k);
		out_text(o, "\t}\n");
	}
}

int dot_graph_put(struct out *o, struct dot_graph *g, const struct dot_options *opt,
		  unsigned int *shown, unsigned int *all)
{
	uint64_t time = all_time(g), most = 0;
	int err;

	join_edges(g);
	err = choose(g, opt, shown);
	*all = (unsigned int)g->nr_nodes;
	if (!err)
		err = find_cycles(g);
	if (err)
		return err;
	for (size_t i = 0; i < g->nr_nodes; i++) {
		const struct dot_node *n = &g->nodes[i];
		uint64_t d = opt->color_total ? difference(n->now.total, n->old.total)
					      : difference(n->now.self, n->old.self);

		if (n->shown && d > most)
			most = d;
	}
	out_text(o, "digraph calls {\n\tnode [shape=box, style=filled, fontname=sans, "
		    "fontsize=10];\n\tedge [fontname=sans, fontsize=9];\n");
	for (size_t i = 0; i < g->nr_nodes; i++)
		if (g->nodes[i].shown)
			put_node(o, g, opt, (uint32_t)i, time, most);
	if (opt->clusters)
		put_clusters(o, g);
	for (size_t k = 0; k < g->nr_edges; k++)
		if (g->nodes[g->edges[k].from].shown && g->nodes[g->edges[k].to].shown)
			put_edge(o, g, &g->edges[k], time);
	out_text(o, "}\n");
	return 0;
}
