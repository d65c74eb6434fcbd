/* SPDX-License-Identifier: MIT */
/*
 * See entries.h: the map of branch targets, and the way for each function's entry. Code is decoded
 * linearly from each start to the next one: compilers for this CPU put no data between
 * instructions, and code that does not decode rules out only its own function. A jump table begins
 * at an address that an instruction takes; it has 32-bit words, each the distance from the table to
 * code. Every such address is read as a table, up to the first word that does not lead to code.
 */
#include <errno.h>
#include <string.h>

#include "object/entries_impl.h"
#include "object/x86_64/insn.h"
#include "object/x86_64/return_slot.h"

#define WINDOW	    INSN_JUMP_BYTES
#define INT3	    0xccu
#define LEA	    0x8du
#define SHORT_REACH 127u
#define R_RELATIVE  R_X86_64_RELATIVE
#define R_IRELATIVE R_X86_64_IRELATIVE

/* The bits of `marks` for a byte. */
enum {
	BY_BRANCH = 1,	/* a branch or call leads here */
	BY_ADDRESS = 2, /* an address or a table leads here */
	DEAD = 4,	/* padding that no code runs into */
	START = 8,	/* a function begins */
	LOOPED = 16,	/* a branch of the function that begins here leads back to it */
	UNKNOWN = 32,	/* the function that begins here does not decode */
	RUNS_ON = 64,	/* the function that begins here may run on behind its end */
};

static uint32_t nr_bits(uint64_t v)
{
	v -= v >> 1 & UINT64_C(0x5555555555555555);
	v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
	v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(v * UINT64_C(0x0101010101010101) >> 56);
}

/* Most addresses are in no block; their marks are dropped. */
static inline uint8_t *mark_of(struct entries *e, uint64_t at)
{
	uint64_t in = at - e->text_lo, block = in / ENTRIES_BLOCK, word;
	uint32_t i;

	if (in >= e->text_hi - e->text_lo)
		return NULL;
	word = e->blocks[block / 64];
	if (!(word >> block % 64 & 1))
		return NULL;
	i = e->before[block / 64] + nr_bits(word & ((UINT64_C(1) << block % 64) - 1));
	return &e->marks[(size_t)i * ENTRIES_BLOCK + in % ENTRIES_BLOCK];
}

static void mark(struct entries *e, uint64_t at, uint8_t what)
{
	uint8_t *m = mark_of(e, at);

	if (m)
		*m |= what;
}

static uint8_t marked(struct entries *e, uint64_t at)
{
	const uint8_t *m = mark_of(e, at);

	return m ? *m : 0;
}

/* Whether it is code: data may be between two segments of code. */
static const uint8_t *code_at(const struct entries *e, uint64_t at, uint64_t *n)
{
	uint32_t i;

	for (i = 0; i < e->image.nr_segments; i++)
		if (at - e->image.segments[i].at < e->image.segments[i].bytes)
			return e->image.segments[i].flags & PF_X ? elf_image_at(&e->image, at, n)
								 : NULL;
	return NULL;
}

static int has_work(struct entries *e)
{
	if (e->work) {
		e->work--;
		return 1;
	}
	e->limited = 1;
	return 0;
}

static void read_table(struct entries *e, uint64_t at)
{
	uint64_t n, i;
	const uint8_t *p = elf_image_at(&e->image, at, &n);
	int32_t d;

	for (i = 0; p && i + 4 <= n && has_work(e); i += 4) {
		uint64_t to;

		memcpy(&d, p + i, 4);
		to = at + (uint64_t)(int64_t)d;
		if (to < e->text_lo || to >= e->text_hi)
			return;
		mark(e, to, BY_ADDRESS);
	}
}

/* An instruction takes an address. */
static void take_address(struct entries *e, uint64_t at)
{
	uint64_t *last = &e->read[at / 4 % ENTRIES_READ];

	mark(e, at, BY_ADDRESS);
	if (*last == at + 1) /* 0: none */
		return;
	*last = at + 1;
	read_table(e, at);
}

/* An address as a number, where the file is not position-independent. */
static void take_number(struct entries *e, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	if (e->image.head.e_type == ET_EXEC)
		take_address(e, v);
}

