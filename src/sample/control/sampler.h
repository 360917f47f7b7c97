/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks at a process again and again, from another one, and writes what it finds into an experiment. */
#ifndef SP_SAMPLE_CONTROL_SAMPLER_H
#define SP_SAMPLE_CONTROL_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sp_sampler_options {
	const char *dir;             /* of the experiment */
	const char *const *settings; /* of the recorder: name and value in turns, then NULL */
	unsigned rate;               /* Hz, 1 to 1000 */
	bool native;                 /* compiled frames too */
	pid_t notebook;              /* the process whose main thread runs a notebook's cells; 0: none */
	int stop;                    /* a descriptor that is readable when it is to end; -1: none */
	const char *place; /* of the manager: a file that it locks, and takes away before it ends; NULL: none */
};

/* Samples process pid until it ends, the measurement in it ends, or `stop` says so. file: the name of its own raw file;
 * NULL: it is not measured. To be called once in a process, which then does nothing else. 0, or a negative errno with a
 * sentence in why[n]: nothing could be sampled; that stands in the file too, if there is one. */
int sp_sampler_run(const struct sp_sampler_options *o, pid_t pid, const char *file, char *why, size_t n);

/* Whether processes can be looked into here: a negative errno with a sentence that says the way out. */
int sp_sampler_check(char *why, size_t n);

#endif
