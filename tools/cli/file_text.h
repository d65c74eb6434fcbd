/* SPDX-License-Identifier: MIT */
/* For commands that have one FILE and no flag of their own, and print one text of it. */
#ifndef VESTIGE_TOOLS_FILE_TEXT_H
#define VESTIGE_TOOLS_FILE_TEXT_H

#include "tools/cli/cmd.h"
#include "tools/reader/reader.h"
#include "tools/text/out.h"

/*
 * file_text_run() - a command's run(): parse its words, and print FILE (default: trace.dat).
 * @print: writes the text of the reader's records. Return: 0 or -errno with fail() set.
 * @what: names the text in the message if stdout cannot be written, such as "the graph".
 * Return: the exit status, after a message.
 */
int file_text_run(const struct command *c, int argc, char **argv,
		  int (*print)(struct reader *r, struct out *o), const char *what);

/*
 * file_text_print() - the printing alone, of the file @path. Return: 0 or -errno with fail() set.
 */
int file_text_print(const char *path, int (*print)(struct reader *r, struct out *o),
		    const char *what);

#endif