static void see_insn(struct entries *e, uint64_t at, const uint8_t *p, const struct insn *in,
		     uint64_t start)
{
	int32_t d;

	if (insn_has_target(in)) {
		uint64_t to = at + (uint64_t)in->target;

		mark(e, to, BY_BRANCH);
		/* past endbr64 it is the same call, too */
		if (in->kind != INSN_CALL && (to == start || to == start + ENTRY_ENDBR_BYTES))
			mark(e, start, LOOPED);
		return;
	}
	if (in->rip_relative && in->map == INSN_MAP_ONE && in->opcode == LEA) {
		memcpy(&d, p + in->disp_at, 4);
		take_address(e, at + in->bytes + (uint64_t)(int64_t)d);
	}
	if (in->imm_bytes == 4)
		take_number(e, p + in->imm_at);
	if (in->disp_bytes == 4 && !in->rip_relative)
		take_number(e, p + in->disp_at);
}

/*
 * A function does not go on behind a call that is its last instruction: the callee does not return.
 */
static int runs_on(const struct insn *in)
{
	return insn_goes_on(in) && in->kind != INSN_CALL && in->kind != INSN_CALL_INDIRECT;
}

/* The instructions of a function up to @hi. Return: whether all of them are known. */
static int sweep(struct entries *e, struct entry *f, uint64_t hi)
{
	struct insn in = {.kind = INSN_OTHER};
	uint64_t at, n = 0, lo = f->at;
	const uint8_t *p = NULL;
	struct return_slot slot;

	return_slot_begin(&slot);
	for (at = lo; at < hi; at += in.bytes, p += in.bytes, n -= in.bytes) {
		if (!n)
			p = code_at(e, at, &n);
		if (!p || !insn_decode(&in, p, n < hi - at ? n : hi - at))
			return 0;
		see_insn(e, at, p, &in, lo);
		return_slot_see(&slot, &in, p, (int64_t)(at - lo));
	}
	if (runs_on(&in))
		mark(e, lo, RUNS_ON);
	f->entry_only = (uint8_t)slot.touched;
	return 1;
}

/* Bytes of no function: code that no table names, or padding. Its branches count, too. */
static void sweep_gap(struct entries *e, uint64_t lo, uint64_t hi)
{
	uint64_t at, n;
	struct insn in;

	for (at = lo; at < hi;) {
		const uint8_t *p = code_at(e, at, &n);

		if (p && insn_decode(&in, p, n < hi - at ? n : hi - at)) {
			see_insn(e, at, p, &in, UINT64_MAX - 2 * ENTRY_ENDBR_BYTES);
			at += in.bytes;
		} else {
			at++;
		}
	}
}

static void take_word(struct entries *e, uint64_t at)
{
	uint64_t v;

	if (!elf_image_read(&e->image, at, &v, 8))
		mark(e, v, BY_ADDRESS);
}

static void read_rela(struct entries *e, uint64_t at, uint64_t bytes)
{
	Elf64_Rela r;

	for (; bytes >= sizeof(r) && !elf_image_read(&e->image, at, &r, sizeof(r)) && has_work(e);
	     at += sizeof(r), bytes -= sizeof(r))
		if (ELF64_R_TYPE(r.r_info) == R_RELATIVE || ELF64_R_TYPE(r.r_info) == R_IRELATIVE)
			mark(e, (uint64_t)r.r_addend, BY_ADDRESS);
}

static void read_relr(struct entries *e, uint64_t table, uint64_t bytes)
{
	uint64_t at = 0, word, bit;

	for (; bytes >= 8 && !elf_image_read(&e->image, table, &word, 8) && has_work(e);
	     table += 8, bytes -= 8) {
		if (!(word & 1)) {
			take_word(e, word);
			at = word + 8;
			continue;
		}
		for (bit = 1; bit < 64; bit++)
			if (word >> bit & 1)
				take_word(e, at + (bit - 1) * 8);
		at += UINT64_C(63) * 8;
	}
}

