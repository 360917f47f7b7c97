/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory over time, for formats with a timeline: the series that `spartito report memory` draws. */
#ifndef SP_WRITE_COMMON_HEAP_H
#define SP_WRITE_COMMON_HEAP_H

#include "base/err.h"
#include "model/memory.h"
#include "model/model.h"

enum sp_heap_what { SP_HEAP_BYTES, SP_HEAP_BLOCKS, SP_HEAP_RESIDENT, SP_HEAP_SERIES };
extern const struct sp_heap_series {
	const char *name, *what;
	bool bytes; /* true: bytes; false: a number */
} sp_heap_series[SP_HEAP_SERIES];

/* Whether memory was recorded: then a timeline can show it even without events. */
bool sp_has_memory(const struct sp_model *m);

/* The heaps of an experiment. A model from the merged file does not contain them; then the raw files are read. */
struct sp_heaps {
	const struct sp_heap *all; /* for each process of the model; NULL: no heaps */
	struct sp_model *raw;      /* owned; NULL: `all` belongs to the model */
};
/* Returns 0, or -1 with e set; call sp_heaps_close() in both cases. */
int sp_heaps_open(struct sp_heaps *h, const struct sp_model *m, struct sp_err *e);
void sp_heaps_close(struct sp_heaps *h);
static inline const struct sp_heap *sp_heaps_of(const struct sp_heaps *h, uint32_t process)
{
	return h->all && h->all[process].there ? &h->all[process] : NULL;
}

/* The value of one series at one time. */
struct sp_heap_count {
	uint64_t time; /* ns since sp_model.begin_ns */
	uint64_t value;
	enum sp_heap_what what;
};
/* All values in the order of time, including the peaks. The caller owns the array; NULL: no memory. */
struct sp_heap_count *sp_heap_counts(const struct sp_heap *h, size_t *n);

#endif
