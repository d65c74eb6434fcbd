/* SPDX-License-Identifier: MIT */
/*
 * See fetch.h: reads the arguments at a hit. Addresses come from the program, and a stack may end
 * anywhere. So memory is read by process_vm_readv() of the own process, which fails with EFAULT
 * where a load would be a SIGSEGV. A thread with a seccomp filter makes no system call, and each
 * such read is a fault. A number that cannot be read becomes 0, a string "(fault)".
 *
 * Any context; no lock, no libc, no state. Tests: tests/engine/events/kprobe.
 */
#include <errno.h>

#include "arch_regs.h"
#include "engine/arch/read_memory.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/events/probe/fetch.h"
#include "engine/ring/ring.h"

size_t fetch_memory(int tid, void *to, uint64_t address, size_t n)
{
	long got = sys_read_memory(tid, address, to, n);

	return sys_failed(got) ? 0 : (size_t)got;
}

static size_t read_memory(const struct fetch_regs *regs, void *to, uint64_t address, size_t n)
{
	return fetch_memory(regs->tid, to, address, n);
}

/* Read all @n bytes, or fail. */
static int read_all(const struct fetch_regs *regs, void *to, uint64_t address, size_t n)
{
	return read_memory(regs, to, address, n) == n ? 0 : -EFAULT;
}

static uint64_t register_value(const struct fetch_regs *regs, uint32_t reg)
{
	if (reg == ARCH_REG_IP)
		return regs->ip;
	if (reg == ARCH_REG_SP)
		return regs->sp;
	if (reg >= ARCH_NR_REGS)
		return 0;
	if (regs->r)
		return regs->r[reg];
	return reg == ARCH_REG_RESULT ? regs->retval : 0;
}

static uint64_t load_number(const uint8_t *from, uint32_t size, int is_signed)
{
	uint32_t unused = 64 - 8 * size;
	uint64_t v = 0;

	if (!size)
		return 0;
	memcpy(&v, from, size);
	v <<= unused;
	return is_signed ? (uint64_t)((int64_t)v >> unused) : v >> unused;
}

/*
 * The address of a text in a record, at most *@n bytes; NULL: the text is not in the record.
 */
static const uint8_t *text_of(const struct event_field *f, const uint8_t *record, uint32_t *n)
{
	const uint8_t *at = record + f->offset;
	uint32_t word;

	if (f->filter_type == FILTER_STATIC_STRING) {
		*n = f->size;
		return at;
	}
	if (f->filter_type != FILTER_DYN_STRING && f->filter_type != FILTER_RDYN_STRING)
		return NULL;
	memcpy(&word, at, sizeof(word));
	*n = word >> 16;
	return (f->filter_type == FILTER_DYN_STRING ? record : at + sizeof(word)) + (word & 0xffff);
}

/*
 * As in the kernel: the address of a text, a number itself, the first eight bytes of larger fields.
 */
static uint64_t field_value(const struct event_field *f, const uint8_t *record)
{
	const uint8_t *text;
	uint32_t n;

	if (!record)
		return 0;
	text = text_of(f, record, &n);
	if (text)
		return (uint64_t)text;
	return load_number(record + f->offset, f->size < 8 ? f->size : 8, f->is_signed);
}

/*
 * errno of a call that has failed: its result is -1 (32 or 64 bits), or NULL. Otherwise 0, as errno
 * is an earlier call's.
 */
static uint64_t errno_of(const struct fetch_arg *arg, const struct fetch_regs *regs)
{
	int failed = arg->value ? (int32_t)regs->retval == -1 : !regs->retval;
	const int *at = (const int *)(arch_thread_pointer() + fetch_errno_at);

	return failed ? (uint64_t)*at : 0;
}

static int base_value(const struct fetch_arg *arg, const struct fetch_regs *regs, uint64_t *v)
{
	switch (arg->base) {
	case FETCH_REG:
		*v = register_value(regs, arg->reg);
		return 0;
	case FETCH_INDEXED:
		*v = register_value(regs, arg->reg) + register_value(regs, arg->index) * arg->scale;
		return 0;
	case FETCH_STACK:
		return read_all(regs, v, regs->sp + arg->value * 8, 8);
	case FETCH_FIELD:
		*v = field_value(arg->field, regs->record);
		return 0;
	case FETCH_RETVAL:
		*v = regs->retval;
		return 0;
	case FETCH_ERRNO:
		*v = errno_of(arg, regs);
		return 0;
	case FETCH_BEGUN:
		if (arg->value >= regs->nr_begun)
			return -EFAULT;
		*v = regs->begun[arg->value];
		return 0;
	default:
		*v = arg->value;
		return 0;
	}
}

/* The address of the fetched value: all dereferences but the last are done. */
static int address_of(const struct fetch_arg *arg, const struct fetch_regs *regs, uint64_t *v)
{
	uint32_t i;
	int err = base_value(arg, regs, v);

	for (i = 0; i < arg->nr_derefs && !err; i++) {
		*v += (uint64_t)arg->derefs[i];
		if (i + 1 < arg->nr_derefs)
			err = read_all(regs, v, *v, 8);
	}
	return err;
}

#define PART_BYTES 128u

/*
 * Measure the string at an address; bytes 0: it cannot be read. Page by page, as memory may end
 * behind it.
 */
