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

#endif
