/* SPDX-License-Identifier: MIT */
/*
 * The flags of all commands: one parser, one wording of errors, and the help text from the same
 * rows.
 *
 *	-x  -xVALUE  -x VALUE  --name  --name=VALUE  --name VALUE
 *
 * Switches of one letter may be together (-av), and a long name may be cut where it is still the
 * only one. `--` ends the flags. Flags may be behind words, unless the words are a program and
 * its arguments.
 */
#ifndef VESTIGE_TOOLS_OPTIONS_H
#define VESTIGE_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

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
	const char *value; /* what its value is called in the help; NULL: it is a switch */
	const char *help;  /* a paragraph, which is broken into lines where it is printed */
	/*
	 * Takes the flag. @to: given to options_parse() for its table. @value: NULL of a switch.
	 * Return: 0, or what options_bad() returned. NULL: the switch is a bool, the value a const
	 * char *, at
	 * @offset of @to.
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
	const char *no_words; /* the error of a word where there are none; NULL: the usual */
	const char *what;     /* one line for `vestige --help` */
	const char *help;     /* below the usage line; ends with a newline */
	const struct flag *const *flags; /* tables of them, the last NULL; NULL: there are none */
	const char *more;		 /* below the flags; NULL */
	bool runs_program;		 /* the first word ends the flags */
	bool keeps_dashes;		 /* a `--` in front of all words is one of them */
	int usage_status;		 /* exit status of a wrong flag; 0: CMD_USAGE */
	const struct command *const
		*subs; /* commands named by the next word, NULL behind; NULL: none */
	int (*run)(const struct command *c, int argc, char **argv);
};

/*
 * options_parse() - take the flags of a command.
 * @to: for each of its tables what its flags are stored in.
 * @argc, @argv: the command's; on success the words that are left, and NULL behind them. Borrowed.
 * Return: -1 to go on, else the exit status: 0 the help was printed; of a wrong flag, or of a word
 * where the command has none, the error was.
 */
int options_parse(const struct command *c, void *const *to, int *argc, char ***argv);

/* Report a wrong value: `vestige: COMMAND: FLAG: WHAT: VALUE`. Return: the exit status. */
int options_bad(const struct parsing *p, const char *what, const char *value);

/*
 * Report any other error in the words, with the way to the help. Return: the exit status.
 */
int options_wrong(const struct command *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A number from 1 to @max. Return: whether it is one. */
bool options_number(const char *text, unsigned long long max, unsigned long long *n);

/*
 * The same for a flag. @what: the text of the error, such as "not a number of rows". Return: 0, or
 * the exit status.
 */
int options_take_number(const struct parsing *p, const char *value, unsigned long long max,
			const char *what, unsigned long long *n);

/* Print usage, flags and the other paragraphs of the help on stdout. */
void options_help(const struct command *c);

#endif
