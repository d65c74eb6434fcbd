/* SPDX-License-Identifier: MIT */
/* Exit statuses of the commands. */
#ifndef VESTIGE_TOOLS_EXIT_STATUS_H
#define VESTIGE_TOOLS_EXIT_STATUS_H

/* Of every command but record and run, which pass the child's on. */
#define CMD_FAILURE 1
#define CMD_USAGE   2
/* Of record and run, as env(1) and nohup(1) have them. */
#define CMD_OURS	125 /* we failed, the program did not start or its trace is not complete */
#define CMD_CANNOT_EXEC 126
#define CMD_NOT_FOUND	127

#endif
