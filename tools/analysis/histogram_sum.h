/* SPDX-License-Identifier: MIT */
/* Histograms of several processes as one, and the order of rows. */
#ifndef VESTIGE_TOOLS_HISTOGRAM_SUM_H
#define VESTIGE_TOOLS_HISTOGRAM_SUM_H

#include "tools/area/histogram.h"

/*
 * histogram_add() - add the counts of @from to @to: values of rows with the same keys are added;
 * data of a key that is no number stays as in @to. If @from has other fields, nothing is added.
 * Return: 0 or -ENOMEM with fail() set.
 */
int histogram_add(struct histogram *to, const struct histogram *from);

/* Whether they are the same trigger. */
bool histogram_same(const struct histogram *a, const struct histogram *b);

/* Put the rows in the order that its trigger asks for. Return: 0 or -ENOMEM with fail() set. */
int histogram_sort(struct histogram *h);

#endif
