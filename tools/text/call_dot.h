/* SPDX-License-Identifier: MIT */
/*
 * A graph of calls as a picture for Graphviz: functions with their calls and times, arrows from
 * callers to functions. By default a picture has at most DOT_NODES functions, so that a person can
 * read it. Tests: tests/cli/test_dot.py, test_export.py.
 */
#ifndef VESTIGE_TOOLS_CALL_DOT_H
#define VESTIGE_TOOLS_CALL_DOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/analysis/call_edges.h"
#include "tools/base/hash_index.h"
#include "tools/text/out.h"

#define DOT_NODES 60u

/* Of the recording, and of an older one that it is compared with. */
struct dot_sums {
	uint64_t calls, self, total; /* times in ns */
};

struct dot_node {
	char *name, *object;
	struct dot_sums now, old;
	uint32_t cycle; /* functions with the same number call one another; 0: in no cycle */
	bool shown;
};

struct dot_edge {
	uint32_t from, to;
	struct dot_sums now, old; /* self: not used */
};

struct dot_graph {
	struct dot_node *nodes;
	size_t nr_nodes, room_nodes;
	struct dot_edge *edges;
	size_t nr_edges, room_edges;
	struct hash_index index; /* of nodes by name and object */
	bool with_times, with_old;
};

struct dot_options {
	unsigned int nodes; /* at most; 0: all */
	double min_percent; /* least share of all time */
	uint64_t min_calls;
	const char *near;      /* only functions that match and their neighbours; NULL: all */
	unsigned int distance; /* how far a neighbour may be, in calls */
	bool clusters;	       /* the functions of an object in a box */
	bool color_total;      /* the colour shows the time with callees, not the own time */
};

/*
 * dot_graph_node() - the node of a name in an object, made if it is not there.
 * @node: gets its index in nodes. Return: 0 or -ENOMEM with fail() set.
 */
int dot_graph_node(struct dot_graph *g, const char *name, const char *object, uint32_t *node);

/* Add a copy of an arrow. Return: 0 or -ENOMEM with fail() set. */
int dot_graph_edge(struct dot_graph *g, const struct dot_edge *edge);

/*
 * dot_graph_add() - add the sums of a tree of calls.
 * @object: returns the name of a function's object; gets @arg. @old: the tree is the older
 * recording's. Return: 0 or -ENOMEM with fail() set.
 */
int dot_graph_add(struct dot_graph *g, const struct call_tree *t,
		  const char *(*object)(const void *arg, const struct call_function *fn),
		  const void *arg, bool old);
void dot_graph_free(struct dot_graph *g);

/*
 * dot_graph_put() - print it.
 * @shown, @all: get the number of functions in the picture, and of all. Return: 0 or -errno with
 * fail() set: ENOENT: no function is shown.
 */
int dot_graph_put(struct out *o, struct dot_graph *g, const struct dot_options *opt,
		  unsigned int *shown, unsigned int *all);

#endif
