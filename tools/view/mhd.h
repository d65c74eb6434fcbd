/* SPDX-License-Identifier: MIT */
/*
 * libmicrohttpd is loaded only when a server starts: with GnuTLS, which it needs, it takes as long
 * to load as all other libraries of a command together.
 */
#ifndef VESTIGE_TOOLS_MHD_H
#define VESTIGE_TOOLS_MHD_H

#include <microhttpd.h>

/* mhd.NAME is MHD_NAME(). */
extern struct mhd_functions {
	__typeof__(MHD_add_response_header) *add_response_header;
	__typeof__(MHD_create_response_from_buffer) *create_response_from_buffer;
	__typeof__(MHD_destroy_response) *destroy_response;
	__typeof__(MHD_get_daemon_info) *get_daemon_info;
	__typeof__(MHD_get_fdset2) *get_fdset2;
	__typeof__(MHD_get_timeout) *get_timeout;
	__typeof__(MHD_lookup_connection_value) *lookup_connection_value;
	__typeof__(MHD_queue_response) *queue_response;
	__typeof__(MHD_run_from_select) *run_from_select;
	__typeof__(MHD_start_daemon) *start_daemon;
	__typeof__(MHD_stop_daemon) *stop_daemon;
} mhd;

/* Before the first use of mhd. Return: 0, or -ENOENT with fail() set. */
int mhd_load(void);

#endif
