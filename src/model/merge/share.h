/* SPDX-License-Identifier: BSD-3-Clause */
/* One process's share of a merge: it reads some of the raw files once each, and later writes their rows. */
#ifndef SP_MODEL_MERGE_SHARE_H
#define SP_MODEL_MERGE_SHARE_H

#include "model/builder/builder.h"
#include "model/builder/derive.h"
#include "model/builder/listing.h"
#include "model/merge/image.h"
#include "model/merge/merge.h"

/* The rows of one location: their position, and the values derived when they are written. */
struct sp_share_run {
	uint64_t first, values; /* until they are written: position among the rows of their file */
	uint64_t visits, resumed;
	double busy, mpi, off_cpu;
	uint64_t hash;
};

/* The rows of one raw file, stored until all files are known. */
struct sp_share_file {
	uint64_t at; /* offset in the temporary file, bytes; unused if there is no such file */
	uint64_t rows;
	size_t n_metrics; /* number of metrics that were known at that time */
	uint32_t first_run, runs;
};

struct sp_share {
	struct sp_builder b;
	const struct sp_merge_options *options;
	uint64_t done, total; /* bytes of raw files: read, total */
	/* descriptor of an unnamed temporary file, of which a small one is in memory; -1: there is only one raw file,
	 * and its rows stay in the builder */
	int aside;
	uint64_t aside_bytes;
	struct sp_share_file *files; /* owned */
	size_t n_files, file_capacity;
	struct sp_share_run *runs; /* owned; in the order of files */
	uint32_t n_runs, run_capacity;
	uint64_t rows, max_rows; /* rows of all files, maximum of one file */
};

/* The merged result, as the root completed it. */
struct sp_share_whole {
	const uint32_t *paths;   /* table from the paths of the share; NULL: unchanged */
	const uint32_t *metrics; /* table from the metrics of the share; NULL: unchanged */
	uint64_t first_row, n_rows;
	int fd; /* descriptor of the merged file */
};

/* Opens a share. files: number of files of all shares; bytes: size of the raw files of this share. Returns 0, or -1
 * with e set. */
int sp_share_open(struct sp_share *s, const char *dir, size_t files, uint64_t bytes, const struct sp_merge_options *o,
                  struct sp_err *e);
void sp_share_close(struct sp_share *s); /* frees everything except the model */
/* Reads a raw file. Refuses a file that is still written; an unreadable file becomes a problem of the model. Returns 0,
 * or -1 with e set. */
int sp_share_add(struct sp_share *s, const struct sp_listed *file, struct sp_err *e);
/* Writes the rows of all files to their positions. The share's model must already have the paths and the number of
 * metrics of the merged result; the totals are added to d. Returns 0, or -1 with e set. */
int sp_share_write(struct sp_share *s, struct sp_deriving *d, const struct sp_share_whole *w, struct sp_err *e);

#endif
