/* SPDX-License-Identifier: BSD-3-Clause */
#include "format/format.h"
#include "model/events/events.h"
#include "model/parts/samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "model/builder/clock.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/event.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/str.h"

struct sp_sampled_events {
	const struct sp_model *m;
	struct sp_raw_file *raw; /* owned */
	const struct sp_raw_thread *thread;
	struct sp_clock clock;
	const struct sp_ids *metrics; /* index: column */
	uint32_t *path_of;            /* owned; table from nodes to paths; SP_NONE: no path */
	size_t nodes;
	size_t part;           /* index of the next part */
	const uint64_t *words; /* of the current part */
	uint32_t *lines;       /* owned; lines at which frames call the next frame */
	size_t n_lines, line_capacity;
	uint64_t *buffer; /* owned; buffer for unpacked words */
	size_t n, at;
	uint64_t ticks, ns, end;
	uint32_t is, wanted; /* paths: the open one, and the one of the last sample */
	uint64_t period;     /* ns; 0: unknown */
	uint64_t found;      /* time of the sample that set `wanted` */
	uint64_t again;      /* identical samples after the last one, at the end */
	uint32_t next;       /* path of the sample at next_at, which follows a time without valid samples */
	uint64_t next_at;
	bool pending; /* next and next_at are set */
	bool over;
};

const char *const sp_sample_state_names[SP_SAMPLE_STATES] = {"running", "gil",         "system call",
                                                             "idle",    "object lock", "stopped"};
/* The first columns of a file of samples: number of samples, processor time. The time in each state follows, then
 * counters. */
enum { COLUMN_LOOKS, COLUMN_CPU, COLUMN_OTHERS };

