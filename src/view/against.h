/* SPDX-License-Identifier: BSD-3-Clause */
/* An experiment beside another one, its base: which functions and call paths both have (model/compare/compare.h), and
 * what to choose of the base where a part of the experiment is chosen. */
#ifndef SP_VIEW_AGAINST_H
#define SP_VIEW_AGAINST_H

#include "model/compare/compare.h"
#include "model/model.h"
#include "view/view.h"

struct sp_against {
	struct sp_compare compare;
	const struct sp_model *base; /* borrowed */
	/* The experiment with the regions and paths that only the base has behind its own, and with nothing of what is
	 * not regions, paths and values of parameters. */
	struct sp_model all;
};

/* Both models outlive it. 0, or -1 with e set; sp_against_close() of NULL is nothing. */
int sp_against_open(struct sp_against **out, const struct sp_model *m, const struct sp_model *base, struct sp_err *e);
void sp_against_close(struct sp_against *a);

/* The process of the base with the same rank, or of those without a rank the one at the same place; the location at the
 * same place in that process. SP_NONE stays; false: there is none such. */
bool sp_against_selection(const struct sp_against *a, const struct sp_model *m, uint32_t *process, uint32_t *location);

#endif
