/* SPDX-License-Identifier: BSD-3-Clause */
/* rawgen DIR [regions paths threads events [processes [same|narrow]]]: an experiment of known size, for tests and
 * benchmarks. rawgen sample-KIND FILE: one raw file for tests/old-raw; KIND: profile, trace (calls, metrics, file I/O),
 * waits, memory or rare. rawgen mpi DIR RANKS: the ranks of an MPI program. */
#include "rawgen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_sample(const char *kind, const char *path)
{
	if (strcmp(kind, "profile") == 0 || strcmp(kind, "trace") == 0)
		rg_write(rg_sample(strcmp(kind, "trace") == 0), path, SP_RAW_RUNNING, 9000);
	else if (strcmp(kind, "waits") == 0)
		rg_write(rg_waits(true), path, SP_RAW_RUNNING, 4000);
	else if (strcmp(kind, "memory") == 0)
		rg_write(rg_memory(), path, SP_RAW_ENDED_NORMAL, 4000);
	else if (strcmp(kind, "rare") == 0)
		rg_write(rg_rare(), path, SP_RAW_ENDED_NORMAL, 4000);
	else
		return 2;
	return 0;
}

int main(int argc, char **argv)
{
	struct rg_options o = {.processes = 2,
	                       .threads = 3,
	                       .regions = 50,
	                       .events = 20000,
	                       .trace = true,
	                       .extras = true,
	                       .open = true,
	                       .abrupt = true,
	                       .seed = 1};

	if (argc == 3 && strncmp(argv[1], "sample-", 7) == 0) {
		if (write_sample(argv[1] + 7, argv[2]) == 0)
			return 0;
		fprintf(stderr, "rawgen: unknown kind of sample %s\n", argv[1] + 7);
		return 2;
	}
	if (argc == 4 && strcmp(argv[1], "mpi") == 0) {
		rg_mpi_experiment(argv[2], (uint32_t)strtoul(argv[3], NULL, 10));
		return 0;
	}
	if (argc < 2 || argc > 8 || (argc == 8 && strcmp(argv[7], "same") != 0 && strcmp(argv[7], "narrow") != 0)) {
		fprintf(stderr, "usage: rawgen DIR [regions paths threads events [processes [same|narrow]]]\n");
		return 2;
	}
	if (argc > 2) {
		o.regions = (unsigned)strtoul(argv[2], NULL, 10);
		o.paths = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
		o.threads = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 1;
		o.events = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
		o.processes = argc > 6 ? (unsigned)strtoul(argv[6], NULL, 10) : 1;
		o.same_paths = argc > 7 && strcmp(argv[7], "same") == 0;
		o.narrow = argc > 7 && !o.same_paths;
		o.trace = o.events > 0;
		o.extras = o.open = o.abrupt = false;
	}
	rg_experiment(argv[1], &o);
	return 0;
}
