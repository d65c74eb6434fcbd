/* SPDX-License-Identifier: MIT */
/*
 * The flags of all commands: one parser, the same error messages, and the help text from the same
 * tables.
 *
 *	-x  -xVALUE  -x VALUE  --name  --name=VALUE  --name VALUE
 *
 * Switches of one letter may be together (-av). A long name may be abbreviated if that is
 * unambiguous. `--` ends the flags. Flags may be behind words, unless the words are a program and
 * its arguments.
 */
#ifndef VESTIGE_TOOLS_OPTIONS_H
#define VESTIGE_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct command;
struct flag;

/* The command being parsed, for functions that take a flag's value. */
struct parsing {
	const struct command *command;
	const struct flag *flag;
	const char *typed; /* the flag as the user wrote it: -b, --cpu */
};

struct flag {
	char letter;	   /* 0: it has none */
	const char *name;  /* of --NAME; NULL: it has none */
	const char *value; /* the name of its value in the help; NULL: it is a switch */
	const char *help;  /* a paragraph, which is broken into lines where it is printed */
	/*
	 * Takes the flag. @to: from options_parse(), for its table. @value: NULL for a switch.
	 * Return: 0, or the result of options_bad(). If take is NULL, a bool (of a switch) or a
	 * const char * is stored at `offset` of @to.
	 */
	int (*take)(const struct parsing *p, void *to, const char *value);
	size_t offset;
	const char *const
		*values; /* the words that the value can be, the last NULL; NULL: others */
};

#define FLAGS_END                                                                                  \
	{                                                                                          \
		0                                                                                  \
	}

/* `vestige NAME`. */
struct command {
	const char *name;
	const char *words;    /* behind the flags in the usage line: "[FILE]"; "": none */
	const char *no_words; /* the error for a word if none is allowed; NULL: the usual */
	const char *what;     /* one line for `vestige --help` */
	const char *help;     /* below the usage line; ends with a newline */
	const struct flag *const *flags; /* tables of them, the last NULL; NULL: there are none */
	const char *const *refused; /* names of these that are not in the help, the last NULL */
	const char *more;	    /* below the flags; NULL */
	bool runs_program;	    /* the first word ends the flags */
	bool keeps_dashes;	    /* a `--` in front of all words is kept as a word */
	int usage_status;	    /* exit status of a wrong flag; 0: CMD_USAGE */
	const struct command *const
		*subs; /* commands named by the next word, NULL behind; NULL: none */
	int (*run)(const struct command *c, int argc, char **argv);
};

/*
 * options_parse() - take the flags of a command.
 * @to: for each of its tables the object in which its flags are stored.
 * @argc, @argv: the command's; on success the remaining words, ended by NULL. Borrowed.
 * Return: -1 to go on; else the exit status: 0: the help was printed; else an error was printed,
 * for a wrong flag or for a word if the command takes none.
 */
int options_parse(const struct command *c, void *const *to, int *argc, char ***argv);

/* Report a wrong value: `vestige: COMMAND: FLAG: WHAT: VALUE`. Return: the exit status. */
int options_bad(const struct parsing *p, const char *what, const char *value);

/*
 * Report any other error in the words, with a hint to the help. Return: the exit status.
 */
int options_wrong(const struct command *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Parse a number from 1 to @max. Return: whether it is one. */
bool options_number(const char *text, unsigned long long max, unsigned long long *n);

/*
 * Values of flags. Return: 0, or the exit status after options_bad().
 *
 * options_take_number() - a decimal number from @least to @most. @what: the text of the error, such
 * as "not a number of rows".
 * options_take_cpu() - the number of a CPU, from 0.
 * options_take_offset() - a number of 64 bits with a sign or without; 0x and 0 as in C.
 */
int options_take_number(const struct parsing *p, const char *value, unsigned long long least,
			unsigned long long most, const char *what, unsigned long long *n);
int options_take_cpu(const struct parsing *p, const char *value, int *cpu);
int options_take_offset(const struct parsing *p, const char *value, int64_t *offset);

/* Does the command refuse this flag of its tables, so that its help has not got it? */
bool options_refused(const struct command *c, const struct flag *f);

/* Print usage, flags and the other paragraphs of the help on stdout. */
void options_help(const struct command *c);

#endif
