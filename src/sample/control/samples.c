/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/control/samples.h"
#include "record/buffer.h"
#include "record/callpath.h"
#include "record/definitions.h"
#include "record/filter.h"
#include "record/process.h"
#include "record/rows.h"
#include "record/settings.h"
#include "record/thread.h"
#include "record/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_LINES = 4 << 10, LAST_LINES = 256 << 10, FIRST_TABLE = 64 };

struct sp_sampled_line {
	struct sp_raw_line *row; /* NULL: unused */
};

/* ---- the file ---- */

static unsigned columns;  /* number of columns of samples */
static unsigned counters; /* number of columns after these */
static bool measured;     /* the process has Spartito's modules loaded, which do not belong to the program */

static void define_columns(const char *metrics, bool without_gil)
{
	static const struct {
		const char *name, *unit, *what;
		int exponent;
	} all[SP_SAMPLE_COLUMNS] = {
	    [SP_SAMPLE_COUNT] = {"samples", "#", "how often it was found there", 0},
	    [SP_SAMPLE_CPU] = {"sampled_cpu", "s", "processor time", -9},
	    [SP_SAMPLE_STATES + SP_STATE_RUNNING] = {"sampled_running", "s", "running, or ready to run", -9},
	    [SP_SAMPLE_STATES + SP_STATE_GIL] = {"sampled_gil", "s", "waiting for the global interpreter lock", -9},
	    [SP_SAMPLE_STATES + SP_STATE_SYSCALL] = {"sampled_syscall", "s",
	                                             "in system calls that work: files, disks, the network", -9},
	    [SP_SAMPLE_STATES +
	        SP_STATE_IDLE] = {"sampled_idle", "s", "waiting for something else: sleep, locks, input", -9},
	    [SP_SAMPLE_STATES +
	        SP_STATE_OBJECT] = {"sampled_object_lock", "s", "waiting for the lock inside an object", -9},
	    [SP_SAMPLE_STATES +
	        SP_STATE_STOPPED] = {"sampled_stopped", "s", "waiting because another thread stopped all threads", -9},
	};
	columns = without_gil ? SP_SAMPLE_COLUMNS : SP_SAMPLE_WITH_GIL;
	for (unsigned i = 0; i < columns; i++)
		sp_define_metric(all[i].name, all[i].unit, all[i].exponent, all[i].what,
		                 SP_RAW_METRIC_SAMPLE | SP_RAW_METRIC_EXCLUSIVE);
	/* if calls are recorded, the process reads the counters itself */
	counters = sp_process.settings.instrument ? 0 : sp_counters_define(metrics);
}

int sp_samples_begin(const char *dir, const char *const *settings, const struct sp_owners *owners, pid_t pid,
                     const char *file, bool without_gil)
{
	static const char *const own[] = {"trace", "1", "clock", "monotonic", "mpi", "off", "metrics", "", NULL};
	struct sp_settings s;
	struct sp_filter *f = NULL;
	char why[300];
	sp_settings_init(&s);
	const char *metrics = "";
	measured = file;
	for (; settings && settings[0]; settings += 2) {
		if (!strcmp(settings[0], "metrics"))
			metrics = settings[1];
		sp_settings_set(&s, settings[0], settings[1], why, sizeof why);
	}
	for (const char *const *o = own; *o; o += 2)
		sp_settings_set(&s, o[0], o[1], why, sizeof why);
	int r = sp_filter_new(&f, &s, owners, why, sizeof why);
	if (!r)
		r = sp_process_start_sampler(dir, &s, f, pid, file);
	if (r)
		sp_settings_free(&s);
	else
		define_columns(metrics, without_gil);
	return r;
}

void sp_samples_end(uint64_t end)
{
	for (struct sp_thread *t = sp_process.threads; t; t = t->next)
		if (!t->loc.end)
			t->loc.end = end;
	sp_process_stop(SP_RAW_ENDED_NORMAL);
}

static struct sp_text text_of(const char *p)
{
	return (struct sp_text){p, strlen(p)};
}

struct sp_sampled_region *sp_samples_region(const char *module, const char *name, const char *file, uint32_t line,
                                            unsigned flags)
{
	struct sp_sampled_region *r = calloc(1, sizeof *r);
	if (r)
		r->id = sp_define_region(text_of(module), text_of(name), text_of(file), line, flags);
	return r;
}

bool sp_samples_left_out(const char *module, const char *name, const char *file)
{
	return (measured && sp_module_is_ours(module, file)) || !sp_filter_wants(sp_process.filter, module, name, file);
}

/* ---- lines ---- */

