/* SPDX-License-Identifier: BSD-3-Clause */
/* spartito_merge.so: what a program of MPI loads where it ends, when nothing more is recorded. */
#include "model/merge/merge.h"

extern const struct sp_merge_library sp_merge_library_v1;
__attribute__((visibility("default")))
const struct sp_merge_library sp_merge_library_v1 = {sizeof(struct sp_links), sp_merge};
