/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory over time, as formats with a time line have it: what `spartito report memory` draws. */
#ifndef SP_WRITE_COMMON_HEAP_H
#define SP_WRITE_COMMON_HEAP_H

#include "base/err.h"
#include "model/memory.h"
#include "model/model.h"

enum sp_heap_what { SP_HEAP_BYTES, SP_HEAP_BLOCKS, SP_HEAP_RESIDENT, SP_HEAP_SERIES };
extern const struct sp_heap_series {
	const char *name, *what;
	bool bytes; /* otherwise a number */
} sp_heap_series[SP_HEAP_SERIES];

/* Whether it was recorded: a time line can show it where there are no events. */
bool sp_has_memory(const struct sp_model *m);

/* The heaps of an experiment, which a merged model has not, so that its raw files are read for them. */
struct sp_heaps {
	const struct sp_heap *all; /* of each process of the model; NULL: none */
	struct sp_model *raw;      /* owned; NULL: all is the model's */
};
/* 0, or -1 with e set; h is to be closed either way. */
int sp_heaps_open(struct sp_heaps *h, const struct sp_model *m, struct sp_err *e);
void sp_heaps_close(struct sp_heaps *h);
static inline const struct sp_heap *sp_heaps_of(const struct sp_heaps *h, uint32_t process)
{
	return h->all && h->all[process].there ? &h->all[process] : NULL;
}

/* What one of the series was at a moment. */
struct sp_heap_count {
	uint64_t time; /* ns since sp_model.begin_ns */
	uint64_t value;
	enum sp_heap_what what;
};
/* All of them in the order of time, the peaks among the points that were recorded. Owned; NULL: no memory. */
struct sp_heap_count *sp_heap_counts(const struct sp_heap *h, size_t *n);

#endif
