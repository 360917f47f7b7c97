/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions with which libraries outside of _measure record. */
#include "record/adapter.h"
#include "record/callpath.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/hot.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int (*sp_adapter_runs_python)(void);
int (*sp_adapter_ended)(void);
void (*sp_adapter_finish)(void);
int sp_adapter_forked_python;
__thread int sp_adapter_forks SP_TLS_MODEL;

static uint32_t wanted, generation, mpi_groups;
uint32_t sp_adapter_process;
static _Atomic int columns[SP_COUNTS]; /* 0: no column, otherwise the column's number + 1 */

/* Bit 2 distinguishes it from the keys of C functions, which also have bit 1 set. */
static uint64_t key_of(uint32_t region)
{
	return (uint64_t)region << 8 | 6;
}

/* For sp_adapter_read(). Only one thread, which starts a measurement, sets them. */
static void set(uint32_t *member, uint32_t value)
{
	__atomic_store_n(member, value, __ATOMIC_RELAXED);
}

static bool mpi_wanted(void)
{
	char why[300];
	uint32_t groups = 0;
	const bool known = sp_mpi_groups(sp_process.settings.mpi, &groups, why, sizeof why) == 0;
	if (known)
		set(&mpi_groups, groups);
	return known && groups;
}

/* Columns are defined before MPI begins and take space in every process. They are therefore made only if an MPI
 * launcher started the process. */
bool sp_adapter_mpi_launched(void)
{
	return getenv("OMPI_COMM_WORLD_RANK") || getenv("PMIX_RANK") || getenv("PMI_RANK") || getenv("SLURM_PROCID");
}

void sp_adapter_columns(void)
{
	static const struct {
		const char *name, *what;
	} counts[SP_COUNTS] = {
	    [SP_COUNT_IO_READ] = {"io_bytes_read", "bytes read by functions of the C library"},
	    [SP_COUNT_IO_WRITTEN] = {"io_bytes_written", "bytes written by functions of the C library"},
	    [SP_COUNT_MPI_SENT] = {"bytes_sent", "bytes sent by MPI"},
	    [SP_COUNT_MPI_RECEIVED] = {"bytes_received", "bytes received by MPI"},
	    [SP_COUNT_MPI_PUT] = {"bytes_put", "bytes put into windows of other processes"},
	    [SP_COUNT_MPI_GET] = {"bytes_get", "bytes fetched from windows of other processes"},
	    [SP_COUNT_MPI_IO_READ] = {"mpi_io_bytes_read", "bytes read by MPI"},
	    [SP_COUNT_MPI_IO_WRITTEN] = {"mpi_io_bytes_written", "bytes written by MPI"},
	};
	const bool mpi = mpi_wanted() && sp_adapter_mpi_launched();
	for (int i = 0; i < SP_COUNTS; i++) {
		bool asked = i < SP_COUNT_MPI_SENT ? sp_process.settings.io : mpi;
		columns[i] = asked ? sp_define_metric(counts[i].name, "B", 0, counts[i].what,
		                                      SP_RAW_METRIC_BYTES | SP_RAW_METRIC_EXCLUSIVE) +
		                         1
		                   : 0;
	}
}

void sp_adapter_new_file(int start)
{
	set(&sp_adapter_process, sp_adapter_process + 1);
	if (start) {
		set(&generation, generation + 1);
		sp_native_forget();
		set(&wanted, (sp_process.settings.io ? SP_ADAPTER_IO : 0u) | (mpi_wanted() ? SP_ADAPTER_MPI : 0u) |
		                 (sp_process.settings.finalize ? SP_ADAPTER_MERGE : 0u));
	}
}

/* The thread has no location yet, or one from before a pause or stop. */
SP_COLD static struct sp_thread *thread_slow(struct sp_thread *t)
{
	int error = errno;
	if (sp_process.forked) {
		t = sp_adapter_forked_python ? sp_thread_new() : NULL;
	} else if (sp_adapter_runs_python && sp_adapter_runs_python()) {
		t = NULL;
	} else if (!t) {
		t = sp_thread_new();
	} else if (sp_stack_out_of_date) {
		sp_stack_out_of_date(t);
		if (t->epoch != sp_epoch)
			t = NULL;
	}
	errno = error;
	return t;
}

