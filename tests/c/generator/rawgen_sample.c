/* SPDX-License-Identifier: BSD-3-Clause */
/* A process with everything that the raw format can record. */
#include "rawgen.h"

enum { COLLAPSED = 1, MAIN, WORK, GENERATOR, BUILTIN, SWEEP, ORDER_1, ORDER_2, CASE, SOLVE, STATIC, READ, WRITE, OFF };

static void define(struct rg_process *p)
{
	static const struct sp_raw_code work = {2, 5, 7, -1};

	rg_meta(p, "command", "python sample.py");
	rg_region(p, COLLAPSED, SP_RAW_REGION_COLLAPSED, "", "<collapsed>", "", 0);
	rg_region(p, MAIN, 0, "__main__", "main", "/sample.py", 3);
	rg_region(p, WORK, 0, "__main__", "Grid.work", "/sample.py", 9);
	rg_record(p, SP_RAW_DEF_CODE, 0, WORK, 0, (const struct rg_bytes[4]){{&work, sizeof(work)}});
	rg_region(p, GENERATOR, SP_RAW_REGION_GENERATOR, "__main__", "items", "/sample.py", 20);
	rg_region(p, BUILTIN, SP_RAW_REGION_C, "builtins", "<built-in method builtins.len>", "", 0);
	rg_region(p, SWEEP, SP_RAW_REGION_USER, "user", "sweep", "/sample.py", 30);
	rg_region(p, ORDER_1, SP_RAW_REGION_PARAMETER, "int", "order", "-3", 0);
	rg_region(p, ORDER_2, SP_RAW_REGION_PARAMETER, "int", "order", "2", 0);
	rg_region(p, CASE, SP_RAW_REGION_PARAMETER, "string", "case", "small", 0);
	rg_region(p, SOLVE, SP_RAW_REGION_NATIVE, "kernel.so", "solve", "/lib/kernel.so", 0x1120);
	rg_region(p, STATIC, SP_RAW_REGION_NATIVE, "kernel.so", "", "/lib/kernel.so", 0x1200);
	rg_region(p, READ, SP_RAW_REGION_IO, "", "read", "", 0);
	rg_region(p, WRITE, SP_RAW_REGION_IO, "", "write", "", 0);
	rg_region(p, OFF, SP_RAW_REGION_OFF, "", "MEASUREMENT OFF", "", 0);
	rg_define(p, SP_RAW_DEF_COUNTER, 0, "queue length");
	rg_define(p, SP_RAW_DEF_PARAMETER, 0, "order");
	rg_define(p, SP_RAW_DEF_PARAMETER, 1, "case");
	rg_define(p, SP_RAW_DEF_STRING, 1, "small");
	rg_define(p, SP_RAW_DEF_STRING, 2, "/data/input.bin");
	rg_define(p, SP_RAW_DEF_STRING, 3, "/data/output.bin");
	rg_metric(p, 0, SP_RAW_METRIC_RUSAGE, "ru_utime", "s", -6);
	rg_metric(p, 1, SP_RAW_METRIC_PERF, "instructions", "#", 0);
	rg_metric(p, 2, SP_RAW_METRIC_BYTES | SP_RAW_METRIC_EXCLUSIVE, "io_bytes_read", "byte", 0);
	rg_metric(p, 3, SP_RAW_METRIC_BYTES | SP_RAW_METRIC_EXCLUSIVE, "io_bytes_written", "byte", 0);
}

/* The metrics of a METRICS event at a time; frames that are left at that time have their growth. */
static void metrics(struct rg_thread *t, uint64_t at)
{
	rg_extra(t, at, SP_RAW_X_METRICS, (uint64_t[]){at / 10, at * 3}, 2);
}

static void enter(struct rg_thread *t, uint64_t at, uint32_t region)
{
	metrics(t, at);
	rg_enter(t, at, region);
}

static void leave(struct rg_thread *t, uint64_t at, uint64_t duration)
{
	*rg_value(t, rg_top(t), 0) += duration / 10;
	*rg_value(t, rg_top(t), 1) += duration * 3;
	metrics(t, at);
	rg_leave(t, at);
}

