/* SPDX-License-Identifier: BSD-3-Clause */
/* Classifies the memory that is still allocated at the end. */
#ifndef SP_MODEL_REPORT_MEMORY_H
#define SP_MODEL_REPORT_MEMORY_H

#include "model/memory.h"
#include "model/model.h"

enum sp_site_kept {
	SP_KEPT_NOTHING, /* nothing remains, or a negligible part */
	SP_KEPT_CACHE,   /* the rest was allocated in a short time and did not grow afterwards */
	SP_KEPT_GROWING  /* it grew until the end and was never released: possibly a leak */
};
enum sp_site_kept sp_site_kept(const struct sp_model *m, const struct sp_site *s);
extern const char *const sp_site_kept_names[];
extern const char *const sp_site_kind_names[]; /* names of allocators, by enum sp_raw_heap_kind */

#endif
