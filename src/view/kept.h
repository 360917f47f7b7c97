/* SPDX-License-Identifier: BSD-3-Clause */
/* What is found or made once for all questions about an experiment, when the first one needs it. */
#ifndef SP_VIEW_KEPT_H
#define SP_VIEW_KEPT_H

#include "model/lod/lod.h"
#include "model/model.h"
#include "view/looks.h"
#include "view/view.h"

struct sp_view_kept;

/* The model outlives it. NULL: no memory. */
struct sp_view_kept *sp_view_kept_new(const struct sp_model *m);
void sp_view_kept_free(struct sp_view_kept *k);

/* The index; who comes while it is made waits. 0, or -1 with e set; it is tried once. */
int sp_view_lod(const struct sp_viewed *v, struct sp_lod **p, struct sp_err *e);
/* The same for who asks samples of locations without a trace: *p is NULL where no location has one. */
int sp_view_lod_if_any(const struct sp_viewed *v, struct sp_lod **p, struct sp_err *e);
/* The looks of a location, read when first asked for. 0, or -1 with e set; it is tried once. */
int sp_view_looks(const struct sp_viewed *v, uint32_t location, const struct sp_looks **looks, struct sp_err *e);
/* The same before the first question, with what o says; a making that progress ended is not the one that counts. *made:
 * whether it was made. */
int sp_view_lod_make(struct sp_view_kept *k, const struct sp_lod_options *o, bool *made, struct sp_err *e);
/* Whether that failed, and why. Does not wait: false while it is being made. */
bool sp_view_lod_failed(struct sp_view_kept *k, struct sp_err *why);

/* A message that has a sender; from, to: locations. */
struct sp_view_message {
	uint64_t sent,
	    received; /* ns; received UINT64_MAX: no receive was found, and `to` is the first of its process */
	uint64_t bytes;
	uint32_t from, to;   /* to SP_NONE: its process has no location, */
	uint32_t to_process; /* which may be SP_NONE: not measured */
	int32_t tag;
	uint32_t comm;
};
enum { SP_VIEW_MESSAGES = 1024 };
struct sp_view_messages {
	struct sp_view_message *p; /* owned; in the order in which they were sent */
	size_t n;
	uint64_t *last;   /* owned; of each SP_VIEW_MESSAGES of them, when the last one was received */
	uint32_t *paired; /* owned; indices by sending process, receiving process, and order */
	/* as of struct sp_messages */
	uint64_t unmatched_sends, unmatched_receives, unmeasured, cancelled, early;
	double early_worst;
};

/* All messages of the experiment; the first time all traces are read, so who asks is to be ALONE. */
int sp_view_all_messages(const struct sp_viewed *v, const struct sp_view_messages **all, struct sp_err *e);

#endif