/* A read or a write of this number of bytes, in 30 ticks. */
static void transfer(struct rg_thread *t, uint64_t at, uint64_t handle, enum sp_raw_io_mode mode, uint64_t bytes)
{
	enter(t, at, mode == SP_RAW_IO_READ ? READ : WRITE);
	rg_extra(t, at + 5, SP_RAW_X_IO_BEGIN, (uint64_t[]){handle, mode, bytes + 10, SP_RAW_IO_FAILED}, 4);
	rg_extra(t, at + 25, SP_RAW_X_IO_COMPLETE, (uint64_t[]){handle, bytes}, 2);
	*rg_value(t, rg_top(t), mode == SP_RAW_IO_READ ? 2 : 3) += bytes;
	leave(t, at + 30, 30);
}

static void fill(struct rg_thread *t, bool first)
{
	enter(t, 1000, MAIN);
	rg_extra(t, 1000, SP_RAW_X_PARAMETER_STRING, (uint64_t[]){1, 1}, 2);
	rg_parameter(t, CASE);
	enter(t, 1100, WORK);
	rg_extra(t, 1110, SP_RAW_X_PARAMETER_INT, (uint64_t[]){0, first ? (uint64_t)-3 : 2}, 2);
	rg_parameter(t, first ? ORDER_1 : ORDER_2);
	enter(t, 1200, SOLVE);
	enter(t, 1210, STATIC);
	leave(t, 1250, 40);
	leave(t, 1300, 100);
	leave(t, 1400, 300);
	if (first) {
		rg_extra(t, 1500, SP_RAW_X_IO_CREATE, (uint64_t[]){1, 2, 0}, 3);
		rg_extra(t, 1510, SP_RAW_X_IO_CREATE, (uint64_t[]){2, 3, 0x241}, 3);
		rg_extra(t, 1520, SP_RAW_X_IO_DUP, (uint64_t[]){2, 3}, 2);
		rg_extra(t, 1530, SP_RAW_X_IO_SEEK, (uint64_t[]){1, 64, 0, 64}, 4);
	}
	enter(t, 2000, SWEEP);
	transfer(t, 2010, 1, SP_RAW_IO_READ, 4096);
	transfer(t, 2050, 3, SP_RAW_IO_WRITE, 512);
	transfer(t, 2090, 1, SP_RAW_IO_READ, 1000);
	enter(t, 2200, GENERATOR);
	rg_suspend(t, 2210);
	rg_resume(t, 2220, GENERATOR);
	enter(t, 2230, BUILTIN);
	leave(t, 2240, 10);
	leave(t, 2300, 80);
	leave(t, 2400, 400);
	rg_counter(t, 2500, 0, 2.5);
	rg_extra(t, 2600, SP_RAW_X_MARKER, (uint64_t[]){1}, 1);
	enter(t, 3000, OFF);
	rg_extra(t, 3000, SP_RAW_X_OFF, NULL, 0);
	rg_extra(t, 3500, SP_RAW_X_ON, NULL, 0);
	leave(t, 3500, 500);
	rg_extra(t, 4000, SP_RAW_X_LOST, (uint64_t[]){3}, 1);
	if (first)
		rg_extra(t, 4100, SP_RAW_X_IO_DESTROY, (uint64_t[]){3}, 1);
}

/* The first line has called the open call, which is a call of the same function. */
static void lines(struct rg_thread *t)
{
	size_t at = rg_lines(t, MAIN, 3, 8), i;

	for (i = 0; i < 4; i++) {
		rg_line(t, at + i)->hits = i + 1;
		rg_line(t, at + i)->own = 100 * (i + 1);
	}
	rg_line(t, at)->callees = 700;
	rg_line_frame(t, at, 1500, 1000, true, 0);
	rg_line_frame(t, at + 1, 4000, 1600, false, 1);
}

struct rg_process *rg_sample(bool trace)
{
	struct rg_process *p = rg_process(7, 1, 900, trace);
	struct rg_thread *t;

	define(p);
	t = rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900);
	fill(t, true);
	lines(t);
	fill(rg_thread(p, "Thread-1 (work)", 8, 0, 950), false);
	return p;
}
