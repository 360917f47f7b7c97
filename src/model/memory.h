/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: what lines of call paths allocated, and the heap of a process. */
#ifndef SP_MODEL_MEMORY_H
#define SP_MODEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one line of a call path allocated with one allocator. */
struct sp_site {
	uint32_t location, path;
	uint32_t region, line;               /* line of that region's file; region SP_NONE: not known */
	uint32_t own_region, own_line;       /* where the program called it, if region is a library's; SP_NONE */
	uint8_t kind;                        /* enum sp_raw_heap_kind */
	uint32_t grown;                      /* in how many slices of time `high` grew */
	uint64_t count, bytes;               /* allocated */
	uint64_t freed, freed_bytes;         /* of these, to the end of the process */
	uint64_t elsewhere;                  /* blocks of `freed` that another thread released */
	uint64_t temporary, temporary_bytes; /* released after at most N others of that size class */
	uint64_t peak, peak_bytes;           /* live when the process had most */
	uint64_t high;                       /* the most bytes that were live at once */
	uint64_t first, last; /* ns since begin_ns: of the first allocation, and when `high` grew last, by slices */
	uint64_t left, left_bytes; /* live when the program had ended, before the interpreter does */
};

struct sp_heap_point {
	uint64_t time; /* ns since begin_ns */
	uint64_t bytes, blocks, resident;
};

/* The heap of a process. Times are ns since begin_ns, UINT64_MAX: never. */
struct sp_heap {
	bool there;
	uint64_t bytes, blocks; /* live at the end of the process */
	uint64_t peak_bytes, peak_blocks, peak_time;
	uint64_t count, allocated, freed, freed_bytes;
	uint64_t unknown;          /* released, but not known: from before, or lost */
	uint64_t lost, lost_bytes; /* allocated, but not recorded */
	uint64_t unnamed;          /* frames that took their caller's place */
	uint64_t sample;           /* mean bytes between two that were recorded; 0: all were */
	uint64_t own;              /* bytes that recording took */
	uint64_t cost;             /* ns that it took in all threads together, about; 0: not known */
	uint64_t begin, ended;
	uint64_t resident, resident_peak, resident_peak_time;
	uint64_t limit; /* bytes; 0: none */
	uint64_t passes, passed;
	uint64_t over;                                    /* ns above the limit, all together */
	uint32_t passed_path, passed_region, passed_line; /* where it was passed first; SP_NONE: not known */
	struct sp_heap_point *points;
	size_t n_points;
};

#endif
