/* SPDX-License-Identifier: BSD-3-Clause */
/* The recorder's settings: each has a name, a kind and a default. The environment variable of a setting is
 * SPARTITO_<NAME>. */
#ifndef SP_RECORD_SETTINGS_H
#define SP_RECORD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What to do when the trace reaches its memory limit: free full chunks from memory, or stop tracing. */
enum sp_when_full { SP_FLUSH, SP_STOP };

/* The settings of one measurement. */
struct sp_settings {
	bool trace;
	bool c_calls;
	bool only_mine;
	enum sp_when_full when_full;
	uint64_t trace_memory;  /* maximum bytes of the trace that are mapped at the same time */
	uint32_t depth;         /* maximum number of frames; 0: no limit */
	uint32_t task_limit;    /* maximum number of tasks with separate records */
	uint32_t profile_depth; /* maximum depth of call paths; deeper calls share one node each; 0: no limit */
	bool scorep;            /* names, call tree and filter like Score-P's Python bindings */
	bool
	    /* the call tree is like Omnitrace's: it omits calls that were open when recording of functions was
	     * enabled */
	    omnitrace;
	bool open_frames; /* calls that are open in the starting thread are recorded from the start on */
	bool instrument;  /* functions are recorded from the start on, not only user regions */
	bool io;
	bool gil;               /* records the time waited for the GIL */
	bool memory_profile;    /* records every allocation */
	uint64_t memory_sample; /* mean bytes between two sampled allocations; 0: no sampling */
	uint64_t limit_rss;     /* limit of resident bytes; passing it sets a marker; 0: no limit */
	uint32_t temporary;   /* a block is temporary until its thread has made more than this number of allocations of
	                         about its size */
	uint32_t sampler;     /* process id of the sampler of this process; 0: none */
	bool waits;           /* records waits for locks, other threads, …; enables gil too */
	bool source;          /* keeps the source code of functions whose lines are recorded */
	bool finalize;        /* ranks merge their files when MPI ends */
	bool annotate;        /* records facts about the functions' code */
	uint32_t label_limit; /* maximum number of labels by arguments in a process; 0: no labels */
	char *label;          /* owned; args, file, path, line, separated by commas */
	char *label_repr;     /* owned; names of types, separated by commas */
	char *clock;          /* owned; auto, tsc or monotonic */
	char *metrics;        /* owned; list of source:name, separated by commas */
	char *machine, *executable; /* owned; names to use in the results, or empty */
	char *mpi;                  /* owned; auto, off, or groups of functions as SCOREP_MPI_ENABLE_GROUPS has them */
	char *hook;                 /* owned; "auto" or a hook's name */
	char *own;                  /* owned; paths of the program's own code, separated by newlines */
	char *filter;               /* owned; filter items as documented, separated by newlines */
	char *lines;                /* owned; patterns of functions whose lines are recorded, separated by newlines */
};

/* One row of the table of settings. */
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

/* Sets all settings to their defaults. */
void sp_settings_init(struct sp_settings *s);
void sp_settings_free(struct sp_settings *s);
/* Sets one setting by name. Returns 0, -ENOENT if the name is unknown, or -EINVAL if the value is invalid; the last
 * with a sentence in why (n bytes). */
int sp_settings_set(struct sp_settings *s, const char *name, const char *value, char *why, size_t n);
/* Sets all settings from SPARTITO_<NAME>. Returns as sp_settings_set(). */
int sp_settings_from_environment(struct sp_settings *s, char *why, size_t n);
/* Returns the value as text that sp_settings_set() accepts; owned by the caller. NULL: no memory. */
char *sp_settings_text(const struct sp_settings *s, const struct sp_setting *which);

#endif
