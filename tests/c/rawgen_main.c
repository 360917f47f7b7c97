/* SPDX-License-Identifier: BSD-3-Clause */
/* rawgen DIR [regions paths threads events [processes]]: an experiment of known size, for tests and benchmarks. */
#include "rawgen.h"

#include <stdio.h>
#include <stdlib.h>

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

	if (argc < 2 || argc > 7) {
		fprintf(stderr, "usage: rawgen DIR [regions paths threads events [processes]]\n");
		return 2;
	}
	if (argc > 2) {
		o.regions = (unsigned)strtoul(argv[2], NULL, 10);
		o.paths = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
		o.threads = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 1;
		o.events = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
		o.processes = argc > 6 ? (unsigned)strtoul(argv[6], NULL, 10) : 1;
		o.trace = o.events > 0;
		o.extras = o.open = o.abrupt = false;
	}
	rg_experiment(argv[1], &o);
	return 0;
}
