/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules for the roles of processes and threads. */
#ifndef SP_MODEL_PARTS_ROLES_H
#define SP_MODEL_PARTS_ROLES_H

#include <stdbool.h>

/* One rule: all its conditions that are not NULL hold for a process or thread with this role. */
struct sp_role_rule {
	const char *role;
	/* "module:qualname" of a function that runs only in such a process (in its main thread, or as META entry) or
	 * thread */
	const char *function;
	/* pattern of fnmatch(): the command line of a process, the name of a thread. A forked process has the command
	 * line of its parent, so such a rule does not apply to it. */
	const char *pattern;
	bool helper; /* it waits for requests of others, and no work of the program runs in it */
};

/* Both end with a rule whose role is NULL. If several functions of one process ran, the innermost one decides; of two
 * with the same depth, and of rules with a pattern alone, the first one in the table. */
extern const struct sp_role_rule sp_process_roles[], sp_thread_roles[];

/* A function around the one that a thread runs. */
struct sp_thread_wrapper {
	const char *function; /* "module:qualname" */
	const char *callee;   /* last part of the name of the function that leads to it; NULL: any function called */
};
extern const struct sp_thread_wrapper sp_thread_wrappers[]; /* ends with one without function */

#endif
