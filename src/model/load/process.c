/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads one raw file, a process and its threads; sorts all processes. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>

#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/rows.h"
#include "model/builder/samples.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"

#define NS        UINT64_C(1000000000)
#define YEAR_2000 (UINT64_C(946684800) * NS)
#define YEAR_2200 (UINT64_C(7258118400) * NS)

static const char *reason(struct sp_builder *b, const struct sp_raw_header *h)
{
	char text[160];

	switch (h->lost_reason) {
	case SP_RAW_REASON_NONE:
		return NULL;
	case SP_RAW_REASON_MEMORY:
		snprintf(text, sizeof(text), "the memory limit of %.1f MiB was reached (--memory)",
		         (double)h->memory_limit / 1048576);
		break;
	case SP_RAW_REASON_DISK:
		snprintf(text, sizeof(text), "the file could not grow: %s", strerror(h->lost_errno));
		break;
	case SP_RAW_REASON_HOOK:
		return "another tool took the hook away";
	case SP_RAW_REASON_METRICS:
		snprintf(text, sizeof(text), "metrics could not be read to the end: %s", strerror(h->lost_errno));
		break;
	case SP_RAW_REASON_INTERNAL:
		return "an error inside Spartito turned measuring off";
	default:
		snprintf(text, sizeof(text), "unknown reason %" PRIu32, h->lost_reason);
	}
	return sp_arena_copy(&b->priv->arena, text, strlen(text));
}

static const char *children_reason(struct sp_builder *b, const struct sp_raw_header *h)
{
	const char *text = h->lost_children_errno == SP_RAW_ERRNO_CLONE
	                       ? "begun by a system call (clone), past pthread_atfork; what the parent's file says of "
	                         "the time since then may be wrong"
	                       : strerror(h->lost_children_errno);

	return h->lost_children ? sp_arena_copy(&b->priv->arena, text, strlen(text)) : NULL;
}

const char *const sp_process_end_names[SP_ENDS] = {"normal", "stopped", "abrupt", "exited", "exec", "running"};

static enum sp_process_end end_of(const struct sp_raw_file *raw)
{
	/* the sampler was killed, which says nothing about the process */
	if (raw->header.start == SP_RAW_STARTED_SAMPLER && raw->header.ended == SP_RAW_RUNNING && !raw->bytes.running)
		return SP_END_STOPPED;
	switch (raw->header.ended) {
	case SP_RAW_ENDED_NORMAL:
		return SP_END_NORMAL;
	case SP_RAW_ENDED_STOPPED:
		return SP_END_STOPPED;
	case SP_RAW_ENDED_EXITED:
		return SP_END_EXITED;
	case SP_RAW_ENDED_EXEC:
		return SP_END_EXEC;
	default:
		return raw->bytes.running ? SP_END_RUNNING : SP_END_ABRUPT;
	}
}

static int fill_process(struct sp_builder *b, struct sp_loading *l, struct sp_raw_file *raw)
{
	const struct sp_raw_header *h = &raw->header;
	struct sp_process *p = &l->process;
	const char *base = strrchr(raw->name, '/');
	const double max = 1e9; /* ps; more than one millisecond for each call is not measurement overhead */

	base = base ? base + 1 : raw->name;
	p->file = sp_model_str(b->m, base, strlen(base));
	p->host = sp_model_str(b->m, h->host, strlen(h->host));
	p->command = (struct sp_str){"", 0};
	p->pid = h->pid;
	p->ppid = h->ppid;
	p->parent = SP_NONE;
	p->end = end_of(raw);
	p->status = -1;
	p->continues = p->ended_by = SP_NONE;
	p->forked = h->start == SP_RAW_STARTED_FORK;
	p->traced = h->flags & SP_RAW_FLAG_TRACE;
	if ((double)h->cost_in_ps < max && (double)h->cost_out_ps < max) {
		p->cost_in = (double)h->cost_in_ps / 1000;
		p->cost_out = (double)h->cost_out_ps / 1000;
	} else {
		sp_raw_report(raw, offsetof(struct sp_raw_header, cost_in_ps), "the cost of measuring is damaged");
	}
	p->lost = (struct sp_lost){.threads = h->lost_threads,
	                           .regions = h->lost_regions,
	                           .bytes = h->lost_bytes,
	                           .children = h->lost_children};
	p->lost_reason = reason(b, h);
	p->lost_children_reason = children_reason(b, h);
	return p->file.p && p->host.p ? 0 : -1;
}

