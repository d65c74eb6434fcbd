/* SPDX-License-Identifier: MIT */
/*
 * The functions of an ELF file that was not built to be traced, and for each the way its entry can
 * be redirected to an island (engine/hook), or why not. Looks at the file alone and changes nothing.
 *
 * Functions are the starts that .symtab, .dynsym and the whole of .eh_frame name, and those that
 * the caller adds. A map marks each address of code that may be a target: of direct branches,
 * relocations, landing pads, jump tables, addresses in code and data. It marks more than the real
 * targets, and never misses a known one. A mark within a window rules that way out. Marks are kept
 * where they are asked for: at the beginnings of functions and between them.
 *
 * The file is untrusted: every read is within it (elf_image.h), and work grows with its size.
 * Memory is the caller's: about 100 bytes a function. No state, no libc
 * but memcpy and its like; a caller at a time for one struct entries.
 * Tests: tests/cli/test_doctor.py, tests/fuzz/entries.c, scripts/coverage.
 */
#ifndef VESTIGE_OBJECT_ENTRIES_H
#define VESTIGE_OBJECT_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "object/elf_image.h"

/* How a function's entry can be redirected, the best way first. */
enum entry_way {
	ENTRY_LONG,    /* its first instruction has five bytes or more: one store */
	ENTRY_MOVE,    /* several instructions are moved: no thread may be among them */
	ENTRY_PADDING, /* a short jump to a long one in padding before it: one store */
	ENTRY_REFUSED, /* `why` says the reason */
	ENTRY_NR_WAYS
};

enum entry_why {
	ENTRY_WHY_NONE,
	ENTRY_WHY_START,     /* the program's entry point */
	ENTRY_WHY_OUTERMOST, /* its rows say that it returns to no caller */
	ENTRY_WHY_TWICE,     /* setjmp() and its kind, vfork(): it returns more than once */
	ENTRY_WHY_TLS,	     /* __tls_get_addr(): the engine itself may need it */
	ENTRY_WHY_DECODE,    /* an instruction is not known */
	ENTRY_WHY_MOVE,	     /* an instruction cannot run elsewhere */
	ENTRY_WHY_CALL,	     /* a call before the window's last instruction */
	ENTRY_WHY_END,	     /* it ends before the window does */
	ENTRY_WHY_NEXT,	     /* another function begins in the window */
	ENTRY_WHY_BRANCH,    /* a branch leads into the window */
	ENTRY_WHY_ADDRESS,   /* a table or an address in data may lead into the window */
	ENTRY_WHY_LOOP,	     /* a branch of its own leads back to its start */
	ENTRY_WHY_LIMIT,     /* the map of branch targets could not be made */
	ENTRY_WHY_RSEQ,	     /* its object has restartable sequences, which end where code lies */
	ENTRY_WHY_GO,	     /* its object is Go's, whose runtime has tables of all its code */
	ENTRY_NR_WHYS
};

struct entry {
	uint64_t at, end;
	uint8_t way;	    /* enum entry_way */
	uint8_t why;	    /* enum entry_why */
	uint8_t is_part;    /* .cold and its like: a piece of another function, and none itself */
	uint8_t never;	    /* enum entry_why: it is never redirected */
	uint8_t source;	    /* ENTRY_BY_* */
	uint8_t skip;	    /* bytes of endbr64, behind which the jump is */
	uint8_t bytes;	    /* of the instructions behind these that run elsewhere then */
	uint8_t entry_only; /* it touches its return address: its calls must not be wrapped */
	int16_t padding;    /* ENTRY_PADDING: where the long jump is, from the short one */
};

#define ENTRY_BY_SYMBOL 1u
#define ENTRY_BY_FDE	2u

#define ENTRIES_BLOCK 16u /* bytes */
#define ENTRIES_READ  256u

/*
 * What walks stacks by return addresses, and what copies stacks elsewhere and back: by a function
 * that its object exports.
 */
struct entry_runtime {
	const char *symbol, *what;
};
/* the last has no symbol */
extern const struct entry_runtime entry_walkers[], entry_copiers[];

struct entries {
	struct elf_image image;
	struct entry *functions; /* by address */
	uint32_t nr, room, expected;
	uint64_t text_lo, text_hi;
	uint64_t *blocks; /* of text_lo .. text_hi: a bit for each that has marks */
	uint32_t *before; /* such blocks before each word of these */
	uint8_t *marks;	  /* what is known of each byte of such a block */
	size_t nr_marks;
	uint64_t work;		     /* words of tables that may still be looked at */
	uint64_t read[ENTRIES_READ]; /* tables that were looked at of late */
	int limited, has_rseq;
	const char *walks;  /* .what walks stacks by return addresses: all is entry_only; or NULL */
	const char *copies; /* .what copies stacks: beside it there is no graph at all; or NULL */
	int is_go; /* it is Go's: it moves its stacks, and checks where each of its threads is */
	void *(*get)(size_t bytes); /* zeroed; NULL: there is none */
	void (*put)(void *p, size_t bytes);
};

/*
 * entries_open() - find the functions of a file in memory, which stays there.
 * @get, @put: memory. Return: 0; -ENOEXEC: it is no such file, or has no code; -ENOMEM. After
 * success entries_close() frees.
 */
int entries_open(struct entries *e, const uint8_t *file, uint64_t bytes, void *(*get)(size_t bytes),
		 void (*put)(void *p, size_t bytes));
void entries_close(struct entries *e);

/*
 * entries_add() - add a start that the file itself does not have (its debug file has it).
 * @bytes: the function's, 0: not known. @name: NULL: it has none. Before entries_find_ways().
 * Return: 0 or -ENOMEM.
 */
int entries_add(struct entries *e, uint64_t at, uint64_t bytes, const char *name);

/*
 * entries_find_ways() - sort the functions, make the map, and find the way of each.
 * Return: 0 or -ENOMEM.
 */
int entries_find_ways(struct entries *e);

/* A way and a reason in words. */
const char *entry_way_text(enum entry_way way);
const char *entry_why_text(enum entry_why why);

#endif