/* Without relocations, data has the addresses themselves, of 8 or 4 bytes. */
static void read_data(struct entries *e)
{
	uint32_t i;

	for (i = 0; i < e->image.nr_segments; i++) {
		uint64_t at = e->image.segments[i].at, n;
		const uint8_t *p = elf_image_at(&e->image, at, &n);

		if (e->image.segments[i].flags & PF_X || !p)
			continue;
		for (; n >= 4; n -= 4, p += 4) {
			uint32_t half;
			uint64_t word = 0;

			memcpy(&half, p, 4);
			if (n >= 8)
				memcpy(&word, p, 8);
			mark(e, half, BY_ADDRESS);
			mark(e, word, BY_ADDRESS);
		}
	}
}

static void mark_pad(struct entries *e, uint64_t pad)
{
	mark(e, pad, BY_ADDRESS);
}

/* Mark NOPs and INT3 of @lo .. @hi that no branch leads to. */
static void find_padding(struct entries *e, uint64_t lo, uint64_t hi)
{
	uint64_t at, n, k;
	struct insn in;

	for (at = lo; at < hi; at += in.bytes) {
		const uint8_t *p = code_at(e, at, &n);

		if (!p)
			return;
		if (*p == INT3)
			in.bytes = 1;
		else if (!insn_decode(&in, p, n < hi - at ? n : hi - at) || in.kind != INSN_NOP)
			return;
		if (marked(e, at) & (BY_BRANCH | BY_ADDRESS | START))
			return;
		for (k = 0; k < in.bytes; k++)
			mark(e, at + k, DEAD);
	}
}

static int before(const struct entry *a, const struct entry *b)
{
	return a->at < b->at;
}

static void sift(struct entry *f, uint32_t i, uint32_t n)
{
	struct entry moved = f[i];
	uint32_t k;

	for (; (k = 2 * i + 1) < n; i = k) {
		if (k + 1 < n && before(&f[k], &f[k + 1]))
			k++;
		if (!before(&moved, &f[k]))
			break;
		f[i] = f[k];
	}
	f[i] = moved;
}

/* Sort by address, and merge functions that begin at the same address. */
static void sort(struct entries *e)
{
	struct entry *f = e->functions;
	uint32_t i, n = e->nr;

	for (i = n / 2; i-- > 0;)
		sift(f, i, n);
	for (i = n; i-- > 1;) {
		struct entry first = f[0];

		f[0] = f[i];
		f[i] = first;
		sift(f, 0, i);
	}
	for (e->nr = 0, i = 0; i < n; i++) {
		struct entry *last = e->nr ? &f[e->nr - 1] : NULL;

		if (!last || last->at != f[i].at) {
			f[e->nr++] = f[i];
			continue;
		}
		last->end = f[i].end > last->end ? f[i].end : last->end;
		last->is_part |= f[i].is_part;
		last->never = last->never ? last->never : f[i].never;
		last->source |= f[i].source;
	}
}

/* The linker's stubs are not functions, although .eh_frame has rows for them. */
static void drop_stubs(struct entries *e)
{
	Elf64_Shdr s;
	uint32_t i, k, nr, nr_stubs = 0;

	for (i = 0; i < e->image.head.e_shnum && nr_stubs < 8; i++) {
		if (elf_image_section(&e->image, i, &s) ||
		    !elf_image_section_is(&e->image, &s, ".plt"))
			continue;
		nr_stubs++;
		for (nr = k = 0; k < e->nr; k++)
			if (e->functions[k].at - s.sh_addr >= s.sh_size)
				e->functions[nr++] = e->functions[k];
		e->nr = nr;
	}
}

static int has_section(const struct entries *e, const char *name)
{
	Elf64_Shdr s;
	uint32_t i;

	for (i = 0; i < e->image.head.e_shnum; i++)
		if (!elf_image_section(&e->image, i, &s) &&
		    elf_image_section_is(&e->image, &s, name))
			return 1;
	return 0;
}

static uint64_t next_start(const struct entries *e, uint32_t i)
{
	return i + 1 < e->nr ? e->functions[i + 1].at : e->text_hi;
}