/* An outstanding wait may have begun after the last event. */
static void waits_since(const struct sp_raw_file *f, const struct sp_raw_thread *t, uint64_t *end)
{
	const struct sp_raw_part *p = f->parts + t->waits.first, *last = p + t->waits.count;
	struct sp_raw_wait w;
	size_t i;

	for (; p < last; p++)
		for (i = 0; i < p->used; i++) {
			memcpy(&w, (const struct sp_raw_wait *)sp_raw_payload(f, p) + i, sizeof(w));
			if (w.since > *end)
				*end = w.since;
		}
}

uint64_t sp_build_thread_end(struct sp_loading *l, struct sp_raw_thread *t)
{
	const struct sp_clock *c = &l->source->clock;
	const struct sp_raw_header *h = &l->source->raw->header;
	uint64_t end = t->state.end ? t->state.end : t->state.last, limit;
	const struct sp_raw_line_frame *lines;
	const struct sp_raw_frame *frames;
	size_t n, i;

	if (t->state.end == 0) {
		frames = sp_raw_open_frames(l->source->raw, t, &n);
		for (i = 0; i < n; i++)
			if (frames[i].enter > end)
				end = frames[i].enter;
		lines = sp_raw_line_frames(l->source->raw, t, &n);
		for (i = 1; i < n; i++)
			if (lines[i].since > end)
				end = lines[i].since;
		waits_since(l->source->raw, t, &end);
		if (h->last.ticks > end)
			end = h->last.ticks;
	}
	if (end < t->state.last)
		end = t->state.last;
	/* the writer updates h->last regularly; a time one month later is damage */
	limit = h->last.ticks > c->first ? h->last.ticks : c->first;
	if (sp_clock_ns(c, end) > sp_clock_ns(c, limit) + SP_CLOCK_MONTH) {
		sp_raw_report(l->source->raw, l->source->raw->size, "the time of location %" PRIu32 " is damaged",
		              t->state.id);
		end = limit;
	}
	return end;
}

static void add_losses(struct sp_lost *to, const struct sp_lost *l)
{
	to->events += l->events;
	to->paths += l->paths;
	to->deeper += l->deeper;
	to->unmatched += l->unmatched;
}

void sp_build_losses(struct sp_loading *l, struct sp_location *out, const struct sp_raw_location *state)
{
	const struct sp_lost lost = {.events = state->lost_events,
	                             .paths = state->lost_paths,
	                             .deeper = state->deeper,
	                             .unmatched = state->unmatched};

	add_losses(&out->lost, &lost);
	add_losses(&l->process.lost, &lost);
}

static int add_thread(struct sp_builder *b, struct sp_loading *l, size_t i, struct sp_err *e)
{
	struct sp_raw_file *raw = l->source->raw;
	struct sp_raw_thread *t = &raw->threads[i];
	struct sp_location *out = &l->locations[i];
	struct sp_event_range *place = &l->places[i];
	struct sp_raw_thread *samples;
	size_t k;

	out->id = t->state.id;
	out->creator = t->state.creator;
	out->tid = t->state.tid;
	sp_build_losses(l, out, &t->state);
	*place = (struct sp_event_range){
	    .source = (uint32_t)(l->source - b->priv->sources), .thread = i, .end = sp_build_thread_end(l, t)};
	samples = sp_samples_thread(l, i);
	if (samples && !t->state.end)
		place->end = sp_samples_end(l, samples, place->end);
	l->begins[i] = t->state.begin < place->end ? t->state.begin : place->end;
	if (place->end > l->end)
		l->end = place->end;
	for (k = 0; k < t->events.count; k++)
		place->words += sp_raw_word_count(raw, &raw->parts[t->events.first + k]);
	if (t->events.count && raw->header.start != SP_RAW_STARTED_SAMPLER)
		l->process.traced = true;
	return sp_build_thread(b, l, t, samples, out, place->end, e);
}

