/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of the experiment while it is written: under another name, so that there is a whole one or none. */
#ifndef SP_MODEL_MERGE_MERGE_FILE_H
#define SP_MODEL_MERGE_MERGE_FILE_H

#include "model/merge/image.h"

struct sp_merge_file {
	const char *as; /* what it becomes */
	char name[32];  /* in the experiment; empty: there is none */
	int fd;         /* -1: none */
};

/* A new one, which will be `as`, a literal; what others that were killed have left is removed before. */
int sp_merge_file_create(struct sp_merge_file *f, const char *dir, const char *as, struct sp_err *e);
/* The one that another rank made. */
int sp_merge_file_open(struct sp_merge_file *f, const char *dir, const char *name, struct sp_err *e);
/* Puts it in its place. */
int sp_merge_file_place(struct sp_merge_file *f, const char *dir, struct sp_err *e);
/* remove: unless it was put in place. */
void sp_merge_file_close(struct sp_merge_file *f, const char *dir, bool remove);

#endif
