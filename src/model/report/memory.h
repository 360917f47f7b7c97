/* SPDX-License-Identifier: BSD-3-Clause */
/* What is left of an experiment's memory, told apart. */
#ifndef SP_MODEL_REPORT_MEMORY_H
#define SP_MODEL_REPORT_MEMORY_H

#include "model/memory.h"
#include "model/model.h"

enum sp_site_kept {
	SP_KEPT_NOTHING, /* nothing is left, or next to nothing of what there was */
	SP_KEPT_CACHE,   /* what is left came in a short time, and did not become more */
	SP_KEPT_GROWING  /* it became ever more until the end: never released, it may be a leak */
};
enum sp_site_kept sp_site_kept(const struct sp_model *m, const struct sp_site *s);
extern const char *const sp_site_kept_names[];
extern const char *const sp_site_kind_names[]; /* of allocators, by enum sp_raw_heap_kind */

#endif
