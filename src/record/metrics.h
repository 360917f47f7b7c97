/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics that are read at each enter and leave. */
#ifndef SP_RECORD_METRICS_H
#define SP_RECORD_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

struct sp_thread;

/* Checks a list of source:name. Returns 0, or -EINVAL with a sentence in why if a name is unknown. A metric that is
 * unavailable on this machine is no error. */
int sp_metrics_check(const char *list, char *why, size_t n);
/* Calls f(to, …) for each metric of the list; NULL: for each name that can be listed. The argument why of f is NULL,
 * or says why the metric is unavailable on this machine. */
int sp_metrics_list(const char *list, void (*f)(void *to, const char *name, const char *what, const char *why),
                    void *to);
/* Defines the metrics, before the first node is made. Writes the names of unavailable ones to the META record
 * "uncounted". */
void sp_metrics_start(const char *list);
/* End counting: in all threads, in one thread, and around a fork. */
void sp_metrics_stop(void); /* with the process lock held, like the next two */
void sp_metrics_thread_end(struct sp_thread *t);
enum sp_fork { SP_FORK_BEFORE, SP_FORK_PARENT, SP_FORK_CHILD };
void sp_metrics_fork(enum sp_fork when);
void sp_clib_fork(enum sp_fork when); /* before the process lock is taken */
/* Starts counting for the thread t. Returns 0 or a negative errno. */
int sp_metrics_thread_begin(struct sp_thread *t);
/* The frame at this depth begins or ends: keeps the values, or adds their increase to the frame's node n. */
void sp_metrics_enter(struct sp_thread *t, size_t depth, uint64_t now);
void sp_metrics_leave(struct sp_thread *t, size_t depth, struct sp_raw_node *n, uint64_t now);
void sp_metrics_read(struct sp_thread *t,
                     uint64_t now); /* this function and those below do nothing in a thread without metrics */
/* After a pause: excludes what was counted during it from all open frames. Adds it to n, the node of the paused time,
 * unless n is NULL. */
void sp_metrics_off(struct sp_thread *t, struct sp_raw_node *n);
/* The innermost frame, until now one of node n, continues as a frame of another node. */
void sp_metrics_divide(struct sp_thread *t, struct sp_raw_node *n, uint64_t now);
/* Writes the METRICS record of the event that follows. */
void sp_metrics_event(struct sp_thread *t, uint64_t now);

#endif