static void silent(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/* The child of a path with this region. */
static uint32_t child(const struct sp_model *m, uint32_t path, uint32_t region)
{
	uint32_t c = m->paths[path].first_child;

	while (c != SP_NONE && m->paths[c].region != region)
		c = m->paths[c].next_sibling;
	return c;
}

/* Finds the paths of nodes, which tree.c added to the model. A node's parent comes before it. */
static int find_paths(struct sp_sampled_events *s, const struct sp_ids *ids, struct sp_err *e)
{
	const struct sp_raw_part *p = s->raw->parts + s->thread->nodes.first, *end = p + s->thread->nodes.count;
	const size_t limit = s->raw->size / sizeof(struct sp_raw_node);
	struct sp_raw_node n;
	size_t i;

	s->path_of = malloc((limit + 1) * sizeof(*s->path_of));
	if (!s->path_of)
		return sp_model_no_memory(e);
	for (; p < end; p++) {
		const struct sp_raw_node *nodes = sp_raw_payload(s->raw, p);

		if (p->base != s->nodes || p->used > limit - s->nodes)
			break;
		for (i = 0; i < p->used; i++, s->nodes++) {
			memcpy(&n, &nodes[i], sizeof(n));
			s->path_of[s->nodes] = s->nodes ? SP_NONE : 0;
			if (n.parent >= s->nodes || s->path_of[n.parent] == SP_NONE || n.region >= ids->n ||
			    !ids->to[n.region])
				continue;
			s->path_of[s->nodes] = child(s->m, s->path_of[n.parent], ids->to[n.region] - 1);
		}
	}
	return 0;
}

/* Finds the thread. If several threads have the same id, position among them is the same as among the locations
 * (parts/sampled.c). */
static int open_raw(struct sp_sampled_events *s, const struct sp_process *p, uint32_t location, struct sp_err *e)
{
	const uint64_t tid = s->m->locations[location].tid;
	char path[4400], shown[600];
	size_t i, before = 0;

	snprintf(shown, sizeof(shown), "raw/%.*s" SP_RAW_SAMPLES, (int)(p->file.n - strlen(SP_RAW_SUFFIX)), p->file.p);
	snprintf(path, sizeof(path), "%s/%s", s->m->dir.p, shown);
	if (sp_raw_open(&s->raw, path, shown, silent, NULL, e)) {
		snprintf(path, sizeof(path), "%s/raw/%s", s->m->dir.p, p->file.p);
		if (sp_raw_open(&s->raw, path, p->file.p, silent, NULL, e))
			return -1;
	}
	for (i = p->first_location; i < location; i++)
		before += s->m->locations[i].tid == tid;
	for (i = 0; i < s->raw->n_threads && !s->thread; i++)
		if (s->raw->threads[i].state.tid == tid && before-- == 0)
			s->thread = &s->raw->threads[i];
	return 0;
}

int sp_sampled_events_open(struct sp_sampled_events **out, const struct sp_model *m, uint32_t location,
                           struct sp_err *e)
{
	*out = NULL;
	return m->processes[m->locations[location].process].traced ? 0 : sp_sampled_open(out, m, location, e);
}

int sp_sampled_open(struct sp_sampled_events **out, const struct sp_model *m, uint32_t location, struct sp_err *e)
{
	const struct sp_location *l = &m->locations[location];
	const struct sp_process *p = &m->processes[l->process];
	const struct sp_source *source = &m->priv->sources[m->priv->places[location].source];
	struct sp_sampled_events *s;
	int rc;

	*out = NULL;
	if (!p->sampled || p->file.n < 5)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return sp_model_no_memory(e);
	s->m = m;
	s->clock = source->sampled_clock;
	s->metrics = source->sampled_metrics.n ? &source->sampled_metrics : &source->metrics;
	s->ticks = s->clock.first;
	s->ns = l->begin;
	s->end = l->end;
	s->period = sp_sampled_period(p);
	rc = open_raw(s, p, location, e);
	if (rc == 0 && s->thread)
		rc = find_paths(s, source->sampled_regions.n ? &source->sampled_regions : &source->regions, e);
	if (rc || !s->thread) {
		sp_sampled_events_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void sp_sampled_events_close(struct sp_sampled_events *s)
{
	if (!s)
		return;
	sp_raw_close(s->raw);
	free(s->path_of);
	free(s->lines);
	free(s->buffer);
	free(s);
}

/* One step from the open path to the path of the sample: leaves the innermost function or enters one. */
static struct sp_event step(struct sp_sampled_events *s)
{
	const struct sp_path *paths = s->m->paths;
	struct sp_event out = {.time = s->ns, .u.uint = s->over};
	uint32_t at = s->wanted;

	while (at != s->is && at && paths[at].parent != s->is)
		at = paths[at].parent;
	if (at == s->is || (at == 0 && s->is)) { /* the path of the sample is not below the open one */
		out.kind = SP_EVENT_LEAVE;
		out.id = paths[s->is].region;
		s->is = paths[s->is].parent;
	} else {
		out.kind = SP_EVENT_ENTER;
		out.id = paths[at].region;
		s->is = at;
	}
	return out;
}

/* Returns 1 if there is a next part, 0 at the end, -1 on an error. */
static int next_part(struct sp_sampled_events *s, struct sp_err *e)
{
	const struct sp_raw_part *p;

	if (s->part == s->thread->events.count)
		return 0;
	p = &s->raw->parts[s->thread->events.first + s->part++];
	s->at = s->n = 0;
	s->words = sp_raw_words(s->raw, p, &s->buffer, &s->n, e);
	if (!s->words) {
		s->n_lines = 0;
		return e->code ? -1 : 1; /* damage, which the loading of the model reports */
	}
	s->ticks = p->base;
	return 1;
}

/* Decodes a sample; files of older versions have fewer words. */
static void take_sample(struct sp_sampled_events *s, const uint64_t *payload, uint32_t words, struct sp_sample *out)
{
	const uint64_t node = payload[0];
	size_t i;

	*out = (struct sp_sample){.state = SP_SAMPLE_RUNNING};
	out->path = node < s->nodes && s->path_of[node] != SP_NONE ? s->path_of[node] : 0;
	if (words > 1 && payload[1] < SP_SAMPLE_STATES)
		out->state = (uint8_t)payload[1];
	if (words > 2)
		out->cpu = payload[2];
	if (words > 3) {
		out->line = (uint32_t)payload[3];
		out->again = payload[3] >> 32;
	}
	for (i = 4; i < words && i - 4 < SP_SAMPLE_COUNTERS; i++)
		out->counted[i - 4] = payload[i];
}

/* Decodes the lines of a call path. Invalid lines, and those without memory, are ignored. */
static void take_lines(struct sp_sampled_events *s, const uint64_t *payload, uint32_t words)
{
	const size_t first = (uint32_t)payload[0], n = payload[0] >> 32;
	uint32_t *larger;

	if (first > s->n_lines || n > 2 * ((size_t)words - 1) || first + n > s->nodes) {
		s->n_lines = 0;
		return;
	}
	if (first + n > s->line_capacity) {
		larger = realloc(s->lines, 2 * (first + n) * sizeof(*larger));
		if (!larger) {
			s->n_lines = 0;
			return;
		}
		s->lines = larger;
		s->line_capacity = 2 * (first + n);
	}
	if (n)
		memcpy(s->lines + first, payload + 1, n * sizeof(*s->lines));
	if (first + n > s->n_lines)
		s->n_lines = first + n;
}

/* Reads a word. Returns whether it was a sample or the end of the samples. */
static bool next_word(struct sp_sampled_events *s, struct sp_sample *out)
{
	const uint64_t w = s->words[s->at], *payload = s->words + s->at + 1;
	const uint32_t id = (uint32_t)(w >> SP_RAW_KIND_BITS) & SP_RAW_ID_MAX, words = id >> 8;
	bool is = false;
	uint64_t ns;

	if (w == 0 || (w & 7) != SP_RAW_EXTRA || words > s->n - s->at - 1) {
		s->at = s->n;
		return false;
	}
	s->at += 1 + words;
	s->ticks += w >> SP_RAW_DELTA_SHIFT;
	if ((id & 0xff) == SP_RAW_X_TIME && words == 1)
		s->ticks += payload[0];
	if ((id & 0xff) == SP_RAW_X_SAMPLE && words >= 1) {
		take_sample(s, payload, words, out);
		is = true;
	} else if ((id & 0xff) == SP_RAW_X_SAMPLES_END && words >= 1) {
		*out = (struct sp_sample){.again = payload[0], .end = true};
		is = true;
	} else if ((id & 0xff) == SP_RAW_X_SAMPLE_LINES && words >= 1) {
		take_lines(s, payload, words);
	}
	if (!is)
		return false;
	ns = sp_clock_ns(&s->clock, s->ticks);
	ns = ns < s->end ? ns : s->end;
	out->time = s->ns = ns > s->ns ? ns : s->ns;
	return true;
}

uint64_t sp_sampled_period(const struct sp_process *p)
{
	uint64_t rate = 0;
	size_t i;

	for (i = 0; i < p->metas; i++)
		if (strcmp(p->meta[i].key.p, "sample_rate") == 0)
			rate = strtoull(p->meta[i].value.p, NULL, 10);
	return rate > 0 && rate <= 1000000 ? UINT64_C(1000000000) / rate : 0;
}

uint64_t sp_sampled_until(uint64_t time, uint64_t next, uint64_t again, uint64_t period)
{
	const uint64_t limit = again < UINT32_MAX ? (again + 1) * period * SP_SAMPLE_PERIODS : 0;

	return limit && next > time && next - time > limit ? time + limit : next;
}

/* Ends the validity of the last sample, at s->ns or before. */
static void take(struct sp_sampled_events *s, uint32_t path, uint64_t again)
{
	const uint64_t until = sp_sampled_until(s->found, s->ns, again, s->period);

	s->pending = s->is && until < s->ns;
	s->next = path;
	s->next_at = s->found = s->ns;
	s->wanted = s->pending ? 0 : path;
	s->ns = s->pending ? until : s->ns;
}

long sp_sampled_events_read(struct sp_sampled_events *s, struct sp_event *out, size_t n, struct sp_err *e)
{
	struct sp_sample sample = {0};
	size_t k = 0;
	int rc;

	while (k < n) {
		if (s->is != s->wanted) {
			out[k++] = step(s);
		} else if (s->pending) {
			s->pending = false;
			s->wanted = s->next;
			s->ns = s->next_at;
		} else if (s->at < s->n) {
			if (next_word(s, &sample) && !sample.end)
				take(s, sample.path, sample.again);
			else if (sample.end)
				s->again = sample.again;
		} else if (s->over) {
			break;
		} else {
			rc = next_part(s, e);
			if (rc < 0)
				return -1;
			s->over = rc == 0;
			if (s->over) {
				s->ns = s->end > s->ns ? s->end : s->ns;
				take(s, 0, s->again);
			}
		}
	}
	return (long)k;
}

static size_t metrics_of(const struct sp_sampled_events *s, uint32_t metrics[2 + SP_SAMPLE_COUNTERS])
{
	const struct sp_ids *ids = s->metrics;
	size_t n = 2, i;

	for (i = COLUMN_LOOKS; i <= COLUMN_CPU; i++)
		metrics[i] = i < ids->n && ids->to[i] ? ids->to[i] - 1 : SP_NONE;
	for (i = COLUMN_OTHERS; i < ids->n && n < 2 + SP_SAMPLE_COUNTERS; i++)
		if (!ids->to[i])
			metrics[n++] = SP_NONE;
		else if (s->m->metrics[ids->to[i] - 1].kind != SP_METRIC_SAMPLE)
			metrics[n++] = ids->to[i] - 1;
	return n;
}

long sp_sampled_read(struct sp_sampled_events *s, struct sp_sample *out, size_t n, struct sp_err *e)
{
	size_t k = 0;
	int rc;

	while (k < n) {
		if (s->at < s->n) {
			k += next_word(s, &out[k]);
			continue;
		}
		rc = next_part(s, e);
		if (rc < 0)
			return -1;
		if (rc == 0)
			break;
	}
	return (long)k;
}

/* ---- interface ---- */

struct sample_reading {
	struct sp_events *s;
	struct sp_sample *out;
	size_t n;
	long read;
	struct sp_err *e;
};

static int read_samples(void *arg)
{
	struct sample_reading *r = arg;

	r->read = sp_sampled_read(r->s->sampled, r->out, r->n, r->e);
	return r->read < 0 ? -1 : 0;
}

bool sp_events_sampled(const struct sp_events *s, uint32_t metrics[2 + SP_SAMPLE_COUNTERS], size_t *n)
{
	if (s->sampled && metrics)
		*n = metrics_of(s->sampled, metrics);
	return s->sampled;
}

long sp_events_read_samples(struct sp_events *s, struct sp_sample *out, size_t n, struct sp_err *e)
{
	struct sample_reading r = {s, out, n, 0, e};

	if (sp_guarded(read_samples, &r, e) == 0)
		return r.read;
	return e->code == EIO ? sp_fail_in(e, "%s", s->sampled->raw->name) : -1;
}

const uint32_t *sp_events_call_lines(const struct sp_events *s, size_t *n)
{
	*n = s->sampled->n_lines;
	return s->sampled->lines;
}