int sp_build_process(struct sp_builder *b, struct sp_loading *l, struct sp_raw_file *raw, struct sp_err *e)
{
	struct sp_arena *arena = &b->priv->arena;
	const struct sp_raw_header *h = &raw->header;
	size_t i, n = raw->n_threads, all = n + sp_samples_strangers(l);

	sp_build_seen_end(b, raw);
	if (sp_clock_init(&l->source->clock, h))
		sp_raw_report(raw, offsetof(struct sp_raw_header, last),
		              "the clock was never compared; times are only roughly right");
	l->mono = h->first.mono_ns;
	l->real = h->first.real_ns;
	if (l->real < YEAR_2000 || l->real > YEAR_2200) {
		sp_raw_report(raw, offsetof(struct sp_raw_header, first), "the time of the start is damaged");
		l->real = 0;
	}
	l->locations = sp_arena_zalloc(arena, all, sizeof(*l->locations));
	l->places = sp_arena_zalloc(arena, all, sizeof(*l->places));
	l->begins = sp_arena_zalloc(arena, all, sizeof(*l->begins));
	if (!l->locations || !l->places || !l->begins || fill_process(b, l, raw))
		return sp_model_no_memory(e);
	l->process.locations = (uint32_t)n;
	l->end = h->end_ticks ? h->end_ticks : h->last.ticks;
	if (sp_build_definitions(b, l, e) || sp_samples_definitions(b, l, e))
		return -1;
	if (sp_build_heap(b, l))
		return sp_model_no_memory(e);
	for (i = 0; i < n; i++)
		if (add_thread(b, l, i, e))
			return -1;
	if (sp_samples_add_strangers(b, l, e) || sp_samples_report(b, l, e))
		return -1;
	if (sp_build_io(b, l) || sp_build_line_process(b, l) || sp_build_lock_process(b, l))
		return sp_model_no_memory(e);
	if (sp_build_roles(b, l))
		return sp_model_no_memory(e);
	sp_samples_keep(l);
	if (h->locations > n)
		sp_raw_report(raw, raw->size, "%zu of %" PRIu32 " threads are lost", h->locations - n, h->locations);
	return 0;
}

/* Corrects the real time of processes of one host, which share one clock: each process read the real time separately,
 * and it may have been adjusted in between. */
static int share_clocks(struct sp_builder *b)
{
	struct sp_arena arena = {0};
	struct sp_intern hosts = {.arena = &arena};
	struct sp_loading **first = calloc(b->n_loading, sizeof(struct sp_loading *));
	size_t i;
	int rc = first ? 0 : -1;

	for (i = 0; i < b->n_loading && rc == 0; i++) {
		struct sp_loading *l = &b->loading[i];
		uint32_t host = l->real ? sp_intern(&hosts, l->process.host.p, l->process.host.n) : SP_NONE;
		int64_t by;

		if (!l->real)
			continue;
		if (host == SP_INTERN_FAILED) {
			rc = -1;
		} else if (!first[host]) {
			first[host] = l;
		} else {
			/* a difference of one second or more: the host was rebooted, or another host has the same
			 * name */
			by = (int64_t)((l->real - l->mono) - (first[host]->real - first[host]->mono));
			if (by < (int64_t)NS && by > -(int64_t)NS)
				l->real -= (uint64_t)by;
		}
	}
	sp_intern_free(&hosts);
	sp_arena_free(&arena);
	free(first);
	return rc;
}

