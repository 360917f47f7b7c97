/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw files of an experiment. */
#ifndef SP_MODEL_BUILDER_LISTING_H
#define SP_MODEL_BUILDER_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What is in the directory raw, in the order of names. */
struct sp_listing {
	struct sp_listed {
		char *name; /* owned */
		uint64_t size;
		uint64_t changed; /* ns */
		uint64_t begin;   /* of the process's record, ns of the clock of days; UINT64_MAX: not told */
		bool error;       /* what a process left that could not be measured */
		const struct sp_listed *samples; /* the file of samples of the same process; NULL: none */
		bool joined;                     /* is such a one itself, and read with the other */
	} * files;                               /* owned */
	size_t n;
	/* owned; places in files as the processes began, which is how the model numbers them: the program itself comes
	 * first, whatever number the system gave it */
	size_t *order;
};
enum { SP_MOST_PATH = 3800 }; /* of the directory, so that names of files fit behind it */
int sp_listing_read(struct sp_listing *l, const char *dir, struct sp_err *e);
int sp_listing_sort(struct sp_listing *l); /* fills order, samples and joined; -1: no memory */
void sp_listing_free(struct sp_listing *l);

#endif
