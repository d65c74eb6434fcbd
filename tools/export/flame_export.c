/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as one SVG file that a browser opens from disk and that loads nothing. Each path of
 * callers to a function has a box, as wide as its part of the time. The functions that it called
 * are above it. A click shows a box at full width. `Search` marks the functions whose names have a
 * text. Boxes narrower than a tenth of a pixel are left out. Tests: tests/cli/test_export.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/base/hash.h"
#include "tools/export/call_export.h"
#include "tools/reader/tasks.h"
#include "tools/text/duration.h"
#include "tools/text/xml.h"

#define WIDTH	  1200.0
#define ROW	  17u
#define TOP	  44u
#define MIN_WIDTH 0.1
#define MAX_ROWS  1000u /* browsers do not draw higher pictures well */

static const char style[] =
	"<style>text{font:12px sans-serif;pointer-events:none;fill:#111}"
	"#t{font-size:15px}#s,#r{fill:#444;pointer-events:auto;cursor:pointer}"
	"g.f{cursor:pointer}g.f:hover rect{stroke:#000}"
	"g.hit rect{fill:#b455f0}@media(prefers-color-scheme:dark){svg{background:#1b1b1b}"
	"#t,#s,#r{fill:#ddd}}</style>\n";

/* data-x, data-w: position and width in thousandths of the picture's width before any zoom. */
static const char script[] =
	"<script><![CDATA[\n"
	"const W=1200,all=[...document.querySelectorAll('g.f')],q=document.getElementById('s'),"
	"reset=document.getElementById('r');\n"
	"const num=(g,k)=>+g.dataset[k];\n"
	"function fit(g,w){const t=g.querySelector('text'),n=g.dataset.n,c=Math.floor((w-4)/7);"
	"t.textContent=c<3?'':n.length<=c?n:n.slice(0,c-1)+'\\u2026';}\n"
	"function zoom(z){const x0=z?num(z,'x'):0,w0=z?num(z,'w'):1000,d0=z?num(z,'d'):-1;"
	"reset.style.display=z&&d0>0?'':'none';\n"
	"for(const g of all){const x=num(g,'x'),w=num(g,'w'),around=num(g,'d')<d0&&x<=x0+1e-9&&"
	"x+w>=x0+w0-1e-9;"
	"const inside=x>=x0-1e-9&&x+w<=x0+w0+1e-9&&num(g,'d')>=d0;"
	"g.style.display=around||inside?'':'none';if(!around&&!inside)continue;"
	"const r=g.querySelector('rect'),px=around?0:(x-x0)/w0*W,pw=around?W:w/w0*W;"
	"r.setAttribute('x',px);r.setAttribute('width',Math.max(pw-.5,.1));"
	"r.style.opacity=around?.5:1;g.querySelector('text').setAttribute('x',px+3);fit(g,pw);}}\n"
	"function search(){const p=prompt('Mark functions whose names have:','');"
	"if(p===null)return;let sum=0,end=-1;"
	"const hits=all.filter(g=>{const h=p!==''&&g.dataset.n.includes(p);"
	"g.classList.toggle('hit',h);return h;});\n"
	"hits.sort((a,b)=>num(a,'x')-num(b,'x')||num(b,'w')-num(a,'w'));"
	"for(const g of hits){if(num(g,'x')<end-1e-9)continue;sum+=num(g,'w');"
	"end=num(g,'x')+num(g,'w');}"
	"q.textContent=p===''?'Search':p+': '+(sum/10).toFixed(2)+' %';}\n"
	"for(const g of all){g.addEventListener('click',()=>zoom(g));fit(g,num(g,'w')/1000*W);}\n"
	"q.addEventListener('click',search);reset.addEventListener('click',()=>zoom(null));\n"
	"]]></script>\n";

struct flame {
	struct call_export *x;
	const struct call_tree *t;
	uint64_t all; /* ns */
	unsigned int rows;
	unsigned int left_out;
};

/* The total time of node @i. A thread and the root have none: it is the sum of their children's. */
static uint64_t time_of(const struct call_tree *t, uint32_t i)
{
	uint64_t sum = 0;

	if (i && !t->nodes[i].thread)
		return t->nodes[i].total;
	for (uint32_t k = t->nodes[i].first_child; k; k = t->nodes[k].next)
		sum += time_of(t, k);
	return sum;
}

