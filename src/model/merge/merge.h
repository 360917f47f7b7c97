/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the merged file of an experiment (IMAGE.md), reading one raw file after the other: what is kept in memory is
 * definitions, call tree and totals.
 *
 * Several processes, each with its share of the files, do it together as a binomial tree: what each found travels up
 * and is put together (part.h), the root finishes, its ids travel down, and each writes the rows of its own files. The
 * result is the same, byte for byte, as that of one process alone, but for where rows stand in the file. */
#ifndef SP_MODEL_MERGE_MERGE_H
#define SP_MODEL_MERGE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* How the processes reach each other. Both return 0, or anything else when the other cannot be reached any more. */
struct sp_links {
	void *arg;
	int rank, size;
	int (*send)(void *arg, int to, const void *bytes, size_t n);
	int (*receive)(void *arg, int from, void **bytes, size_t *n); /* to be freed with free() */
};

/* Called now and then with the bytes of raw files that were read; a value other than 0 ends it, with e->code ECANCELED.
 */
typedef int sp_merge_progress_fn(void *arg, uint64_t done, uint64_t total);

struct sp_merge_options {
	bool force;                     /* also where the merged file is current */
	sp_merge_progress_fn *progress; /* NULL: none */
	void *arg;
};

struct sp_merge_result {
	bool current; /* there was nothing to do */
	uint64_t processes, locations, paths, rows, bytes, raw_bytes;
};

/* All ranks of `links` call it (NULL: this process alone); the result is that of rank 0. Refuses an experiment that is
 * still written. Leaves either a whole new merged file or everything as it was. */
int sp_merge(const char *dir, const struct sp_merge_options *o, const struct sp_links *links, struct sp_merge_result *r,
             struct sp_err *e);
/* The same with so many processes of this machine; 0: as many as pay. */
int sp_merge_here(const char *dir, const struct sp_merge_options *o, int processes, struct sp_merge_result *r,
                  struct sp_err *e);

/* What a library for the ranks of a program of MPI has, under these names: they are loaded and not linked. `size` is
 * that of struct sp_links, and tells whether two were built together. */
#define SP_MERGE_LIBRARY "sp_merge_library_v1" /* in spartito_merge.so: merges */
#define SP_LINKS_LIBRARY                                                                                               \
	"sp_links_library_v1" /* in spartito_mpi_openmpi.so, …: begins MPI in a process that has none */
struct sp_merge_library {
	size_t size;
	int (*merge)(const char *dir, const struct sp_merge_options *o, const struct sp_links *links,
	             struct sp_merge_result *r, struct sp_err *e);
};
struct sp_links_library {
	size_t size;
	int (*begin)(void *mpi, struct sp_links *links); /* mpi: of dlopen; 0, or -1 where MPI does not begin */
	void (*end)(void);
};

#endif
