/* SPDX-License-Identifier: MIT */
/*
 * The functions of an ELF file that was built without a flag for tracing. For each function: the
 * way in which its entry can be redirected to an island (engine/hook), or the reason why it cannot.
 * Reads the file alone and changes nothing.
 *
 * Functions begin at the starts in .symtab, .dynsym and .eh_frame, and at starts that the caller
 * adds. A window is the first instructions of a function, which a redirect would replace. A map
 * marks each code address that may be the target of a direct branch, relocation, landing pad, jump
 * table, or address in code or data. It may mark more than the real targets, but misses none of
 * these. A mark inside a window rules that way out. The map keeps marks only at the beginnings of
 * functions and in the padding between them.
 *
 * The file is untrusted: every read is within it (elf_image.h), and the work is bounded by its
 * size. The caller supplies the memory, about 100 bytes a function. No state; of libc only memcpy()
 * and the like. One caller at a time for one struct entries.
 * Tests: tests/cli/test_doctor.py, tests/fuzz/entries.c, scripts/coverage.
 */
#ifndef VESTIGE_OBJECT_ENTRIES_H
#define VESTIGE_OBJECT_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "object/elf_image.h"

/* How a function's entry can be redirected, the best way first. */
enum entry_way {
	ENTRY_LONG,    /* its first instruction has 5 bytes or more: one store replaces it */
	ENTRY_MOVE,    /* several instructions are replaced: no thread may be between them */
	ENTRY_PADDING, /* a short jump to a long one in nearby padding: one store */
	ENTRY_REFUSED, /* `why` is the reason */
	ENTRY_NR_WAYS
};

enum entry_why {
	ENTRY_WHY_NONE,
	ENTRY_WHY_START,     /* the program's entry point */
	ENTRY_WHY_OUTERMOST, /* its unwind rules say that it has no caller */
	ENTRY_WHY_TWICE,     /* setjmp() and its kind, vfork(): it returns more than once */
	ENTRY_WHY_TLS,	     /* __tls_get_addr(): the engine itself may call it */
	ENTRY_WHY_DECODE,    /* an instruction is unknown */
	ENTRY_WHY_MOVE,	     /* an instruction cannot run elsewhere */
	ENTRY_WHY_CALL,	     /* a call before the window's last instruction */
	ENTRY_WHY_END,	     /* it ends before the window does */
	ENTRY_WHY_NEXT,	     /* another function begins in the window */
	ENTRY_WHY_BRANCH,    /* a branch leads into the window */
	ENTRY_WHY_ADDRESS,   /* a table or an address in data may lead into the window */
	ENTRY_WHY_LOOP,	     /* one of its branches leads back to its start */
	ENTRY_WHY_LIMIT,     /* the map of branch targets could not be made */
	ENTRY_WHY_RSEQ,	     /* its object has restartable sequences: code must stay in place */
	ENTRY_WHY_GO,	     /* its object is Go's, whose runtime has tables of all its code */
	ENTRY_NR_WHYS
};

struct entry {
	uint64_t at, end;
	uint8_t way;	    /* enum entry_way */
	uint8_t why;	    /* enum entry_why */
	uint8_t is_part;    /* .cold and the like: a part of another function */
	uint8_t never;	    /* enum entry_why: not 0: it is never redirected */
	uint8_t source;	    /* ENTRY_BY_* */
	uint8_t skip;	    /* bytes of endbr64; the jump is behind it */
	uint8_t bytes;	    /* bytes of the window behind `skip`, which runs on the island */
	uint8_t entry_only; /* it uses its return address: its calls must not be wrapped */
	int16_t padding;    /* ENTRY_PADDING: offset of the long jump from the short one */
};

#define ENTRY_BY_SYMBOL 1u
#define ENTRY_BY_FDE	2u

#define ENTRIES_BLOCK 16u /* bytes */
#define ENTRIES_READ  256u

/*
 * Language runtimes that walk stacks by return addresses (entry_walkers) or copy stacks to another
 * place and back (entry_copiers). Each is recognised by a function that its object exports.
 */
struct entry_runtime {
	const char *symbol, *what;
};
/* the last row has symbol NULL */
extern const struct entry_runtime entry_walkers[], entry_copiers[];

struct entries {
	struct elf_image image;
	struct entry *functions; /* by address */
	uint32_t nr, room, expected;
	uint64_t text_lo, text_hi;
	uint64_t *blocks; /* of text_lo .. text_hi: a bit for each block that has marks */
	uint32_t *before; /* the number of bits that are set before each word of `blocks` */
	uint8_t *marks;	  /* the marks of each byte of these blocks */
	size_t nr_marks;
	uint64_t work;		     /* table words that may still be read: a bound */
	uint64_t read[ENTRIES_READ]; /* the tables that were read last */
	int limited, has_rseq;
	const char *walks;  /* entry_runtime.what of a walker: all are entry_only; or NULL */
	const char *copies; /* the same of a copier: the process has no graph; or NULL */
	int is_go;	    /* it is Go's, whose runtime moves stacks and checks each thread's ip */
	void *(*get)(size_t bytes); /* zeroed memory; NULL: there is none */
	void (*put)(void *p, size_t bytes);
};

/*
 * entries_open() - find the functions of a file.
 * @file: in memory; it must stay there until entries_close().
 * @get, @put: allocate zeroed memory, and free it.
 * Return: 0, and entries_close() must follow; -ENOEXEC: it is not an ELF file of this machine, or
 * has no code; -ENOMEM.
 */
int entries_open(struct entries *e, const uint8_t *file, uint64_t bytes, void *(*get)(size_t bytes),
		 void (*put)(void *p, size_t bytes));
void entries_close(struct entries *e);

/*
 * entries_add() - add a start that the file itself does not have (its debug file has it).
 * @bytes: the function's size; 0: not known. @name: NULL: no name. Before entries_find_ways().
 * Return: 0 or -ENOMEM.
 */
int entries_add(struct entries *e, uint64_t at, uint64_t bytes, const char *name);

/*
 * entries_find_ways() - sort the functions, make the map, and find the way for each function.
 * Return: 0 or -ENOMEM.
 */
int entries_find_ways(struct entries *e);

/* A way or a reason in words. A constant string. */
const char *entry_way_text(enum entry_way way);
const char *entry_why_text(enum entry_why why);

#endif