static struct sp_sampled_line *find_line(const struct sp_sampled_thread *t, uint32_t region, uint32_t line)
{
	size_t mask = t->table_size - 1;
	size_t i = (((uint64_t)region << 32 | line) * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & mask;
	while (t->table[i].row && !(t->table[i].row->region == region && t->table[i].row->line == line))
		i = (i + 1) & mask;
	return &t->table[i];
}

static bool table_grow(struct sp_sampled_thread *t)
{
	const size_t size = t->table_size;
	struct sp_sampled_line *old = t->table, *more = calloc(size ? 2 * size : FIRST_TABLE, sizeof *more);
	if (!more)
		return false;
	t->table = more;
	t->table_size = size ? 2 * size : FIRST_TABLE;
	for (size_t i = 0; i < size; i++)
		if (old[i].row)
			*find_line(t, old[i].row->region, old[i].row->line) = old[i];
	free(old);
	return true;
}

/* The place of a new row, which sp_rows_added() shows to readers; NULL: no space. */
static struct sp_raw_line *row_new(struct sp_sampled_thread *t)
{
	struct sp_raw_chunk *c = t->line_chunk;
	if (!c || (c->used + 1) * sizeof(struct sp_raw_line) > c->bytes - sizeof *c) {
		uint64_t bytes = c ? c->bytes * 2 : FIRST_LINES;
		if (bytes > LAST_LINES)
			bytes = LAST_LINES;
		pthread_mutex_lock(&sp_process.lock);
		bool full = sp_process.mapped + bytes > sp_process.settings.trace_memory;
		c = full ? NULL : sp_buffer_chunk(SP_RAW_LINES, t->location, bytes, t->line_chunks, 0);
		if (full)
			sp_process_lost(SP_RAW_REASON_MEMORY, 0, 0);
		pthread_mutex_unlock(&sp_process.lock);
		if (!c)
			return NULL;
		t->line_chunks++;
		t->line_chunk = c;
	}
	return (struct sp_raw_line *)(c + 1) + c->used;
}

/* Finds or makes the row of a line; NULL: no space. */
static struct sp_raw_line *row_of(struct sp_sampled_thread *t, uint32_t region, uint32_t line)
{
	if (t->table_used * 2 >= t->table_size && !table_grow(t))
		return NULL;
	struct sp_sampled_line *e = find_line(t, region, line);
	if (!e->row && (e->row = row_new(t))) {
		e->row->region = region;
		e->row->line = line;
		sp_rows_added(t->line_chunk);
		t->table_used++;
	}
	return e->row;
}

/* ---- threads ---- */

bool sp_samples_thread(struct sp_sampled_thread *t, pid_t tid, uint64_t begin)
{
	*t = (struct sp_sampled_thread){.location = sp_thread_of((uint64_t)tid, begin)};
	return t->location;
}

void sp_samples_thread_end(struct sp_sampled_thread *t, uint64_t end)
{
	sp_samples_flush(t);
	if (t->location && t->again)
		sp_extra_at(t->location, SP_RAW_X_SAMPLES_END, (uint64_t[]){t->again}, 1, end);
	if (t->location)
		sp_thread_ended(t->location, end);
	free(t->nodes);
	free(t->lines);
	free(t->call_lines);
	free(t->reported_lines);
	free(t->table);
	*t = (struct sp_sampled_thread){.location = NULL};
}

static bool capacity_for(struct sp_sampled_thread *t, size_t n)
{
	if (n <= t->capacity)
		return true;
	struct sp_raw_node **nodes = realloc(t->nodes, 2 * n * sizeof *nodes);
	if (nodes)
		t->nodes = nodes;
	struct sp_raw_line **lines = realloc(t->lines, 2 * n * sizeof *lines);
	if (lines)
		t->lines = lines;
	uint32_t *calls = realloc(t->call_lines, 2 * n * sizeof *calls), *reported = NULL;
	if (calls)
		t->call_lines = calls;
	if (calls && (reported = realloc(t->reported_lines, 2 * n * sizeof *reported)))
		t->reported_lines = reported;
	if (nodes && lines && reported)
		t->capacity = 2 * n;
	return nodes && lines && reported;
}

/* Finds or makes the nodes, from the outermost frame inwards; without room for more, the rest shares one node. */
static void find_nodes(struct sp_sampled_thread *t, const struct sp_sampled_frame *frames, size_t n)
{
	struct sp_raw_node *at = t->location->root;
	t->depth = 0;
	while (n-- > 0 && at != t->location->collapsed) {
		if (frames[n].region->left_out)
			continue;
		struct sp_raw_node *next = sp_callpath_child(t->location, at, frames[n].region->id);
		if (!next) {
			t->location->loc.lost_paths++;
			next = t->location->collapsed;
		}
		t->lines[t->depth] = NULL;
		t->call_lines[t->depth] = frames[n].line;
		t->nodes[t->depth++] = at = next;
	}
}

/* Whether the lines at which the frames call differ from those in the trace. */
static bool calls_from_elsewhere(const struct sp_sampled_thread *t)
{
	const size_t callers = t->depth ? t->depth - 1 : 0, both = callers < t->reported ? callers : t->reported;
	return callers > t->reported ||
	       (both && memcmp(t->call_lines, t->reported_lines, both * sizeof *t->call_lines));
}

/* The running line of the innermost recorded frame; 0: not recorded. */
static uint32_t innermost_line(const struct sp_sampled_thread *t, const struct sp_sampled_frame *frames, size_t n)
{
	size_t i = 0;
	while (i < n && frames[i].region->left_out)
		i++;
	return i < n && t->depth && t->nodes[t->depth - 1]->region == frames[i].region->id ? frames[i].line : 0;
}

/* Finds the rows of the lines. In a recursive function only the innermost call's line gets the time. */
static void find_lines(struct sp_sampled_thread *t, const struct sp_sampled_frame *frames, size_t n)
{
	static uint64_t stack;
	size_t k = t->depth;
	stack++;
	for (size_t i = 0; i < n && k > 0; i++) {
		struct sp_sampled_region *r = frames[i].region;
		if (r->left_out)
			continue;
		k--;
		if (frames[i].line && r->last_stack != stack && t->nodes[k]->region == r->id)
			t->lines[k] = row_of(t, r->id, frames[i].line);
		r->last_stack = stack;
	}
}

void sp_samples_found(struct sp_sampled_thread *t, const struct sp_sampled_frame *frames, size_t n,
                      enum sp_thread_state state)
{
	sp_samples_flush(t);
	t->state = state;
	t->depth = 0;
	if (!t->location || !capacity_for(t, n))
		return;
	find_nodes(t, frames, n);
	if (t->location->collapsed != (t->depth ? t->nodes[t->depth - 1] : NULL))
		find_lines(t, frames, n);
	const uint32_t node = t->depth ? sp_callpath_index(t->location, t->nodes[t->depth - 1]) : 0;
	const uint32_t line = innermost_line(t, frames, n);
	t->report =
	    t->report || node != t->node || line != t->line || state != t->reported_state || calls_from_elsewhere(t);
	t->node = node;
	t->line = line;
	t->reported_state = state;
}

enum { LINES = 400 /* maximum number of lines in a record */ };

/* Writes the lines that differ from those of the previous sample, from the first to the last such line. */
static void report_lines(struct sp_sampled_thread *t, uint64_t now)
{
	size_t first = 0, end = t->depth - 1;
	while (first < end && first < t->reported && t->call_lines[first] == t->reported_lines[first])
		first++;
	while (end > first && end <= t->reported && t->call_lines[end - 1] == t->reported_lines[end - 1])
		end--;
	while (first < end) {
		const uint32_t n = end - first < LINES ? (uint32_t)(end - first) : LINES;
		uint64_t payload[1 + LINES / 2] = {first | (uint64_t)n << 32};
		memcpy(payload + 1, t->call_lines + first, n * sizeof *t->call_lines);
		sp_extra_at(t->location, SP_RAW_X_SAMPLE_LINES, payload, 1 + (n + 1) / 2, now);
		memcpy(t->reported_lines + first, t->call_lines + first, n * sizeof *t->reported_lines);
		first += n;
	}
	t->reported = t->reported > end ? t->reported : end;
}

/* Writes a SAMPLE event of the last sample. */
static void report(struct sp_sampled_thread *t, uint64_t cpu, uint64_t now)
{
	uint64_t payload[4 + SP_COUNTERS_MAX] = {t->node, t->state, cpu, t->line | (uint64_t)t->again << 32};
	memcpy(payload + 4, t->grown, counters * sizeof *t->grown);
	if (t->location && t->depth)
		report_lines(t, now);
	if (t->location)
		sp_extra_at(t->location, SP_RAW_X_SAMPLE, payload, 4 + counters, now);
	memset(t->grown, 0, sizeof t->grown);
	t->again = 0;
	t->report = false;
}

void sp_samples_add(struct sp_sampled_thread *t, uint64_t wall, uint64_t cpu, uint64_t samples, uint64_t now)
{
	t->wall += wall;
	t->cpu += cpu;
	t->samples += samples;
	if (!samples)
		return;
	if (t->report || cpu)
		report(t, cpu, now);
	else if (t->again < UINT32_MAX)
		t->again++;
}

void sp_samples_count(struct sp_sampled_thread *t, const uint64_t *counted)
{
	for (unsigned i = 0; i < counters; i++)
		t->counted[i] += counted[i];
	for (unsigned i = 0; i < counters; i++) {
		t->grown[i] += counted[i];
		t->report |= counted[i] != 0;
	}
}

void sp_samples_flush(struct sp_sampled_thread *t)
{
	const size_t last = t->depth - 1;
	if (t->depth && t->location) {
		struct sp_raw_node *leaf = t->nodes[last];
		for (size_t i = 0; i <= last; i++) {
			t->nodes[i]->incl += t->wall;
			if (t->lines[i])
				*(i == last ? &t->lines[i]->own : &t->lines[i]->callees) += t->wall;
		}
		*sp_node_value(leaf, SP_SAMPLE_COUNT) += t->samples;
		*sp_node_value(leaf, SP_SAMPLE_CPU) += t->cpu;
		*sp_node_value(leaf, SP_SAMPLE_STATES + (unsigned)t->state) += t->wall;
		for (unsigned i = 0; i < counters; i++)
			*sp_node_value(leaf, columns + i) += t->counted[i];
	}
	t->wall = t->cpu = t->samples = 0;
	memset(t->counted, 0, sizeof t->counted);
}
