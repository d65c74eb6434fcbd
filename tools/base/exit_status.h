/* SPDX-License-Identifier: MIT */
/* Exit statuses of the commands. */
#ifndef VESTIGE_TOOLS_EXIT_STATUS_H
#define VESTIGE_TOOLS_EXIT_STATUS_H

/* Of every command but record and run, which return the exit status of the program they start. */
#define CMD_FAILURE 1
#define CMD_USAGE   2
/* Of record and run, with the values of env(1) and nohup(1). */
#define CMD_OURS	125 /* vestige failed: no start of the program, or an incomplete trace */
#define CMD_CANNOT_EXEC 126
#define CMD_NOT_FOUND	127

#endif
