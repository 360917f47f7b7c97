/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares an experiment with another one, its base: functions and call paths of both (model/compare/compare.h), and
 * the selection in the base that corresponds to a selection in the experiment. */
#ifndef SP_VIEW_AGAINST_H
#define SP_VIEW_AGAINST_H

#include "model/compare/compare.h"
#include "model/model.h"
#include "view/view.h"

struct sp_against {
	struct sp_compare compare;
	const struct sp_model *base; /* borrowed */
	bool without_preempted;      /* no time of the comparison contains preemption: both know it */
	/* The experiment's regions and paths, followed by those that only the base has. It contains nothing except
	 * regions, paths and values of parameters. */
	struct sp_model all;
};

/* Opens a comparison; both models must outlive it. Returns 0, or -1 with e set. sp_against_close(NULL) does nothing. */
int sp_against_open(struct sp_against **out, const struct sp_model *m, const struct sp_model *base, struct sp_err *e);
void sp_against_close(struct sp_against *a);

/* Replaces the indices of a process and a location by those of the base: the process with the same rank (without a
 * rank: with the same position among those without), and the location with the same position in it. SP_NONE stays.
 * Returns false if the base has no such process or location. */
bool sp_against_selection(const struct sp_against *a, const struct sp_model *m, uint32_t *process, uint32_t *location);

#endif
