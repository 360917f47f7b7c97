/* SPDX-License-Identifier: BSD-3-Clause */
/* The names that Omnitrace and timemory show. */
#ifndef SP_WRITE_COMMON_BARE_H
#define SP_WRITE_COMMON_BARE_H

#include "base/arena.h"
#include "model/region.h"
#include "model/str.h"

/* Of a function of Python without module, class and enclosing functions, but with its label; of one of C the name
 * alone. Points into the model or the arena. */
struct sp_str sp_bare_name(struct sp_arena *a, const struct sp_region *r);

#endif
