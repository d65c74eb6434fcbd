/* SPDX-License-Identifier: MIT */
/* The system `kmem` of every process: malloc() and its kind. */
#ifndef VESTIGE_EVENTS_KMEM_EVENT_H
#define VESTIGE_EVENTS_KMEM_EVENT_H

/* Register the events, where they can be seen. Constructor context. Return: 0 or -ENOMEM. */
int kmem_events_start(void);

#endif
