/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of values of the location that is being read. */
#ifndef SP_MODEL_BUILDER_ROWS_H
#define SP_MODEL_BUILDER_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"

struct sp_builder;
struct sp_loading;

/* Makes room for n more rows. Returns 0, or -1: no memory. */
int sp_rows_reserve(struct sp_builder *b, size_t n);
/* Widens every row for metrics that were just defined; there were `old` metrics before. Returns 0, or -1: no memory. */
int sp_rows_widen(struct sp_builder *b, size_t old);
/* Sorts the rows from `first` on by path and adds rows of the same path together; *n becomes the new number of rows.
 * Returns 0, or -1: no memory. */
int sp_rows_order(struct sp_builder *b, size_t first, size_t *n);

/* Finds the row of a node: its path and the values of its metrics; *path is SP_NONE if there is no such node. Returns
 * 0, or -1: no memory. */
typedef int sp_node_row_fn(void *arg, uint32_t node, uint32_t *path, uint64_t **values);
/* lock.c: adds the unfinished waits of a thread to the columns of its rows. end: end of the thread, ticks. */
int sp_build_open_waits(const struct sp_builder *b, const struct sp_loading *l, const struct sp_raw_thread *t,
                        uint64_t end, sp_node_row_fn *row, void *arg);
/* off_cpu.c: defines the metrics of off-CPU time, if the process measured it; adds the thread's values to the columns
 * of its rows, and sets *cpu as sp_location.cpu. end: end of the thread, ticks. Return 0, or -1: no memory. */
int sp_build_off_cpu_metrics(struct sp_builder *b, struct sp_loading *l);
int sp_build_off_cpu(const struct sp_builder *b, const struct sp_loading *l, struct sp_raw_thread *t, uint64_t end,
                     sp_node_row_fn *row, void *arg, double *cpu);
/* tally.c: reads the tallies of a thread. end: end of the thread, ticks. Returns 0, or -1: no memory. */
int sp_build_tally_rows(const struct sp_builder *b, struct sp_loading *l, const struct sp_raw_thread *t, uint64_t end,
                        sp_node_row_fn *row, void *arg);
/* memory.c. sp_build_sites() reads the allocation sites of a thread and adds their columns to the rows.
 * sp_build_memory() builds the heaps after the processes are sorted. Return 0, or -1: no memory. */
int sp_build_sites(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_thread *t, sp_node_row_fn *row,
                   void *arg);
int sp_build_heap(struct sp_builder *b, struct sp_loading *l); /* call before sp_build_sites() */
int sp_build_memory(struct sp_builder *b, struct sp_err *e);

#endif
