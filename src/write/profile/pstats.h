/* SPDX-License-Identifier: BSD-3-Clause */
/* Function keys of cProfile. */
#ifndef SP_WRITE_PROFILE_PSTATS_H
#define SP_WRITE_PROFILE_PSTATS_H

#include "model/region.h"
#include "write/profile/graph.h"

/* (file, first line, name); ("~", 0, name) for functions without a source location. */
struct sp_graph_key sp_pstats_key(const struct sp_region *r);

#endif
