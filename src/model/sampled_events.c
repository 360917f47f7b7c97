/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/sampled_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sp_sampled_events {
	const struct sp_model *m;
	struct sp_raw_file *raw; /* owned */
	const struct sp_raw_thread *thread;
	struct sp_clock clock;
	uint32_t *path_of; /* owned; node to path; SP_NONE: none */
	size_t nodes;
	size_t part;           /* the one being read is the one before */
	const uint64_t *words; /* of it */
	uint64_t *room;        /* owned; of unpacked words */
	size_t n, at;
	uint64_t ticks, ns, end;
	uint32_t is, wanted; /* paths: what is open, and what was found */
	bool over;
};

static void silent(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/* The child of a path with that region. */
static uint32_t child(const struct sp_model *m, uint32_t path, uint32_t region)
{
	uint32_t c = m->paths[path].first_child;

	while (c != SP_NONE && m->paths[c].region != region)
		c = m->paths[c].next_sibling;
	return c;
}

/* As tree.c made them: a node's parent comes before it. */
static int find_paths(struct sp_sampled_events *s, const struct sp_ids *ids, struct sp_err *e)
{
	const struct sp_raw_part *p = s->raw->parts + s->thread->nodes.first, *end = p + s->thread->nodes.count;
	const size_t most = s->raw->size / sizeof(struct sp_raw_node);
	struct sp_raw_node n;
	size_t i;

	s->path_of = malloc((most + 1) * sizeof(*s->path_of));
	if (!s->path_of)
		return sp_model_no_memory(e);
	for (; p < end; p++) {
		const struct sp_raw_node *nodes = sp_raw_payload(s->raw, p);

		if (p->base != s->nodes || p->used > most - s->nodes)
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

static int open_raw(struct sp_sampled_events *s, const struct sp_process *p, uint64_t tid, struct sp_err *e)
{
	static const char raw[] = ".raw";
	char path[4400], shown[600];
	size_t i;

	snprintf(shown, sizeof(shown), "raw/%.*s.samples.raw", (int)(p->file.n - strlen(raw)), p->file.p);
	snprintf(path, sizeof(path), "%s/%s", s->m->dir.p, shown);
	if (sp_raw_open(&s->raw, path, shown, silent, NULL, e)) {
		snprintf(path, sizeof(path), "%s/raw/%s", s->m->dir.p, p->file.p);
		if (sp_raw_open(&s->raw, path, p->file.p, silent, NULL, e))
			return -1;
	}
	for (i = 0; i < s->raw->n_threads && !s->thread; i++)
		if (s->raw->threads[i].state.tid == tid)
			s->thread = &s->raw->threads[i];
	return 0;
}

int sp_sampled_events_open(struct sp_sampled_events **out, const struct sp_model *m, uint32_t location,
                           struct sp_err *e)
{
	const struct sp_location *l = &m->locations[location];
	const struct sp_process *p = &m->processes[l->process];
	const struct sp_source *source = &m->priv->sources[m->priv->places[location].source];
	struct sp_sampled_events *s;
	int rc;

	*out = NULL;
	if (!p->sampled || p->traced || p->file.n < 5)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return sp_model_no_memory(e);
	s->m = m;
	s->clock = source->sampled_clock;
	s->ticks = s->clock.first;
	s->ns = l->begin;
	s->end = l->end;
	rc = open_raw(s, p, l->tid, e);
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
	free(s->room);
	free(s);
}

/* One step from what is open to what was found: the innermost function is left, or another one entered. */
static struct sp_event step(struct sp_sampled_events *s)
{
	const struct sp_path *paths = s->m->paths;
	struct sp_event out = {.time = s->ns, .u.uint = s->over};
	uint32_t at = s->wanted;

	while (at != s->is && at && paths[at].parent != s->is)
		at = paths[at].parent;
	if (at == s->is || (at == 0 && s->is)) { /* what was found is not below it */
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

/* 1: there is one; 0: all are read. */
static int next_part(struct sp_sampled_events *s, struct sp_err *e)
{
	const struct sp_raw_part *p;

	if (s->part == s->thread->events.count)
		return 0;
	p = &s->raw->parts[s->thread->events.first + s->part++];
	s->at = s->n = 0;
	s->words = sp_raw_words(s->raw, p, &s->room, &s->n, e);
	if (!s->words)
		return e->code ? -1 : 1; /* damage, which the others tell */
	s->ticks = p->base;
	return 1;
}

/* Reads words until something else was found, or the part is at its end. */
static void next_word(struct sp_sampled_events *s)
{
	const uint64_t w = s->words[s->at];
	const uint32_t id = (uint32_t)(w >> SP_RAW_KIND_BITS) & SP_RAW_ID_MAX, words = id >> 8;
	uint64_t ns;

	if (w == 0 || (w & 7) != SP_RAW_EXTRA || words > s->n - s->at - 1) {
		s->at = s->n;
		return;
	}
	s->ticks += w >> SP_RAW_DELTA_SHIFT;
	if ((id & 0xff) == SP_RAW_X_TIME && words == 1)
		s->ticks += s->words[s->at + 1];
	if ((id & 0xff) == SP_RAW_X_SAMPLE && words >= 1) {
		const uint64_t node = s->words[s->at + 1];

		s->wanted = node < s->nodes && s->path_of[node] != SP_NONE ? s->path_of[node] : 0;
		ns = sp_clock_ns(&s->clock, s->ticks);
		ns = ns < s->end ? ns : s->end;
		s->ns = ns > s->ns ? ns : s->ns;
	}
	s->at += 1 + words;
}

long sp_sampled_events_read(struct sp_sampled_events *s, struct sp_event *out, size_t n, struct sp_err *e)
{
	size_t k = 0;
	int rc;

	while (k < n) {
		if (s->is != s->wanted) {
			out[k++] = step(s);
		} else if (s->at < s->n) {
			next_word(s);
		} else if (s->over) {
			break;
		} else {
			rc = next_part(s, e);
			if (rc < 0)
				return -1;
			s->over = rc == 0;
			if (s->over) {
				s->wanted = 0;
				s->ns = s->end > s->ns ? s->end : s->ns;
			}
		}
	}
	return (long)k;
}
