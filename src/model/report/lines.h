/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of functions for a report: summed over locations. */
#ifndef SP_MODEL_REPORT_LINES_H
#define SP_MODEL_REPORT_LINES_H

#include <stddef.h>

#include "base/err.h"
#include "model/line.h"
#include "model/model.h"

/* Sums the lines over all locations; over those of one process or one location if these are not SP_NONE. Sorted by the
 * regions' files, first lines and names, then by line. The caller frees *out with free(). Returns 0, or -1 with e set
 * (no memory). */
int sp_lines_sum(struct sp_line **out, size_t *n, const struct sp_model *m, uint32_t process, uint32_t location,
                 struct sp_err *e);

#endif
