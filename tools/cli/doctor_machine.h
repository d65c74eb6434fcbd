/* SPDX-License-Identifier: MIT */
/* `vestige doctor` without a program: what can be traced on this machine by this user. */
#ifndef VESTIGE_TOOLS_DOCTOR_MACHINE_H
#define VESTIGE_TOOLS_DOCTOR_MACHINE_H

#include <stdbool.h>

/*
 * doctor_machine() - print a row for each thing that tracing depends on: its state, and if that is
 * not the best possible, the effect and the remedy. @json: print a line of JSON.
 * Return: 0 or -errno with fail() set. It changes nothing and starts no process.
 */
int doctor_machine(bool json);

#endif