/* A warm colour, by name: a function has the same one in all boxes. */
static void put_colour(struct out *o, const char *name)
{
	uint64_t h = 0;

	for (; *name; name++)
		h = hash_u64(h ^ (unsigned char)*name);
	out_printf(o, "rgb(%u,%u,%u)", 205 + (unsigned int)(h >> 40) % 50,
		   (unsigned int)(h >> 48) % 180 + 40, (unsigned int)(h >> 56) % 55);
}

static void put_box(struct flame *f, const char *name, uint64_t ns, uint64_t calls, uint64_t before,
		    unsigned int row)
{
	struct out *o = &f->x->o;
	double share = (double)ns / (double)f->all, x = (double)before / (double)f->all;
	char time[DURATION_WIDTH + 1];

	duration_text(time, ns);
	out_printf(o, "<g class=\"f\" data-d=\"%u\" data-x=\"%.6f\" data-w=\"%.6f\" data-n=\"", row,
		   x * 1000, share * 1000);
	xml_put(o, name);
	out_text(o, "\"><title>");
	xml_put(o, name);
	out_printf(o, "\n%s, %.2f %%", time, share * 100);
	if (calls)
		out_printf(o, ", %" PRIu64 " call%s", calls, calls == 1 ? "" : "s");
	out_printf(o, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"",
		   x * WIDTH, TOP + (f->rows - 1 - row) * ROW, share * WIDTH, ROW - 1);
	put_colour(o, name);
	out_printf(o, "\"/><text x=\"%.2f\" y=\"%u\"></text></g>\n", x * WIDTH + 3,
		   TOP + (f->rows - 1 - row) * ROW + 12);
}

static bool is_wide(const struct flame *f, uint64_t ns)
{
	return (double)ns / (double)f->all * WIDTH >= MIN_WIDTH;
}

/*
 * Walk over the boxes beneath @parent that are wide enough. @before: ns of the boxes to the left.
 * @row: of the parent's children. @put: write the boxes; else only find the rows. Return: the
 * number of rows.
 */
static unsigned int walk(struct flame *f, uint32_t parent, uint64_t before, unsigned int row,
			 bool put)
{
	const struct call_tree *t = f->t;
	unsigned int rows = row;
	char buf[CALL_NAME_BYTES], thread[64];

	for (uint32_t i = t->nodes[parent].first_child; i && !f->x->o.err; i = t->nodes[i].next) {
		const struct call_node *n = &t->nodes[i];
		uint64_t ns = time_of(t, i);
		const char *name = thread;
		unsigned int above;

		if (!is_wide(f, ns) || row >= MAX_ROWS) {
			f->left_out++;
			before += ns;
			continue;
		}
		if (n->thread)
			snprintf(thread, sizeof(thread), "%s (%d)",
				 tasks_comm(f->x->v->r->tasks, (int32_t)n->function),
				 (int)n->function);
		else
			name = call_export_name(call_filter_function(t->filter, n->function), buf);
		if (put)
			put_box(f, name, ns, n->thread ? 0 : n->calls, before, row);
		above = walk(f, i, before, row + 1, put);
		rows = above > rows ? above : rows;
		before += ns;
	}
	return rows;
}

static void put_flame(struct call_export *x, const struct call_tree *t)
{
	struct flame f = {.x = x, .t = t, .all = time_of(t, 0)};
	struct out *o = &x->o;
	unsigned int height;

	if (!f.all)
		f.all = 1;
	f.rows = walk(&f, 0, 0, 1, false);
	height = TOP + f.rows * ROW + 10;
	out_printf(o,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%u\" "
		   "viewBox=\"0 0 %.0f %u\">\n",
		   WIDTH, height, WIDTH, height);
	out_text(o, style);
	out_text(o, "<text id=\"t\" x=\"8\" y=\"24\">");
	xml_put(o, *x->v->r->cmdline ? x->v->r->cmdline : "calls");
	out_text(o, "</text>\n<text id=\"r\" x=\"980\" y=\"24\" style=\"display:none\">Reset zoom"
		    "</text>\n<text id=\"s\" x=\"1080\" y=\"24\">Search</text>\n");
	put_box(&f, "all", f.all, t->nr_calls, 0, 0);
	walk(&f, 0, 0, 1, true);
	out_text(o, script);
	out_text(o, "</svg>\n");
}

int flame_export(const char *path, struct reader *r, const struct export_options *opt)
{
	(void)r;
	return call_export_tree(path, opt, put_flame);
}
