/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder's settings: each has a name, a kind and a default. A setting of the environment is SPARTITO_<NAME>. */
#ifndef SP_RECORD_SETTINGS_H
#define SP_RECORD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sp_when_full { SP_FLUSH, SP_STOP };

struct sp_settings {
	bool trace;
	bool c_calls;
	bool only_mine;
	enum sp_when_full when_full;
	uint64_t trace_memory;  /* bytes of the trace that may be mapped at once */
	uint32_t depth;         /* maximum number of frames; 0: no limit */
	uint32_t task_limit;    /* tasks with a record each */
	uint32_t profile_depth; /* deeper paths share one node each; 0: no limit */
	bool scorep;            /* names, call tree and filter as Score-P's Python bindings have them */
	bool
	    omnitrace; /* the call tree as Omnitrace has it: what is open when functions are switched on is not in it */
	bool open_frames; /* what is open in the thread that starts is recorded, from then on */
	bool instrument;  /* functions are recorded from the start on, not only the program's own regions */
	bool io;
	bool gil;                   /* time waited for it */
	bool memory_profile;        /* every allocation is recorded */
	uint64_t memory_sample;     /* mean bytes between two that are; 0: none */
	uint64_t limit_rss;         /* of resident bytes, which is marked; 0: none */
	uint32_t temporary;         /* a block is, until its thread has allocated so many more of about its size */
	uint32_t sampler;           /* process id of the one that samples this process; 0: none */
	bool waits;                 /* for locks, other threads, …; with gil */
	bool source;                /* of functions whose lines are recorded is kept */
	bool finalize;              /* ranks merge what they recorded where MPI ends */
	bool annotate;              /* facts of the functions' code are recorded */
	uint32_t label_limit;       /* labels by arguments in a process; 0: none */
	char *label;                /* owned; args, file, path, line, separated by commas */
	char *label_repr;           /* owned; names of types, separated by commas */
	char *clock;                /* owned; auto, tsc or monotonic */
	char *metrics;              /* owned; source:name, separated by commas */
	char *machine, *executable; /* owned; what the results call them, or empty */
	char *mpi;                  /* owned; auto, off, or groups of functions as SCOREP_MPI_ENABLE_GROUPS has them */
	char *hook;                 /* owned; "auto" or a hook's name */
	char *filter;               /* owned; items as docs say, separated by newlines */
	char *lines;                /* owned; patterns of functions whose lines are recorded, separated by newlines */
};

struct sp_setting {
	const char *name;
	enum {
		SP_SETTING_BOOL,
		SP_SETTING_SIZE,
		SP_SETTING_BYTES,
		SP_SETTING_COUNT,
		SP_SETTING_WHEN_FULL,
		SP_SETTING_TEXT
	} kind;
	size_t offset;
	const char *initial;
};
extern const struct sp_setting sp_setting_table[]; /* ends with a NULL name */

void sp_settings_init(struct sp_settings *s);
void sp_settings_free(struct sp_settings *s);
/* Sets one by name; -ENOENT: no such setting, -EINVAL: value that cannot be read, with a sentence in why[n]. */
int sp_settings_set(struct sp_settings *s, const char *name, const char *value, char *why, size_t n);
/* All from SPARTITO_<NAME>. */
int sp_settings_from_environment(struct sp_settings *s, char *why, size_t n);
/* The value as text, as it would be set; owned by the caller, NULL: no memory. */
char *sp_settings_text(const struct sp_settings *s, const struct sp_setting *which);

#endif
