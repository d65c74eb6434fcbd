/* SPDX-License-Identifier: MIT */
/*
 * Field numbers of Perfetto's trace, which the import reads and the export writes. Source:
 * protos/perfetto/trace/, described at perfetto.dev/docs/reference/trace-packet-proto.
 */
#ifndef VESTIGE_TOOLS_PERFETTO_FIELDS_H
#define VESTIGE_TOOLS_PERFETTO_FIELDS_H

enum { TRACE_PACKET = 1 };
enum perfetto_packet {
	PACKET_FTRACE = 1,
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_CLEARED = 41,
	PACKET_COMPRESSED = 50, /* by zlib: TRACE_PACKET fields */
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_DESCRIPTOR = 60,
	PACKET_ZSTD = 133 /* the same by zstd */
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum perfetto_event {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_FLOWS = 47,
	EVENT_FLOWS_END = 48
};
enum { TYPE_BEGIN = 1, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };

/* The category of our events that have no other purpose than to begin or end a flow. */
#define PERFETTO_FLOW_CATEGORY "flow"

#endif