static int compare_loading(const void *a, const void *b)
{
	const struct sp_loading *p = a, *q = b;

	if (p->place != q->place)
		return p->place < q->place ? -1 : 1;
	/* processes without MPI have world 0 */
	if (p->process.world != q->process.world)
		return p->process.world < q->process.world ? -1 : 1;
	if (p->process.rank != q->process.rank)
		return p->process.rank < q->process.rank ? -1 : 1;
	if (p->real != q->real)
		return p->real < q->real ? -1 : 1;
	return strcmp(p->process.file.p, q->process.file.p);
}

static int compare_worlds(const void *a, const void *b)
{
	const struct sp_loading *p = *(struct sp_loading *const *)a, *q = *(struct sp_loading *const *)b;

	if (p->process.world != q->process.world)
		return p->process.world < q->process.world ? -1 : 1;
	return p->real < q->real ? -1 : p->real > q->real;
}

/* Keeps the ranks of one MPI_COMM_WORLD together, at the begin of the first of them. */
static int find_places(struct sp_builder *b)
{
	struct sp_loading **all = calloc(b->n_loading + 1, sizeof(struct sp_loading *));
	size_t i;

	if (!all)
		return -1;
	for (i = 0; i < b->n_loading; i++)
		all[i] = &b->loading[i];
	qsort(all, b->n_loading, sizeof(struct sp_loading *), compare_worlds);
	for (i = 0; i < b->n_loading; i++)
		all[i]->place = i && all[i]->process.world && all[i]->process.world == all[i - 1]->process.world
		                    ? all[i - 1]->place
		                    : all[i]->real;
	free(all);
	return 0;
}

/* Whether q is p or an ancestor of p: then it must not become a child of p. */
static bool descends(const struct sp_model *m, uint32_t p, uint32_t q)
{
	for (; p != SP_NONE; p = m->processes[p].parent)
		if (p == q)
			return true;
	return false;
}

static int compare_pids(const void *a, const void *b, void *arg)
{
	const struct sp_process *all = arg, *p = &all[*(const uint32_t *)a], *q = &all[*(const uint32_t *)b];

	int order = p->pid != q->pid ? (p->pid < q->pid ? -1 : 1) : strcmp(p->host.p, q->host.p);

	if (order)
		return order;
	if (p->begin != q->begin)
		return p->begin < q->begin ? -1 : 1;
	return p < q ? -1 : p > q;
}

/* The last process of the host with the parent's id that existed before. by_pid: all processes, sorted as above. */
static uint32_t find_by_pid(const struct sp_model *m, const uint32_t *by_pid, uint32_t index)
{
	const struct sp_process *me = &m->processes[index], *p;
	size_t low = 0, high = m->n_processes, mid;
	int order;

	while (low < high) {
		mid = (low + high) / 2;
		p = &m->processes[by_pid[mid]];
		order = p->pid != me->ppid ? (p->pid < me->ppid ? -1 : 1) : strcmp(p->host.p, me->host.p);
		if (order < 0 || (order == 0 && p->begin <= me->begin))
			low = mid + 1;
		else
			high = mid;
	}
	if (low > 0 && by_pid[low - 1] == index)
		low--;
	p = low > 0 ? &m->processes[by_pid[low - 1]] : NULL;
	return p && p->pid == me->ppid && strcmp(p->host.p, me->host.p) == 0 ? by_pid[low - 1] : SP_NONE;
}

/* Finds the parent: the raw file named by a forked process; otherwise the process with the parent's id that existed
 * before. */