/* Keep marks of @lo .. @hi. */
static void want_marks(struct entries *e, uint64_t lo, uint64_t hi)
{
	uint64_t block = (lo - e->text_lo) / ENTRIES_BLOCK, end;

	hi = hi < e->text_hi ? hi : e->text_hi;
	end = (hi - e->text_lo + ENTRIES_BLOCK - 1) / ENTRIES_BLOCK;
	for (; lo < hi && block < end; block++)
		e->blocks[block / 64] |= UINT64_C(1) << block % 64;
}

/* Allocate the marks that are needed below: of windows and of padding. */
static int make_marks(struct entries *e)
{
	uint64_t words = entries_block_words(e), nr = 0, i;

	e->blocks = e->get(entries_blocks_bytes(e));
	if (!e->blocks)
		return -ENOMEM;
	e->before = (uint32_t *)(e->blocks + words);
	for (i = 0; i < e->nr; i++) {
		const struct entry *f = &e->functions[i];
		uint64_t next = next_start(e, (uint32_t)i);

		want_marks(e, f->at, f->at + ENTRY_ENDBR_BYTES + INSN_MAX_BYTES + WINDOW);
		if (f->end && f->end < next)
			want_marks(e, f->end, next);
	}
	for (i = 0; i < words; nr += nr_bits(e->blocks[i++]))
		e->before[i] = (uint32_t)nr;
	e->nr_marks = (nr + 1) * ENTRIES_BLOCK;
	e->marks = e->get(e->nr_marks);
	return e->marks ? 0 : -ENOMEM;
}

static void make_map(struct entries *e)
{
	uint64_t last = e->text_lo;
	uint32_t i;

	for (i = 0; i < e->nr; i++) {
		struct entry *f = &e->functions[i];
		uint64_t next = next_start(e, i), end;

		mark(e, f->at, START);
		if (!f->end)
			f->end = next;
		if (last < f->at)
			sweep_gap(e, last, f->at);
		end = f->end < next ? f->end : next;
		if (!sweep(e, f, end))
			mark(e, f->at, UNKNOWN);
		last = end;
	}
	sweep_gap(e, last, e->text_hi);
	entries_landing_pads(e, mark_pad);
	read_rela(e, elf_image_dynamic(&e->image, DT_RELA),
		  elf_image_dynamic(&e->image, DT_RELASZ));
	read_rela(e, elf_image_dynamic(&e->image, DT_JMPREL),
		  elf_image_dynamic(&e->image, DT_PLTRELSZ));
	read_relr(e, elf_image_dynamic(&e->image, 36), elf_image_dynamic(&e->image, 35));
	if (e->image.head.e_type == ET_EXEC)
		read_data(e);
	for (i = 0; i < e->nr; i++)
		if (e->functions[i].end < next_start(e, i) &&
		    !(marked(e, e->functions[i].at) & (RUNS_ON | UNKNOWN)))
			find_padding(e, e->functions[i].end, next_start(e, i));
}

/*
 * Check the instructions of a window that begins at @at. @least: bytes that it must have; its last
 * instruction may end behind them. @first: is set to the bytes of the first instruction, @moved: of
 * all. Return: why they cannot be moved.
 */
static enum entry_why see_window(struct entries *e, const struct entry *f, uint64_t at,
				 uint32_t least, uint32_t *first, uint32_t *moved)
{
	uint32_t off = 0;
	struct insn in;
	uint64_t n;

	*first = *moved = 0;
	while (off < least) {
		uint8_t out[INSN_MAX_MOVED];
		const uint8_t *p = code_at(e, at + off, &n);

		if (at + off >= f->end) {
			if (!(marked(e, at + off) & DEAD))
				return ENTRY_WHY_END;
			off++;
			continue;
		}
		if (!p || !insn_decode(&in, p, n < f->end - at - off ? n : f->end - at - off))
			return ENTRY_WHY_DECODE;
		if (!*first)
			*first = in.bytes;
		if (insn_move(&in, p, at + off, at + off, out) < 0)
			return ENTRY_WHY_MOVE;
		if ((in.kind == INSN_CALL || in.kind == INSN_CALL_INDIRECT) &&
		    off + in.bytes < least)
			return ENTRY_WHY_CALL;
		off += in.bytes;
		*moved = off;
		if (insn_goes_on(&in))
			continue;
		for (; off < least; off++)
			if (!(marked(e, at + off) & DEAD))
				return ENTRY_WHY_END;
	}
	return ENTRY_WHY_NONE;
}

