/* SPDX-License-Identifier: BSD-3-Clause */
/* The write functions in the rows of table.c; see struct sp_writer. */
#ifndef SP_WRITE_COMMON_FORMATS_H
#define SP_WRITE_COMMON_FORMATS_H

#include "model/model.h"
#include "write/common/writer.h"

typedef int sp_write_fn(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e);

sp_write_fn sp_write_otf2, sp_write_cube, sp_write_pstats, sp_write_speedscope, sp_write_folded, sp_write_callgrind,
    sp_write_json, sp_write_tau, sp_write_ppk, sp_write_text, sp_write_lprof, sp_write_timemory, sp_write_perfetto,
    sp_write_chrome, sp_write_pprof;

#endif
