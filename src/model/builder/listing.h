/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of the raw files of an experiment. */
#ifndef SP_MODEL_BUILDER_LISTING_H
#define SP_MODEL_BUILDER_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The files in the directory raw, sorted by name. */
struct sp_listing {
	struct sp_listed {
		char *name; /* owned */
		uint64_t size;
		uint64_t changed; /* ns; time of the last modification */
		uint64_t begin;   /* start of the process, ns of CLOCK_REALTIME; UINT64_MAX: not recorded */
		bool error;       /* an error report of a process that could not be measured */
		const struct sp_listed *samples; /* the file of samples of the same process; NULL: no such file */
		bool joined;                     /* this is a file of samples, and is read with the process's file */
	} * files;                               /* owned */
	size_t n;
	/* owned; indices into files by the start times of processes. The model numbers processes in this order, so the
	 * program itself comes first, whatever its process id is. */
	size_t *order;
};
enum { SP_MAX_PATH = 3800 }; /* maximum length of the directory's path: names of files must fit behind it */
int sp_listing_read(struct sp_listing *l, const char *dir, struct sp_err *e);
int sp_listing_sort(struct sp_listing *l); /* Fills order, samples and joined. Returns 0, or -1: no memory. */
/* The size of all files, with 1 byte more for each of them. */
uint64_t sp_listing_bytes(const struct sp_listing *l);
void sp_listing_free(struct sp_listing *l);

#endif
