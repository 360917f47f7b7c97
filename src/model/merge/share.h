/* SPDX-License-Identifier: BSD-3-Clause */
/* One process's share of a merge: some of the raw files, read once each, and then their rows. */
#ifndef SP_MODEL_MERGE_SHARE_H
#define SP_MODEL_MERGE_SHARE_H

#include "model/builder/builder.h"
#include "model/builder/derive.h"
#include "model/builder/listing.h"
#include "model/merge/image.h"
#include "model/merge/merge.h"

/* The rows of one location: where they were put, and what is known of them then. */
struct sp_share_run {
	uint64_t first, values; /* until they are written: among the rows of their file */
	uint64_t visits, resumed;
	double busy, mpi;
	uint64_t hash;
};

/* The rows of one raw file, put aside until all files are known. */
struct sp_share_file {
	uint64_t at; /* bytes */
	uint64_t rows;
	size_t n_metrics; /* that were known then */
	uint32_t first_run, runs;
};

struct sp_share {
	struct sp_builder b;
	const struct sp_merge_options *options;
	uint64_t done, total; /* bytes of raw files */
	int aside;            /* a file without a name; a small one is in memory */
	uint64_t aside_bytes;
	struct sp_share_file *files; /* owned */
	size_t n_files, file_room;
	struct sp_share_run *runs; /* owned; in the order of files */
	uint32_t n_runs, run_room;
	uint64_t rows, most_rows; /* of all files, of one */
};

/* What the whole is like, as the root found it. */
struct sp_share_whole {
	const uint32_t *paths;   /* from those of the share; NULL: the same */
	const uint32_t *metrics; /* the same */
	uint64_t first_row, n_rows;
	int fd; /* of the merged file */
};

/* files: of all shares; bytes: of the raw files of this one. */
int sp_share_open(struct sp_share *s, const char *dir, size_t files, uint64_t bytes, const struct sp_merge_options *o,
                  struct sp_err *e);
void sp_share_close(struct sp_share *s); /* all but the model */
/* Reads a raw file; refuses one that is still written. One that cannot be read is a problem of the model. */
int sp_share_add(struct sp_share *s, const struct sp_listed *file, struct sp_err *e);
/* Writes the rows of all files at their place. The share's model has the paths and the number of metrics of the whole
 * by now; d takes the totals. */
int sp_share_write(struct sp_share *s, struct sp_deriving *d, const struct sp_share_whole *w, struct sp_err *e);

#endif