struct sp_thread *sp_adapter_thread(void)
{
	struct sp_thread *t = sp_self;
	if (SP_UNLIKELY(!sp_recording || sp_adapter_forks))
		return NULL;
	if (SP_UNLIKELY(!t || t->epoch != sp_epoch))
		t = thread_slow(t);
	return SP_LIKELY(t && !t->booting) ? t : NULL;
}

static int traced(const struct sp_thread *t)
{
	return t->traced;
}

static struct sp_text text_of(const char *p)
{
	return p ? (struct sp_text){p, strlen(p)} : (struct sp_text){"", 0};
}

static uint32_t region(unsigned kind, const char *module, const char *name, const char *file, uint32_t line)
{
	int error = errno;
	uint32_t id = sp_define_region(text_of(module), text_of(name), text_of(file), line, kind);
	errno = error;
	return id;
}

static uint32_t string(const char *text, size_t n)
{
	char escaped[PATH_MAX + 4];
	int error = errno;
	n = sp_escape(escaped, sizeof escaped, text, n);
	uint32_t id = n ? sp_define_name(SP_RAW_DEF_STRING, escaped, n) : 0;
	errno = error;
	return id;
}

static int define(enum sp_raw_def_kind kind, unsigned flags, uint32_t a, uint32_t b, const struct sp_adapter_text *text,
                  int n)
{
	struct sp_text texts[4];
	int error = errno;
	for (int i = 0; i < n && i < 4; i++)
		texts[i] = (struct sp_text){text[i].p, text[i].n};
	int r = sp_define(kind, flags, a, b, texts, n < 4 ? n : 4);
	errno = error;
	return r;
}

static void meta(const char *key, const char *value)
{
	int error = errno;
	sp_define_meta(key, value, strlen(value));
	errno = error;
}

static const char *path(void)
{
	return sp_process.path;
}

static uint64_t enter(struct sp_thread *t, uint32_t id)
{
	uint64_t now = sp_ticks();
	sp_enter(t, id, key_of(id), now, SP_RAW_ENTER);
	return now;
}

static uint64_t leave(struct sp_thread *t, uint32_t id)
{
	uint64_t now = sp_ticks();
	if (SP_UNLIKELY(!sp_leave(t, key_of(id), now, SP_RAW_LEAVE)))
		sp_unmatched(t);
	return now;
}

static uint64_t ticks(void)
{
	return sp_ticks();
}

static void add(struct sp_thread *t, enum sp_adapter_count which, uint64_t amount)
{
	struct sp_raw_node *n = (struct sp_raw_node *)((const struct sp_raw_frame *)t->loc.top)->node;
	const int column = columns[which];
	if (SP_LIKELY(column))
		sp_node_add(t, n, (unsigned)column - 1, amount);
}

static uint64_t io_handle(void)
{
	static uint64_t last;
	const uint64_t process = sp_adapter_read(&sp_adapter_process);
	uint64_t before = __atomic_load_n(&last, __ATOMIC_RELAXED), next;
	do
		next = (before >> 32 == process ? before : process << 32) + 1;
	while (!__atomic_compare_exchange_n(&last, &before, next, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return next;
}

static int over(void)
{
	const struct sp_thread *t = sp_self;
	if (sp_process.forked || !sp_process.header || !sp_adapter_ended || !sp_adapter_ended())
		return 0;
	return sp_process.header->ended != SP_RAW_RUNNING || !t || t->epoch != sp_epoch || sp_stack_depth(t) <= 1;
}

static void finish(void)
{
	int error = errno;
	if (sp_adapter_finish)
		sp_adapter_finish();
	errno = error;
}

__attribute__((visibility("default"))) const struct sp_adapter sp_adapter_v1 = {
    .version = 1,
    .size = sizeof(struct sp_adapter),
    .wanted = &wanted,
    .generation = &generation,
    .process = &sp_adapter_process,
    .thread = sp_adapter_thread,
    .traced = traced,
    .region = region,
    .string = string,
    .enter = enter,
    .leave = leave,
    .now = ticks,
    .extra = sp_extra_at,
    .add = add,
    .native_enter = sp_native_enter,
    .native_leave = sp_native_leave,
    .native_forget = sp_native_forget,
    .define = define,
    .meta = meta,
    .path = path,
    .mpi_groups = &mpi_groups,
    .io_handle = io_handle,
    .over = over,
    .finish = finish,
};
