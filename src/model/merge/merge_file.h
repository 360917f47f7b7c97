/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of the experiment while it is written under a temporary name, so that a reader finds a complete file or no
 * file. */
#ifndef SP_MODEL_MERGE_MERGE_FILE_H
#define SP_MODEL_MERGE_MERGE_FILE_H

#include "model/merge/image.h"

struct sp_merge_file {
	const char *as; /* its final name */
	char name[32];  /* temporary name in the experiment; empty: no file */
	int fd;         /* -1: not open */
};

/* Creates a file that will be named `as`, a literal, and removes temporary files of killed processes. Returns 0, or -1
 * with e set. */
int sp_merge_file_create(struct sp_merge_file *f, const char *dir, const char *as, struct sp_err *e);
/* Opens the file that another rank created. Returns 0, or -1 with e set. */
int sp_merge_file_open(struct sp_merge_file *f, const char *dir, const char *name, struct sp_err *e);
/* Renames it to its final name. Returns 0, or -1 with e set. */
int sp_merge_file_place(struct sp_merge_file *f, const char *dir, struct sp_err *e);
/* Closes it; remove: removes it too, unless it has its final name. */
void sp_merge_file_close(struct sp_merge_file *f, const char *dir, bool remove);

#endif
