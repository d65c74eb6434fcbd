/* SPDX-License-Identifier: MIT */
/* The text of an oops, in the kernel's form. No state; any context. */
#include <signal.h>

#include "arch_context.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/control/oops.h"
#include "engine/process/area.h"

static void put_hex(struct seq_buf *s, uint64_t v, int digits)
{
	while (digits--)
		seq_putc(s, "0123456789abcdef"[v >> 4 * digits & 15]);
}

static void put_int(struct seq_buf *s, int64_t v)
{
	if (v < 0)
		seq_putc(s, '-');
	seq_putu(s, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static const struct {
	int sig;
	char name[8];
	const char *what;
} signals[] = {
	{SIGSEGV, "SIGSEGV", "segmentation fault"},
	{SIGBUS, "SIGBUS", "bus error"},
	{SIGFPE, "SIGFPE", "divide error"},
	{SIGILL, "SIGILL", "invalid opcode"},
	{SIGTRAP, "SIGTRAP", "int3"},
	{SIGABRT, "SIGABRT", "abort"},
	{SIGSYS, "SIGSYS", "bad system call"},
};

static const struct {
	int sig, code;
	const char *name;
} codes[] = {
	{SIGSEGV, SEGV_MAPERR, "SEGV_MAPERR"},
	{SIGSEGV, SEGV_ACCERR, "SEGV_ACCERR"},
	{SIGBUS, BUS_ADRALN, "BUS_ADRALN"},
	{SIGBUS, BUS_ADRERR, "BUS_ADRERR"},
	{SIGBUS, BUS_OBJERR, "BUS_OBJERR"},
	{SIGFPE, FPE_INTDIV, "FPE_INTDIV"},
	{SIGFPE, FPE_FLTDIV, "FPE_FLTDIV"},
	{SIGILL, ILL_ILLOPN, "ILL_ILLOPN"},
	{0, SI_USER, "SI_USER"},
	{0, SI_KERNEL, "SI_KERNEL"},
	{0, SI_QUEUE, "SI_QUEUE"},
	{0, SI_TKILL, "SI_TKILL"},
};

#define NULL_PAGE 4096u

static void put_address(struct seq_buf *s, const char *what, uint64_t address)
{
	seq_puts(s, what);
	put_hex(s, address, 16);
	seq_putc(s, '\n');
}

static void put_cause(struct seq_buf *s, const struct area_oops *o)
{
	static const char *const access[] = {"read", "write", "instruction fetch"};
	int present = 0, kind = arch_fault_kind(o->regs, &present);
	uint32_t i;

	if (o->code <= 0)
		kind = -1; /* a process sent the signal: these registers are of an older fault */
	if (o->sig == SIGSEGV && kind >= 0) {
		put_address(s,
			    o->address < NULL_PAGE
				    ? "BUG: NULL pointer dereference, address: "
				    : "BUG: unable to handle page fault for address: ",
			    o->address);
		seq_puts(s, "#PF: ");
		seq_puts(s, access[kind]);
		seq_puts(s, present ? " access, permissions violation\n"
				    : " access, not-present page\n");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		if (signals[i].sig != o->sig)
			continue;
		seq_puts(s, o->sig == SIGSEGV && o->code == SI_KERNEL ? "general protection fault"
								      : signals[i].what);
		if (o->sig == SIGBUS && o->code > 0)
			put_address(s, ", address: ", o->address);
		else
			seq_putc(s, '\n');
	}
}

static void put_signal(struct seq_buf *s, const struct area_oops *o)
{
	uint32_t i;

	seq_puts(s, "Oops: ");
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (signals[i].sig == o->sig)
			seq_puts(s, signals[i].name);
	seq_puts(s, ", code ");
	put_int(s, o->code);
	for (i = 0; i < ARRAY_SIZE(codes); i++)
		if ((!codes[i].sig || codes[i].sig == o->sig) && codes[i].code == o->code) {
			seq_puts(s, " (");
			seq_puts(s, codes[i].name);
			seq_putc(s, ')');
			break;
		}
	if (o->sender) {
		seq_puts(s, ", sent by PID ");
		put_int(s, o->sender);
		seq_puts(s, ", UID ");
		seq_putu(s, o->sender_uid);
	}
	seq_puts(s, " [#");
	seq_putu(s, o->nr);
	seq_puts(s, "]\n");
}

static void put_warning(struct seq_buf *s, const struct area_oops *o, const struct oops_name *name,
			const struct oops_warning *w)
{
	seq_puts(s, "------------[ cut here ]------------\n");
	if (w->condition) {
		seq_puts(s, w->condition);
		seq_putc(s, '\n');
	}
	seq_puts(s, "WARNING: CPU: ");
	put_int(s, o->cpu);
	seq_puts(s, " PID: ");
	put_int(s, o->tid);
	seq_puts(s, " at ");
	seq_puts(s, w->file ? w->file : "?");
	seq_putc(s, ':');
	put_int(s, w->line);
	seq_putc(s, ' ');
	oops_put_name(s, name);
	seq_putc(s, '\n');
}

static void put_thread(struct seq_buf *s, const struct area_oops *o)
{
	seq_puts(s, "CPU: ");
	put_int(s, o->cpu);
	seq_puts(s, " PID: ");
	put_int(s, o->tid);
	seq_puts(s, " TGID: ");
	put_int(s, area->pid);
	seq_puts(s, " Comm: ");
	seq_puts(s, o->comm);
	seq_puts(s, " Program: ");
	seq_puts(s, area->exe);
	seq_putc(s, '\n');
}

static void put_registers(struct seq_buf *s, const struct area_oops *o)
{
	const char *name;
	uint32_t i, number;

	for (i = 0; (name = arch_context_reg(i, &number)); i++) {
		seq_puts(s, name);
		seq_puts(s, ": ");
		put_hex(s, o->regs[number], str_equal(name, "EFLAGS") ? 8 : 16);
		/*
		 * a new line for the stack pointer and the flags, then one for every three
		 * registers
		 */
		seq_putc(s, i == 1 || (i > 1 && (i - 2) % 3 == 2) ? '\n' : ' ');
	}
	if (s->len && s->len < s->bytes && s->text[s->len - 1] == ' ')
		s->text[s->len - 1] = '\n';
}

static void put_code(struct seq_buf *s, uint64_t ip, const uint8_t *code)
{
	uint32_t i;

	if (!code) {
		seq_puts(s, "Code: Unable to access opcode bytes at 0x");
		seq_putx(s, ip);
		seq_puts(s, ".\n");
		return;
	}
	seq_puts(s, "Code:");
	for (i = 0; i < OOPS_CODE_BYTES; i++) {
		seq_puts(s, i == OOPS_CODE_BEFORE ? " <" : " ");
		put_hex(s, code[i], 2);
		if (i == OOPS_CODE_BEFORE)
			seq_putc(s, '>');
	}
	seq_putc(s, '\n');
}

void oops_text(struct seq_buf *s, const struct area_oops *o, const struct oops_name *names,
	       const uint8_t *code, const struct oops_warning *warning)
{
	uint32_t i;

	if (warning)
		put_warning(s, o, names, warning);
	else
		put_cause(s, o);
	if (!warning)
		put_signal(s, o);
	put_thread(s, o);
	if (!warning) {
		seq_puts(s, "RIP: ");
		oops_put_name(s, names);
		seq_putc(s, '\n');
		put_code(s, names->ip, code);
		put_registers(s, o);
	}
	seq_puts(s, "Call Trace:\n <TASK>\n");
	for (i = 0; i < o->nr_frames; i++) {
		seq_putc(s, ' ');
		if (!o->frames[i].ip && o->frames[i].reserved) {
			seq_puts(s, "... ");
			seq_putu(s, o->frames[i].reserved);
			seq_puts(s, " more ...\n");
			continue;
		}
		if (o->frames[i].flags & AREA_OOPS_UNSURE)
			seq_puts(s, "? ");
		oops_put_name(s, names + 1 + i);
		seq_putc(s, '\n');
	}
	seq_puts(s, " </TASK>\n---[ end trace 0000000000000000 ]---\n");
}