static struct fetch_string string_at_address(struct fetch_regs *regs, uint64_t address,
					     uint32_t most)
{
	int keep = regs->nr_kept + PART_BYTES <= FETCH_KEPT;
	struct fetch_string s = {0, FETCH_NOT_KEPT};
	char local[PART_BYTES], *part = keep ? regs->kept + regs->nr_kept : local;
	uint32_t n = 0;

	while (n < most) {
		size_t want = PART_BYTES < most - n ? PART_BYTES : most - n, got, i;

		if (want > 4096 - (address & 4095))
			want = 4096 - (address & 4095);
		got = read_memory(regs, part, address, want);
		if (!got)
			return s;
		for (i = 0; i < got && part[i]; i++)
			;
		if (i < got) {
			s.bytes = (uint16_t)(n + i + 1);
			if (keep && !n) {
				s.at = (uint16_t)regs->nr_kept;
				regs->nr_kept += s.bytes;
			}
			return s;
		}
		n += (uint32_t)got;
		address += got;
	}
	s.bytes = (uint16_t)most;
	return s;
}

/*
 * The text of a field that is fetched without a dereference, without its NUL; NULL: there is none.
 */
static const uint8_t *own_text(const struct fetch_arg *arg, const struct fetch_regs *regs,
			       uint32_t *n)
{
	const uint8_t *text;
	uint32_t i;

	if (arg->base != FETCH_FIELD || arg->nr_derefs || !regs->record)
		return NULL;
	text = text_of(arg->field, regs->record, n);
	for (i = 0; text && i < *n && i < FETCH_MAX_STRING - 1 && text[i]; i++)
		;
	*n = i;
	return text;
}

struct fetch_string fetch_measure(const struct fetch_arg *arg, struct fetch_regs *regs)
{
	struct fetch_string s = {0, FETCH_NOT_KEPT};
	uint64_t address;
	uint32_t n;

	if (!arg->type->is_string)
		return s;
	if (arg->base == FETCH_COMM)
		s.bytes = 16;
	else if (arg->base == FETCH_TEXT)
		s.bytes = arg->text_bytes + 1;
	else if (own_text(arg, regs, &n))
		s.bytes = (uint16_t)(n + 1);
	else if (!address_of(arg, regs, &address))
		s = string_at_address(regs, address,
				      arg->type->most ? arg->type->most : FETCH_MAX_STRING);
	if (!s.bytes)
		s.bytes = sizeof(FETCH_FAULT);
	return s;
}

static void store_string(const struct fetch_arg *arg, const struct fetch_regs *regs, char *to,
			 struct fetch_string s)
{
	const uint8_t *text;
	uint64_t address;
	uint32_t n;

	if (arg->base == FETCH_COMM && (regs->record || sys_is_forbidden())) {
		/* the record may be another thread's, or this thread may make no system call */
		str_copy(to, s.bytes, ring_thread_comm());
	} else if (arg->base == FETCH_COMM) {
		char comm[16] = {0};

		sys_get_comm(comm);
		str_copy(to, s.bytes, comm);
	} else if (arg->base == FETCH_TEXT) {
		memcpy(to, arg->text + arg->text_at, s.bytes - 1u);
	} else if ((text = own_text(arg, regs, &n))) {
		str_copy(to, s.bytes, (const char *)text);
	} else if (s.at != FETCH_NOT_KEPT) {
		memcpy(to, regs->kept + s.at, s.bytes);
	} else if (address_of(arg, regs, &address) || read_all(regs, to, address, s.bytes)) {
		/*
		 * the string may have gone since it was measured; then there is room for one byte
		 */
		str_copy(to, s.bytes, FETCH_FAULT);
	}
	to[s.bytes - 1] = 0;
}

static void shift(const struct fetch_arg *arg, uint8_t *at)
{
	uint32_t unused = 64 - arg->type->size * 8u;
	uint64_t v = 0;

	memcpy(&v, at, arg->type->size);
	v = v << (arg->left + unused) >> (arg->right + unused);
	memcpy(at, &v, arg->type->size);
}

/* Widen a narrow number at the beginning of a wide field. */
static void widen(const struct fetch_arg *arg, uint8_t *to)
{
	uint64_t v = load_number(to, arg->narrow->size, arg->narrow->is_signed);

	memcpy(to, &v, arg->type->size);
}

void fetch_store(const struct fetch_arg *arg, const struct fetch_regs *regs, uint8_t *record,
		 uint32_t string_at, struct fetch_string string)
{
	uint8_t *to = record + arg->offset;
	uint32_t n = fetch_field_bytes(arg), i, location;
	uint64_t v = 0;

	if (arg->type->is_string) {
		location = string_at | (uint32_t)string.bytes << 16;
		memcpy(to, &location, 4);
		store_string(arg, regs, (char *)record + string_at, string);
		return;
	}
	memset(to, 0, n);
	if (arg->nr_derefs) {
		if (address_of(arg, regs, &v) ||
		    read_all(regs, to, v, arg->narrow ? arg->narrow->size : n))
			memset(to, 0, n);
	} else if (!base_value(arg, regs, &v)) {
		/*
		 * as in the kernel: each element of an array that is not memory is the same value
		 */
		for (i = 0; i < n; i += arg->type->size)
			memcpy(to + i, &v, arg->type->size);
	}
	if (arg->narrow)
		widen(arg, to);
	if (arg->right)
		for (i = 0; i < n; i += arg->type->size)
			shift(arg, to + i);
}
