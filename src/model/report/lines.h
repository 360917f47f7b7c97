/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of functions for a report: summed over locations. */
#ifndef SP_MODEL_REPORT_LINES_H
#define SP_MODEL_REPORT_LINES_H

#include <stddef.h>

#include "base/err.h"
#include "model/line.h"
#include "model/model.h"

/* The sums over all locations; over those of one process, or one location, where these are not SP_NONE. In the order of
 * the regions' files, first lines and names, and then of the lines; *out is the caller's to free. 0, or -1 without
 * memory. */
int sp_lines_sum(struct sp_line **out, size_t *n, const struct sp_model *m, uint32_t process, uint32_t location,
                 struct sp_err *e);

#endif
