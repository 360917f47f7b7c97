/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples a process periodically from another process, and writes the samples into an experiment. */
#ifndef SP_SAMPLE_CONTROL_SAMPLER_H
#define SP_SAMPLE_CONTROL_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sp_sampler_options {
	const char *dir;             /* directory of the experiment */
	const char *const *settings; /* settings of the recorder: alternating names and values, then NULL */
	unsigned rate;               /* Hz, 1 to 1000 */
	bool native;                 /* also sample compiled frames */
	pid_t notebook;              /* the process whose main thread runs a notebook's cells; 0: no notebook */
	int stop;                    /* a descriptor that becomes readable when the sampler has to end; -1: none */
	/* for the manager: a file that it locks while it runs, and removes before it ends; NULL: no file */
	const char *place;
};

/* Samples process pid until it ends, its measurement ends, or `stop` becomes readable. file: name of its raw file;
 * NULL: it is not measured. Call at most once in a process, which then does nothing else. Returns 0, or a negative
 * errno with a sentence in why[n] if nothing could be sampled; the sentence is also recorded in the sampler's file, if
 * there is one. */
int sp_sampler_run(const struct sp_sampler_options *o, pid_t pid, const char *file, char *why, size_t n);

/* Whether processes can be read from here. Returns 0, or a negative errno with a sentence in why[n] that says how to
 * allow it. */
int sp_sampler_check(char *why, size_t n);

#endif
