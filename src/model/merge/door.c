/* SPDX-License-Identifier: BSD-3-Clause */
/* spartito_merge.so: the library that an MPI program loads at its end, when nothing more is recorded. */
#include "model/merge/merge.h"

extern const struct sp_merge_library sp_merge_library_v1;
__attribute__((visibility("default")))
const struct sp_merge_library sp_merge_library_v1 = {sizeof(struct sp_links), sp_merge};
