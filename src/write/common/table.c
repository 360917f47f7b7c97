/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "write/common/formats.h"

const struct sp_writer sp_writers[] = {
    {"otf2", "event trace for Vampir and the OTF2 tools", "", "otf2-print", true, true, false, sp_write_otf2},
    {"cube", "call-path profile for Cube", ".cubex", "cube", false, false, false, sp_write_cube},
    {"pstats", "the profile format of cProfile", ".prof", "snakeviz", false, false, true, sp_write_pstats},
    {"perfetto", "event trace for Perfetto; packed if its name ends with .gz", ".pftrace", "https://ui.perfetto.dev",
     true, false, true, sp_write_perfetto},
    {"chrome", "the same as JSON, for what reads no other; packed if its name ends with .gz", ".chrome.json",
     "chrome://tracing", true, false, true, sp_write_chrome},
    {"speedscope", "flame graph and, with a trace, the time line of each thread", ".speedscope.json",
     "https://www.speedscope.app", false, false, true, sp_write_speedscope},
    {"folded", "collapsed stacks in microseconds", ".folded", "flamegraph.pl", false, false, true, sp_write_folded},
    {"pprof", "profile for pprof and what reads its format; packed if its name ends with .gz", ".pb.gz",
     "go tool pprof", false, false, true, sp_write_pprof},
    {"callgrind", "call graph for KCachegrind", ".callgrind", "kcachegrind", false, false, true, sp_write_callgrind},
    {"tau", "a profile for each thread for TAU's ParaProf and pprof", "", "paraprof", false, true, false, sp_write_tau},
    {"ppk", "the same packed into one file", ".ppk", "paraprof", false, false, false, sp_write_ppk},
    {"text", "the table that cProfile prints, by internal time", ".txt", "less", false, false, true, sp_write_text},
    {"lprof", "lines of functions as kernprof writes them", ".lprof", "python -m line_profiler", false, false, true,
     sp_write_lprof},
    {"timemory", "tables of counts and times as timemory and Omnitrace print them", "", "less", false, true, false,
     sp_write_timemory},
    {"json", "everything but the events, for programs", ".json", "jq", false, false, false, sp_write_json},
    {0},
};

const struct sp_writer *sp_writer_find(const char *name)
{
	for (const struct sp_writer *w = sp_writers; w->name; w++)
		if (strcmp(w->name, name) == 0)
			return w;
	return NULL;
}