static int find_parents(struct sp_builder *b)
{
	struct sp_model *m = b->m;
	struct sp_intern files = {.arena = &b->scratch};
	uint32_t *by_pid = calloc(m->n_processes + 1, sizeof(*by_pid)), i, parent;
	int rc = by_pid ? 0 : -1;

	for (i = 0; i < m->n_processes && rc == 0; i++) {
		by_pid[i] = i;
		if (sp_intern(&files, m->processes[i].file.p, m->processes[i].file.n) == SP_INTERN_FAILED)
			rc = -1;
	}
	if (rc == 0)
		qsort_r(by_pid, m->n_processes, sizeof(*by_pid), compare_pids, m->processes);
	for (i = 0; i < m->n_processes && rc == 0; i++) {
		const struct sp_str *name_of_parent = &b->loading[i].parent_name;
		const char *name = strrchr(name_of_parent->p ? name_of_parent->p : "", '/');

		name = name ? name + 1 : name_of_parent->p ? name_of_parent->p : "";
		/* names of files are unique: the number of a name is the index of its process, or a new number */
		parent = sp_intern(&files, name, strlen(name));
		if (parent == SP_INTERN_FAILED)
			rc = -1;
		if (parent >= m->n_processes || descends(m, parent, i))
			parent = find_by_pid(m, by_pid, i);
		m->processes[i].parent = parent != SP_NONE && !descends(m, parent, i) ? parent : SP_NONE;
	}
	sp_intern_free(&files);
	free(by_pid);
	return rc;
}

/* Finds a location by its id. The locations of a process are sorted by id. */
static uint32_t find_creator(const struct sp_model *m, const struct sp_process *p, uint32_t self, uint32_t id)
{
	uint32_t low = p->first_location, high = low + p->locations, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (m->locations[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->first_location + p->locations && m->locations[low].id == id && low != self ? low : SP_NONE;
}

static void place_process(struct sp_builder *b, struct sp_loading *l, uint32_t index)
{
	struct sp_model *m = b->m;
	struct sp_process *p = &m->processes[index];
	struct sp_clock *c = &l->source->clock;
	uint32_t i, at = (uint32_t)m->n_locations;

	c->offset = l->real > m->begin_ns ? l->real - m->begin_ns : 0;
	l->source->sampled_clock.offset += c->offset; /* the sampler's clock counts from there */
	*p = l->process;
	p->begin = c->offset;
	p->stop = sp_clock_ns(c, l->end);
	if (m->begin_ns + p->stop > m->end_ns)
		m->end_ns = m->begin_ns + p->stop;
	p->first_location = at;
	for (i = 0; i < p->locations; i++, at++) {
		m->locations[at] = l->locations[i];
		b->priv->places[at] = l->places[i];
		m->locations[at].process = index;
		m->locations[at].begin = sp_clock_ns(c, l->begins[i]);
		m->locations[at].end = sp_clock_ns(c, l->places[i].end);
	}
	for (i = p->first_location; i < at; i++)
		if (m->locations[i].creator != SP_NONE)
			m->locations[i].creator = find_creator(m, p, i, m->locations[i].creator);
	m->n_locations = at;
	m->traced |= p->traced;
}

int sp_build_order(struct sp_builder *b, struct sp_err *e)
{
	struct sp_model *m = b->m;
	size_t i, locations = 0;

	if (share_clocks(b) || sp_build_clocks(b) || find_places(b))
		return sp_model_no_memory(e);
	qsort(b->loading, b->n_loading, sizeof(*b->loading), compare_loading);
	for (i = 0; i < b->n_loading; i++) {
		locations += b->loading[i].process.locations;
		if (b->loading[i].real && (!m->begin_ns || b->loading[i].real < m->begin_ns))
			m->begin_ns = b->loading[i].real;
	}
	m->end_ns = m->begin_ns;
	m->processes = sp_arena_zalloc(&b->priv->arena, b->n_loading, sizeof(*m->processes));
	m->locations = sp_arena_zalloc(&b->priv->arena, locations, sizeof(*m->locations));
	b->priv->places = sp_arena_zalloc(&b->priv->arena, locations, sizeof(*b->priv->places));
	if (!m->processes || !m->locations || !b->priv->places)
		return sp_model_no_memory(e);
	for (i = 0; i < b->n_loading; i++)
		place_process(b, &b->loading[i], (uint32_t)i);
	m->n_processes = b->n_loading;
	return find_parents(b) ? sp_model_no_memory(e) : 0;
}
