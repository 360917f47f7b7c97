/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of values while a location is read. */
#ifndef SP_MODEL_BUILDER_ROWS_H
#define SP_MODEL_BUILDER_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"

struct sp_builder;
struct sp_loading;

/* Room for n more rows; -1 without memory. */
int sp_rows_reserve(struct sp_builder *b, size_t n);
/* Makes room in every row for metrics that were just defined; before there were `old`. */
int sp_rows_widen(struct sp_builder *b, size_t old);
/* Puts rows in the order of their paths and makes those of one path one; *n becomes their number. */
int sp_rows_order(struct sp_builder *b, size_t first, size_t *n);

/* The path and the values of metrics of a node's row; SP_NONE: there is no such node. -1: no memory. */
typedef int sp_node_row_fn(void *arg, uint32_t node, uint32_t *path, uint64_t **values);
/* lock.c: adds the waits of a thread that have not ended to the columns of rows; end: ticks. */
int sp_build_open_waits(const struct sp_builder *b, const struct sp_loading *l, const struct sp_raw_thread *t,
                        uint64_t end, sp_node_row_fn *row, void *arg);
/* memory.c. The sites of a thread, of which what they hold of columns is added to rows. The heaps, when the processes
 * are in order. -1: no memory. */
int sp_build_sites(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_thread *t, sp_node_row_fn *row,
                   void *arg);
int sp_build_heap(struct sp_builder *b, struct sp_loading *l); /* before the threads */
int sp_build_memory(struct sp_builder *b, struct sp_err *e);

#endif
