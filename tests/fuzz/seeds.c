/* SPDX-License-Identifier: BSD-3-Clause */
/* seeds DIR: writes small, valid raw files as the fuzzer's initial inputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "generator/rawgen.h"

static void fill(struct rg_process *p, bool trace, unsigned events)
{
	struct rg_thread *t;
	uint64_t now = 1000;
	unsigned i, k;

	rg_meta(p, "command", "python a.py");
	rg_meta(p, "parent", "b.raw");
	rg_region(p, 1, SP_RAW_REGION_COLLAPSED, "", "<collapsed>", "", 0);
	rg_region(p, 2, 0, "m", "f", "/m.py", 3);
	rg_region(p, 3, SP_RAW_REGION_GENERATOR, "m", "gen", "/m.py", 9);
	rg_define(p, SP_RAW_DEF_COUNTER, 0, "c");
	rg_define(p, SP_RAW_DEF_PARAMETER, 0, "p");
	rg_define(p, SP_RAW_DEF_STRING, 0, "s");
	for (k = 0; k < 2; k++) {
		t = rg_thread(p, k ? "T" : "MainThread", 7 + k, k ? 0 : SP_RAW_NONE, 1000);
		now = 1000;
		for (i = 0; i < events; i++) {
			rg_enter(t, now += 10, 2);
			rg_resume(t, now += 10, 3);
			if (trace) {
				rg_counter(t, now, 0, i);
				rg_extra(t, now, SP_RAW_X_PARAMETER_STRING, (uint64_t[]){0, 0}, 2);
				rg_extra(t, now, SP_RAW_X_MARKER, (uint64_t[]){0}, 1);
			}
			rg_suspend(t, now += 10);
			if (i % 5)
				rg_leave(t, now += 10);
		}
		rg_inherit(t, now += 5, 2);
	}
}

/* the input of fuzz_joined */
static void write_joined(const char *path)
{
	size_t n[2];
	unsigned char *bytes[2] = {rg_bytes(rg_waits(true), SP_RAW_ENDED_NORMAL, 5000, &n[0]),
	                           rg_bytes(rg_samples(), SP_RAW_ENDED_NORMAL, 5000, &n[1])};
	const uint32_t first = (uint32_t)n[0];
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(&first, sizeof(first), 1, f) != 1 || fwrite(bytes[0], 1, n[0], f) != n[0] ||
	    fwrite(bytes[1], 1, n[1], f) != n[1] || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
	free(bytes[0]);
	free(bytes[1]);
}

static void write_symbols(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f ||
	    fputs("spartito symbols 1\nobject\t0123456789abcdef\t/lib/kernel.so\n"
	          "1120\tsolve\tsolve(int)\t/src/kernel\\x09.c\t12\nend\t1\n",
	          f) < 0 ||
	    fclose(f) != 0) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	char path[4096];
	unsigned i;

	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIR\n");
		return 2;
	}
	mkdir(argv[1], 0777);
	for (i = 0; i < 6; i++) {
		struct rg_process *p = rg_process(7, 1, 1000, i % 2);

		fill(p, i % 2, i * 3);
		rg_header(p)->cost_in_ps = i * 1000;
		rg_header(p)->clock = i % 3 ? SP_RAW_CLOCK_TSC : SP_RAW_CLOCK_MONOTONIC;
		snprintf(path, sizeof(path), "%s/seed%u.raw", argv[1], i);
		rg_write(p, path, i % 2 ? SP_RAW_RUNNING : SP_RAW_ENDED_NORMAL, 5000);
	}
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/tasks%u.raw", argv[1], i);
		rg_write(rg_tasks(i), path, SP_RAW_ENDED_NORMAL, 5000);
		snprintf(path, sizeof(path), "%s/mpi%u.raw", argv[1], i);
		rg_write(rg_mpi_rank(0xabc, i, 2, true, NULL), path, SP_RAW_ENDED_NORMAL, 5000);
		snprintf(path, sizeof(path), "%s/waits%u.raw", argv[1], i);
		rg_write(rg_waits(i), path, SP_RAW_RUNNING, 5000);
	}
	snprintf(path, sizeof(path), "%s/memory.raw", argv[1]);
	rg_write(rg_memory(), path, SP_RAW_ENDED_NORMAL, 5000);
	snprintf(path, sizeof(path), "%s/rare.raw", argv[1]);
	rg_write(rg_rare(), path, SP_RAW_ENDED_NORMAL, 5000);
	snprintf(path, sizeof(path), "%s/samples.raw", argv[1]);
	rg_write(rg_samples(), path, SP_RAW_ENDED_NORMAL, 5000);
	snprintf(path, sizeof(path), "%s/joined", argv[1]);
	write_joined(path);
	snprintf(path, sizeof(path), "%s/symbols", argv[1]);
	write_symbols(path);
	snprintf(path, sizeof(path), "%s/profile.raw", argv[1]);
	rg_write(rg_sample(false), path, SP_RAW_RUNNING, 9000);
	snprintf(path, sizeof(path), "%s/trace.raw", argv[1]);
	rg_write(rg_sample(true), path, SP_RAW_RUNNING, 9000);
	return 0;
}
