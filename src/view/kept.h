/* SPDX-License-Identifier: BSD-3-Clause */
/* What is found or made once for all questions about an experiment, when the first one needs it. */
#ifndef SP_VIEW_KEPT_H
#define SP_VIEW_KEPT_H

#include "model/pyramid.h"
#include "view/view.h"

struct sp_view_kept;

/* The model outlives it. NULL: no memory. */
struct sp_view_kept *sp_view_kept_new(const struct sp_model *m);
void sp_view_kept_free(struct sp_view_kept *k);

/* The pyramid; who comes while it is made waits. 0, or -1 with e set. */
int sp_view_pyramid(const struct sp_viewed *v, struct sp_pyramid **p, struct sp_err *e);

/* A message that has a sender; from, to: locations. */
struct sp_view_message {
	uint64_t sent,
	    received; /* ns; received UINT64_MAX: no receive was found, and `to` is the first of its process */
	uint64_t bytes;
	uint32_t from, to;
	int32_t tag;
	uint32_t comm;
};
enum { SP_VIEW_MESSAGES = 1024 };
struct sp_view_messages {
	struct sp_view_message *p; /* owned; in the order in which they were sent */
	size_t n;
	uint64_t *last; /* owned; of each SP_VIEW_MESSAGES of them, when the last one was received */
};

/* All messages of the experiment; the first time all traces are read, so who asks is to be ALONE. */
int sp_view_all_messages(const struct sp_viewed *v, const struct sp_view_messages **all, struct sp_err *e);

#endif
