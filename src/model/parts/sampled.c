/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins the file of samples of a process with the process's own file. Their threads are matched by the system's thread
 * ids. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/samples.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/event.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"

static void on_problem(void *arg, const char *text)
{
	sp_model_add_problem(arg, text);
}

static int by_tid(const void *a, const void *b)
{
	const struct sp_tid *p = a, *q = b;

	if (p->tid != q->tid)
		return p->tid < q->tid ? -1 : 1;
	return p->at < q->at ? -1 : p->at > q->at;
}

static int sort_tids(struct sp_builder *b, struct sp_loading *l)
{
	const struct sp_raw_file *f = l->source->raw;
	size_t i;

	l->tids = sp_arena_zalloc(&b->scratch, f->n_threads, sizeof(*l->tids));
	if (!l->tids)
		return -1;
	for (i = 0; i < f->n_threads; i++)
		l->tids[i] = (struct sp_tid){f->threads[i].state.tid, i};
	if (f->n_threads)
		qsort(l->tids, f->n_threads, sizeof(*l->tids), by_tid);
	return 0;
}

/* The number of places in the table of a file's threads that come before this one. */
static size_t places_before(const struct sp_loading *l, struct sp_tid place)
{
	size_t low = 0, high = l->source->raw->n_threads;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (by_tid(&l->tids[middle], &place) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The thread of `in` that is thread i of `of`. The system reuses thread ids: the k-th thread with an id in one file is
 * the k-th one with it in the other file. NULL: the other file has fewer. */
static struct sp_raw_thread *same_thread(const struct sp_loading *of, size_t i, const struct sp_loading *in)
{
	struct sp_raw_file *f = in->source->raw;
	const uint64_t tid = of->source->raw->threads[i].state.tid;
	const size_t k = places_before(of, (struct sp_tid){tid, i}) - places_before(of, (struct sp_tid){.tid = tid});
	const size_t at = places_before(in, (struct sp_tid){.tid = tid}) + k;

	return at < f->n_threads && in->tids[at].tid == tid ? &f->threads[in->tids[at].at] : NULL;
}

int sp_samples_open_file(struct sp_builder *b, struct sp_loading *l, const char *name)
{
	struct sp_loading *s = calloc(1, sizeof(*s));
	struct sp_err e = {.code = 0};
	char path[4400], shown[600];

	snprintf(path, sizeof(path), "%s/raw/%s", b->m->dir.p, name);
	snprintf(shown, sizeof(shown), "raw/%s", name);
	if (s)
		s->source = calloc(1, sizeof(*s->source));
	l->samples = s;
	if (!s || !s->source)
		return -1;
	if (sp_raw_open(&s->source->raw, path, shown, on_problem, b->m, &e)) {
		sp_model_add_problem(b->m, e.text);
		sp_samples_close_file(l);
		return 0;
	}
	if (sp_clock_init(&s->source->clock, &s->source->raw->header))
		sp_raw_report(s->source->raw, offsetof(struct sp_raw_header, last),
		              "the clock was never compared; times are only roughly right");
	s->mono = s->source->raw->header.first.mono_ns;
	s->locations = sp_arena_zalloc(&b->scratch, s->source->raw->n_threads, sizeof(*s->locations));
	return s->locations && sort_tids(b, s) == 0 && sort_tids(b, l) == 0 ? 0 : -1;
}

void sp_samples_close_file(struct sp_loading *l)
{
	struct sp_loading *s = l->samples;

	l->samples = NULL;
	if (!s)
		return;
	if (s->source) {
		sp_source_close(s->source);
		free(s->source);
	}
	sp_loading_free(s);
	free(s);
}

/* Copies the META records of the file of samples to the process. */
static int join_meta(struct sp_builder *b, struct sp_process *p, const struct sp_process *s)
{
	struct sp_meta *all = sp_arena_zalloc(&b->priv->arena, p->metas + s->metas, sizeof(*all));
	size_t i, n = p->metas;

	if (!all)
		return -1;
	if (n)
		memcpy(all, p->meta, n * sizeof(*all));
	for (i = 0; i < s->metas; i++)
		if (strncmp(s->meta[i].key.p, "sample", 6) == 0 || strcmp(s->meta[i].key.p, "unsampled") == 0 ||
		    strncmp(s->meta[i].key.p, "missing_", 8) == 0 || strncmp(s->meta[i].key.p, "object ", 7) == 0)
			all[n++] = s->meta[i];
	p->meta = all;
	p->metas = n;
	return 0;
}

static const char *meta_of(const struct sp_process *p, const char *key)
{
	size_t i;

	for (i = 0; i < p->metas; i++)
		if (strcmp(p->meta[i].key.p, key) == 0)
			return p->meta[i].value.p;
	return "";
}

int sp_samples_definitions(struct sp_builder *b, struct sp_loading *l, struct sp_err *e)
{
	struct sp_loading *s = l->samples;
	const bool alone = l->source->raw->header.start == SP_RAW_STARTED_SAMPLER;

	if (s && (sp_build_definitions(b, s, e) || join_meta(b, &l->process, &s->process)))
		return sp_model_no_memory(e);
	l->process.sampled = alone || (s && !*meta_of(&l->process, "unsampled"));
	l->process.counted = !alone && !strstr(meta_of(&l->process, "settings"), "\ninstrument=0\n");
	if (s)
		sp_raw_report_rest(s->source->raw);
	return 0;
}

/* ---- threads ---- */

struct sp_raw_thread *sp_samples_thread(const struct sp_loading *l, size_t location)
{
	const size_t known = l->source->raw->n_threads;

	if (!l->samples)
		return NULL;
	return location < known ? same_thread(l, location, l->samples) : l->strangers[location - known];
}

/* Whether thread i of the samples is not in the process's own file. */
static bool is_stranger(const struct sp_loading *l, size_t i)
{
	return !same_thread(l->samples, i, l);
}

size_t sp_samples_strangers(const struct sp_loading *l)
{
	const struct sp_raw_file *f = l->samples ? l->samples->source->raw : NULL;
	size_t i, n = 0;

	for (i = 0; f && i < f->n_threads; i++)
		n += is_stranger(l, i);
	return n;
}

uint64_t sp_samples_ticks(const struct sp_loading *l, uint64_t ns)
{
	const struct sp_clock *c = &l->source->clock;
	const uint64_t mono = l->samples->mono + sp_clock_ns(&l->samples->source->clock, ns);
	const double ticks = mono > l->mono ? (double)(mono - l->mono) / c->ns : 0;

	return c->first + (uint64_t)(ticks < 0x1p62 ? ticks : 0x1p62);
}

uint64_t sp_samples_end(struct sp_loading *l, struct sp_raw_thread *t, uint64_t end)
{
	uint64_t seen;

	if (l->source->raw->header.ended)
		return end;
	seen = sp_samples_ticks(l, sp_build_thread_end(l->samples, t));
	return seen > end ? seen : end;
}

/* Adds a thread of the samples. Ids of the process's own locations come first. */
static int add_stranger(struct sp_builder *b, struct sp_loading *l, size_t i, uint32_t id, struct sp_err *e)
{
	struct sp_raw_file *f = l->samples->source->raw;
	struct sp_raw_thread *t = &f->threads[i];
	const size_t at = l->process.locations;
	struct sp_location *out = &l->locations[at];
	uint64_t end = sp_build_thread_end(l->samples, t);

	*out = (struct sp_location){
	    .id = id, .creator = SP_NONE, .tid = t->state.tid, .name = l->samples->locations[i].name};
	end = sp_samples_ticks(l, end > t->state.begin ? end : t->state.begin);
	l->strangers[at - l->source->raw->n_threads] = t;
	l->begins[at] = sp_samples_ticks(l, t->state.begin);
	if (end > l->end && l->source->raw->header.ended)
		end = l->end;
	if (end > l->end)
		l->end = end;
	if (l->begins[at] > end)
		l->begins[at] = end;
	l->places[at] =
	    (struct sp_event_range){.source = (uint32_t)(l->source - b->priv->sources), .thread = SIZE_MAX, .end = end};
	l->process.locations++;
	return sp_build_thread(b, l, NULL, t, out, end, e);
}

int sp_samples_add_strangers(struct sp_builder *b, struct sp_loading *l, struct sp_err *e)
{
	const struct sp_raw_file *f = l->samples ? l->samples->source->raw : NULL;
	uint32_t next = 0;
	size_t i;

	if (!f)
		return 0;
	l->strangers = sp_arena_zalloc(&b->scratch, f->n_threads, sizeof(*l->strangers));
	if (!l->strangers)
		return sp_model_no_memory(e);
	for (i = 0; i < l->process.locations; i++) {
		const struct sp_raw_thread *t = sp_samples_thread(l, i);

		if (l->locations[i].id >= next)
			next = l->locations[i].id + 1;
		if (t)
			sp_build_losses(l, &l->locations[i], &t->state);
	}
	for (i = 0; i < f->n_threads; i++) {
		if (!is_stranger(l, i))
			continue;
		if (add_stranger(b, l, i, next++, e))
			return -1;
		sp_build_losses(l, &l->locations[l->process.locations - 1], &f->threads[i].state);
	}
	return 0;
}

/* ---- a sampler that was killed ---- */

/* The number of samples of all threads of the process. */
static uint64_t count_samples(const struct sp_builder *b, const struct sp_loading *l, const struct sp_loading *s)
{
	const struct sp_ids *columns = &s->source->metrics;
	const size_t width = b->m->n_metrics, at = columns->n && columns->to[0] ? columns->to[0] - 1 : width;
	uint64_t sum = 0;
	size_t i, k;

	for (i = 0; at < width && i < l->process.locations; i++)
		for (k = 0; k < l->locations[i].values; k++)
			sum += b->priv->row_metrics[(l->locations[i].first_value + k) * width + at];
	return sum;
}

/* The last time at which the sampler is known to have sampled, in ns since the begin of the process's recording. */
static uint64_t seen_until(const struct sp_loading *l, struct sp_loading *s)
{
	struct sp_raw_file *f = s->source->raw;
	uint64_t last = f->header.last.ticks, end;
	size_t i;

	for (i = 0; i < f->n_threads; i++) {
		end = sp_build_thread_end(s, &f->threads[i]);
		last = end > last ? end : last;
	}
	return sp_clock_ns(&l->source->clock, s == l ? last : sp_samples_ticks(l, last));
}

static int add_meta(struct sp_builder *b, struct sp_process *p, const char *key, const char *value)
{
	struct sp_meta *all = sp_arena_zalloc(&b->priv->arena, p->metas + 1, sizeof(*all));

	if (!all)
		return -1;
	if (p->metas)
		memcpy(all, p->meta, p->metas * sizeof(*all));
	all[p->metas].key = sp_model_str(b->m, key, strlen(key));
	all[p->metas].value = sp_model_str(b->m, value, strlen(value));
	p->meta = all;
	return all[p->metas].key.p && all[p->metas++].value.p ? 0 : -1;
}

/* Adds META `sample_ended`: the seconds of the process at which sampling ended; `sample_unseen`: the seconds after
 * that, if known. */
static int tell_of_end(struct sp_builder *b, struct sp_loading *l, struct sp_loading *s)
{
	const struct sp_raw_file *own = l->source->raw;
	const uint64_t end = sp_clock_ns(&l->source->clock, l->end), seen = seen_until(l, s);
	char text[40];

	snprintf(text, sizeof(text), "%.6f", (double)seen / 1e9);
	if (add_meta(b, &l->process, "sample_ended", text))
		return -1;
	if (s == l || !own->header.ended)
		return 0;
	snprintf(text, sizeof(text), "%.6f", end > seen ? (double)(end - seen) / 1e9 : 0.0);
	return add_meta(b, &l->process, "sample_unseen", text);
}

int sp_samples_report(struct sp_builder *b, struct sp_loading *l, struct sp_err *e)
{
	struct sp_loading *s = l->samples ? l->samples : l;
	char text[24];

	if (!l->process.sampled || *meta_of(&l->process, "sample_count"))
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64, count_samples(b, l, s));
	if (add_meta(b, &l->process, "sample_count", text))
		return sp_model_no_memory(e);
	if (s->source->raw->header.ended || s->source->raw->bytes.running)
		return 0;
	return tell_of_end(b, l, s) ? sp_model_no_memory(e) : 0;
}

/* ---- what the model keeps ---- */

bool sp_model_has_events(const struct sp_model *m)
{
	size_t i;

	for (i = 0; i < m->n_processes; i++)
		if (sp_process_has_events(&m->processes[i]))
			return true;
	return false;
}

void sp_samples_keep(struct sp_loading *l)
{
	struct sp_source *to = l->source;
	struct sp_loading *s = l->samples;

	to->sampled_clock = s ? s->source->clock : to->clock;
	to->sampled_clock.offset = s && s->mono > l->mono ? s->mono - l->mono : 0;
	if (!s)
		return;
	to->sampled_regions = s->source->regions;
	to->sampled_metrics = s->source->metrics;
	s->source->regions = s->source->metrics = (struct sp_ids){NULL, 0};
}