static enum entry_why leads_into(struct entries *e, uint64_t at, uint32_t n)
{
	uint32_t k;

	for (k = 1; k < n; k++) {
		uint8_t m = marked(e, at + k);

		if (m & START)
			return ENTRY_WHY_NEXT;
		if (m & BY_BRANCH)
			return ENTRY_WHY_BRANCH;
		if (m & BY_ADDRESS)
			return ENTRY_WHY_ADDRESS;
	}
	return ENTRY_WHY_NONE;
}

/*
 * Find padding that a short jump at @at reaches, before or behind it, and mark it as used.
 */
static int take_padding(struct entries *e, uint64_t at, int16_t *where)
{
	uint64_t lo = at + 2 - SHORT_REACH - 1, hi = at + 2 + SHORT_REACH, a;
	uint32_t k = 0;

	for (a = lo; a <= hi + WINDOW - 1; a++) {
		k = marked(e, a) & DEAD ? k + 1 : 0;
		if (k < WINDOW)
			continue;
		for (k = 0; k < WINDOW; k++)
			*mark_of(e, a - k) &= (uint8_t)~DEAD;
		*where = (int16_t)(int64_t)(a - (WINDOW - 1) - at);
		return 1;
	}
	return 0;
}

static enum entry_why choose(struct entries *e, struct entry *f)
{
	uint64_t at = f->at, n;
	const uint8_t *p = code_at(e, at, &n);
	enum entry_why why, into;
	struct insn in;
	uint32_t first, moved, k;

	if (f->never)
		return f->never;
	if (e->limited)
		return ENTRY_WHY_LIMIT;
	if (e->has_rseq)
		return ENTRY_WHY_RSEQ;
	if (e->is_go)
		return ENTRY_WHY_GO;
	if (!p || marked(e, at) & UNKNOWN || !insn_decode(&in, p, n))
		return ENTRY_WHY_DECODE;
	if (marked(e, at) & LOOPED)
		return ENTRY_WHY_LOOP;
	/* the site lies behind endbr64, as everywhere */
	if (in.kind == INSN_ENDBR && at + in.bytes < f->end)
		at += in.bytes;
	f->skip = (uint8_t)(at - f->at);
	why = see_window(e, f, at, WINDOW, &first, &moved);
	into = leads_into(e, at, WINDOW);
	if (!why && !into) {
		f->way = first >= WINDOW ? ENTRY_LONG : ENTRY_MOVE;
		f->bytes = (uint8_t)moved;
		/* the padding behind a short function is reserved for its own jump */
		for (k = moved; k < WINDOW; k++)
			*mark_of(e, at + k) &= (uint8_t)~DEAD;
		return ENTRY_WHY_NONE;
	}
	/* then only two bytes change, of an instruction that runs on the island */
	if (!see_window(e, f, at, 2, &first, &moved) && first >= 2 && !leads_into(e, at, first) &&
	    take_padding(e, at, &f->padding)) {
		f->way = ENTRY_PADDING;
		f->bytes = (uint8_t)first;
		return ENTRY_WHY_NONE;
	}
	return into ? into : why;
}

int entries_find_ways(struct entries *e)
{
	uint32_t i;
	int err;

	sort(e);
	drop_stubs(e);
	err = make_marks(e);
	if (err)
		return err;
	make_map(e);
	/* other tables have the begin, end and abort address of each sequence */
	e->has_rseq = has_section(e, "__rseq_cs");
	e->is_go = has_section(e, ".gopclntab") || has_section(e, ".data.rel.ro.gopclntab");
	for (i = 0; i < e->nr; i++) {
		struct entry *f = &e->functions[i];

		f->way = ENTRY_REFUSED;
		f->entry_only |= e->walks != NULL;
		if (!f->is_part)
			f->why = (uint8_t)choose(e, f);
	}
	return 0;
}
