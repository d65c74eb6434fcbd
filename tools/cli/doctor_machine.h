/* SPDX-License-Identifier: MIT */
/* `vestige doctor` without a program: what this machine and this user allow. */
#ifndef VESTIGE_TOOLS_DOCTOR_MACHINE_H
#define VESTIGE_TOOLS_DOCTOR_MACHINE_H

#include <stdbool.h>

/*
 * doctor_machine() - print a row for each thing that tracing depends on: how it is, and where that
 * is less than could be, what is missing and what would change it. @json: as a line of JSON.
 * Return: 0 or -errno with fail() set. Nothing is changed, no process is started.
 */
int doctor_machine(bool json);

#endif
