/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the merged file of an experiment (IMAGE.md). It reads one raw file after the other, and keeps only definitions,
 * call tree and totals in memory.
 *
 * Several processes can do it together, as a binomial tree. Each process reads its share of the files; the results
 * travel up and are added together (part.h); the root completes them; the root's ids travel down; then each process
 * writes the rows of its share. The result is byte for byte the same as that of a single process, except for the
 * positions of rows in the file. */
#ifndef SP_MODEL_MERGE_MERGE_H
#define SP_MODEL_MERGE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* How the processes communicate. Both functions return 0, or another value if the other process cannot be reached any
 * more. */
struct sp_links {
	void *arg;
	int rank, size;
	int (*send)(void *arg, int to, const void *bytes, size_t n);
	int (*receive)(void *arg, int from, void **bytes, size_t *n); /* the caller frees *bytes with free() */
};

/* Reports progress: `done` of `total` bytes of raw files were read. A result other than 0 cancels the merge, with
 * e->code ECANCELED. */
typedef int sp_merge_progress_fn(void *arg, uint64_t done, uint64_t total);

struct sp_merge_options {
	bool force;                     /* merge even if the merged file is current */
	sp_merge_progress_fn *progress; /* NULL: no progress reports */
	void *arg;
};

struct sp_merge_result {
	bool current; /* the merged file was current: nothing was done */
	uint64_t processes, locations, paths, rows, bytes, raw_bytes;
};

/* Merges the experiment in dir. All ranks of `links` call it (NULL: this process alone); rank 0 gets the result.
 * Refuses an experiment that is still written. The merged file is replaced as a whole or not at all. Returns 0, or -1
 * with e set. */
int sp_merge(const char *dir, const struct sp_merge_options *o, const struct sp_links *links, struct sp_merge_result *r,
             struct sp_err *e);
/* The same with this number of processes on this machine; 0: as many as are useful. */
int sp_merge_here(const char *dir, const struct sp_merge_options *o, int processes, struct sp_merge_result *r,
                  struct sp_err *e);

/* Whether the raw files have at least SP_MERGE_PATHS call paths, of all threads together: opening them takes seconds,
 * and a merged file pays even if there is only one raw file. */
#define SP_MERGE_PATHS (UINT64_C(1) << 20)
bool sp_merge_pays(const char *dir);

/* Interfaces of libraries for the ranks of an MPI program, under these names. The libraries are loaded with dlopen(),
 * not linked. `size` is that of struct sp_links: it shows whether two libraries were built together. */
#define SP_MERGE_LIBRARY "sp_merge_library_v1" /* in spartito_merge.so: merges the experiment */
#define SP_LINKS_LIBRARY                                                                                               \
	"sp_links_library_v1" /* in spartito_mpi_openmpi.so, …: initializes MPI in a process that has not done so */
struct sp_merge_library {
	size_t size;
	int (*merge)(const char *dir, const struct sp_merge_options *o, const struct sp_links *links,
	             struct sp_merge_result *r, struct sp_err *e);
};
struct sp_links_library {
	size_t size;
	/* mpi: handle from dlopen(). Returns 0, or -1 if MPI cannot be initialized */
	int (*begin)(void *mpi, struct sp_links *links);
	void (*end)(void);
};

#endif
