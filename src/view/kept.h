/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that is computed once for all questions about an experiment, when the first question needs it. */
#ifndef SP_VIEW_KEPT_H
#define SP_VIEW_KEPT_H

#include "model/lod/lod.h"
#include "model/model.h"
#include "view/samples.h"
#include "view/view.h"

struct sp_view_kept;

/* Makes an empty store for m, which must outlive it. NULL: no memory. */
struct sp_view_kept *sp_view_kept_new(const struct sp_model *m);
void sp_view_kept_free(struct sp_view_kept *k);

/* The level-of-detail index, which is made in the first call; others wait meanwhile. A failure is final: it is not
 * tried again. Returns 0, or -1 with e set. */
int sp_view_lod(const struct sp_viewed *v, struct sp_lod **p, struct sp_err *e);
/* The same, but *p is NULL if no location has a trace: for questions that samples can answer. */
int sp_view_lod_if_any(const struct sp_viewed *v, struct sp_lod **p, struct sp_err *e);
/* The samples of a location, which are read in the first call. A failure is final. Returns 0, or -1 with e set. */
int sp_view_samples_of(const struct sp_viewed *v, uint32_t location, const struct sp_view_samples **samples,
                       struct sp_err *e);
/* Makes the index before the first question, with the options o. If progress() cancels it, the next call tries again.
 * *made: whether the index was made (not found). Returns 0, or -1 with e set. */
int sp_view_lod_make(struct sp_view_kept *k, const struct sp_lod_options *o, bool *made, struct sp_err *e);
/* Whether making the index failed, with the reason. Does not wait: returns false while the index is being made. */
bool sp_view_lod_failed(struct sp_view_kept *k, struct sp_err *why);

/* A message with a known sender; from, to: locations. */
struct sp_view_message {
	uint64_t sent,
	    /* ns; received UINT64_MAX: no receive was found, and `to` is the first location of its process */
	    received;
	uint64_t bytes;
	uint32_t from, to;   /* to SP_NONE: the process has no location */
	uint32_t to_process; /* SP_NONE: not measured */
	int32_t tag;
	uint32_t comm;
};
enum { SP_VIEW_MESSAGES = 1024 };
struct sp_view_messages {
	struct sp_view_message *p; /* owned; sorted by send time */
	size_t n;
	uint64_t *last;   /* owned; for each block of SP_VIEW_MESSAGES messages: the latest receive */
	uint32_t *paired; /* owned; indices sorted by sending process, receiving process, and order */
	/* as in struct sp_messages */
	uint64_t unmatched_sends, unmatched_receives, unmeasured, cancelled, early;
	double early_worst;
};

/* All messages of the experiment. The first call reads all traces, so the question must be ALONE (view.h). Returns 0,
 * or -1 with e set. */
int sp_view_all_messages(const struct sp_viewed *v, const struct sp_view_messages **all, struct sp_err *e);

#endif
