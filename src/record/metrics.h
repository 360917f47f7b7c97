/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics that are read at each enter and leave. */
#ifndef SP_RECORD_METRICS_H
#define SP_RECORD_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

struct sp_thread;

/* A list of source:name; -EINVAL: one is not known, with a sentence in why. One that cannot be counted here is no
 * error. */
int sp_metrics_check(const char *list, char *why, size_t n);
/* Calls f for each metric of the list; NULL: of all that can be listed. why: NULL, or why it cannot be counted here. */
int sp_metrics_list(const char *list, void (*f)(void *to, const char *name, const char *what, const char *why),
                    void *to);
/* Defines them, before the first node is made; names those that cannot be counted in the META record "uncounted". */
void sp_metrics_start(const char *list);
void sp_metrics_stop(void); /* with the process lock held, as the next two */
void sp_metrics_thread_end(struct sp_thread *t);
enum sp_fork { SP_FORK_BEFORE, SP_FORK_PARENT, SP_FORK_CHILD };
void sp_metrics_fork(enum sp_fork when);
void sp_clib_fork(enum sp_fork when); /* before the process lock is taken */
int sp_metrics_thread_begin(struct sp_thread *t);
/* The frame at this depth begins or ends: keeps the values, or adds to its node what they grew by. */
void sp_metrics_enter(struct sp_thread *t, size_t depth, uint64_t now);
void sp_metrics_leave(struct sp_thread *t, size_t depth, struct sp_raw_node *n, uint64_t now);
void sp_metrics_read(struct sp_thread *t, uint64_t now); /* here and below: nothing, where there are none */
/* After a pause: what was counted meanwhile is in no open frame, but in n, the node of the time off, if that is not
 * NULL. */
void sp_metrics_off(struct sp_thread *t, struct sp_raw_node *n);
/* The innermost frame, until now one of node n, goes on as one of another. */
void sp_metrics_divide(struct sp_thread *t, struct sp_raw_node *n, uint64_t now);
/* The METRICS record of the event that follows. */
void sp_metrics_event(struct sp_thread *t, uint64_t now);

#endif
