/* SPDX-License-Identifier: BSD-3-Clause */
/* Function names as Omnitrace and timemory show them. */
#ifndef SP_WRITE_COMMON_BARE_H
#define SP_WRITE_COMMON_BARE_H

#include "base/arena.h"
#include "model/region.h"
#include "model/str.h"

/* For a Python function the name without module, class and enclosing functions, but with its label; for a C function
 * only the name. Points into the model or the arena. */
struct sp_str sp_bare_name(struct sp_arena *a, const struct sp_region *r);

#endif
