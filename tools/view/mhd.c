/* SPDX-License-Identifier: MIT */
/* See mhd.h. MICROHTTPD_SONAME belongs to the library whose header is used. */
#include "tools/view/mhd.h"

#include "tools/base/late_library.h"

struct mhd_functions mhd;

static const struct late_function functions[] = {
	{"MHD_add_response_header", &mhd.add_response_header},
	{"MHD_create_response_from_buffer", &mhd.create_response_from_buffer},
	{"MHD_destroy_response", &mhd.destroy_response},
	{"MHD_get_daemon_info", &mhd.get_daemon_info},
	{"MHD_get_fdset2", &mhd.get_fdset2},
	{"MHD_get_timeout", &mhd.get_timeout},
	{"MHD_lookup_connection_value", &mhd.lookup_connection_value},
	{"MHD_queue_response", &mhd.queue_response},
	{"MHD_run_from_select", &mhd.run_from_select},
	{"MHD_start_daemon", &mhd.start_daemon},
	{"MHD_stop_daemon", &mhd.stop_daemon},
};

int mhd_load(void)
{
	return late_library(MICROHTTPD_SONAME, functions, sizeof(functions) / sizeof(*functions),
			    "the web view");
}
