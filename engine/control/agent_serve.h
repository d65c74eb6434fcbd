/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_CONTROL_AGENT_SERVE_H
#define VESTIGE_CONTROL_AGENT_SERVE_H

/*
 * Map the memory for requests and answers. Constructor context or a fork's child. Return: 0 or
 * -errno.
 */
int agent_serve_start(void);

/*
 * Serve the one request of a client. @fd: a stream socket; the caller closes it. In the agent; ends
 * early when the agent is to end.
 */
void agent_serve(int fd);

#endif
