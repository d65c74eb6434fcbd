/* SPDX-License-Identifier: MIT */
/* `vestige view --record`: makes the recording first. Tests: tests/cli/test_view_record.py. */
#ifndef VESTIGE_TOOLS_VIEW_RECORD_H
#define VESTIGE_TOOLS_VIEW_RECORD_H

/*
 * view_record() - run a program under `vestige record -p function_graph`, until it has ended.
 * Ctrl-C reaches only the program meanwhile.
 * @file: the output. @program: its words, the last NULL.
 * Return: 0: @file was written, whatever the program's exit status; else record's exit status,
 * after a line on stderr.
 */
int view_record(const char *file, char *const *program);

#endif
