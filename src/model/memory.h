/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: allocations by call path and line, and the heap of a process. */
#ifndef SP_MODEL_MEMORY_H
#define SP_MODEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocations at one line of a call path, with one allocator. */
struct sp_site {
	uint32_t location, path;
	uint32_t region, line; /* line: in that region's file; region SP_NONE: unknown */
	/* the program's own call site, if region is in a library; otherwise SP_NONE */
	uint32_t own_region, own_line;
	uint8_t kind;                        /* enum sp_raw_heap_kind */
	uint32_t grown;                      /* number of time slices in which `high` grew */
	uint64_t count, bytes;               /* allocations */
	uint64_t freed, freed_bytes;         /* of these: released before the end of the process */
	uint64_t elsewhere;                  /* blocks of `freed` that a different thread released */
	uint64_t temporary, temporary_bytes; /* released after at most N other allocations of the same size class */
	uint64_t peak, peak_bytes;           /* live at the peak of the process */
	uint64_t high;                       /* maximum of live bytes */
	uint64_t first, last;      /* ns since begin_ns: first allocation; last growth of `high`, in time slices */
	uint64_t left, left_bytes; /* live when the program had ended, before the interpreter's shutdown */
};

struct sp_heap_point {
	uint64_t time; /* ns since begin_ns */
	uint64_t bytes, blocks, resident;
};

/* The heap of a process. Times are ns since begin_ns; UINT64_MAX: never. */
struct sp_heap {
	bool there;
	uint64_t bytes, blocks; /* live at the end of the process */
	uint64_t peak_bytes, peak_blocks, peak_time;
	uint64_t count, allocated, freed, freed_bytes;
	/* released blocks that are not known: allocated before the recording, or not recorded */
	uint64_t unknown;
	uint64_t lost, lost_bytes; /* allocated, but not recorded: an event was dropped */
	/* number of frames that were replaced by their caller, because their code had no name */
	uint64_t unnamed;
	uint64_t sample; /* mean bytes between recorded allocations; 0: all were recorded */
	uint64_t own;    /* bytes that the recording itself took */
	uint64_t cost;   /* estimated ns that the recording took in all threads; 0: unknown */
	uint64_t begin, ended;
	uint64_t resident, resident_peak, resident_peak_time;
	uint64_t limit; /* bytes; 0: no limit */
	uint64_t passes, passed;
	uint64_t over;                                    /* total ns above the limit */
	uint32_t passed_path, passed_region, passed_line; /* where the limit was exceeded first; SP_NONE: unknown */
	struct sp_heap_point *points;
	size_t n_points;
};

#endif
