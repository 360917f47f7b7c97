/* SPDX-License-Identifier: BSD-3-Clause */
/* Speedscope's file format. With a trace: an evented profile for each thread. Without: a sampled profile made of the
 * thread's call tree, in which the order of the samples has no meaning. */
#include <errno.h>
#include <inttypes.h>

#include "model/event.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/common/out.h"
#include "write/common/scorep.h"
#include "write/common/stacks.h"

#define BATCH 4096

struct speedscope {
	struct sp_out out;
	const struct sp_model *m;
	const struct sp_write_options *o;
	struct sp_stacks stacks;
	uint32_t metric;      /* from sp_stacks_metric() */
	uint64_t done, total; /* numbers of event words and rows */
	bool comma;           /* a comma is needed before the next element */
	bool weights;         /* the current pass over the samples writes their weights */
	double sum;           /* of the weights */
};

static void separate(struct speedscope *s)
{
	if (s->comma)
		sp_out_byte(&s->out, ',');
	s->comma = true;
}

static void put_frames(struct speedscope *s)
{
	for (size_t r = 0; r < s->m->n_regions; r++) {
		const struct sp_region *region = &s->m->regions[r];
		sp_out_text(&s->out, "{\"name\":");
		sp_out_json(&s->out, region->name);
		if (region->file.n) {
			sp_out_text(&s->out, ",\"file\":");
			sp_out_json(&s->out, region->file);
		}
		if (region->line) {
			sp_out_text(&s->out, ",\"line\":");
			sp_out_u64(&s->out, region->line);
		}
		sp_out_text(&s->out, "},\n");
	}
	sp_out_text(&s->out, "{\"name\":\"" SP_STACKS_DEEPER "\"}");
}

static void put_head(struct speedscope *s, const char *type, const char *unit, const struct sp_location *l)
{
	sp_out_f(&s->out, "{\"type\":\"%s\",\"unit\":\"%s\",\"name\":\"", type, unit);
	sp_out_escaped(&s->out, l->name);
	const struct sp_process *p = &s->m->processes[l->process];
	char rank[SP_SCOREP_NAME];
	if (p->rank != SP_NONE || p->role.n) {
		sp_scorep_process(s->m, l->process, rank);
		sp_out_text(&s->out, " (");
		sp_out_escaped(&s->out, sp_text(rank));
		sp_out_text(&s->out, ")");
	} else if (s->m->n_processes > 1) {
		sp_out_f(&s->out, " (process %" PRId32 ")", p->pid);
	}
	sp_out_text(&s->out, "\",");
}

static void put_sample(void *arg, const uint32_t *paths, size_t n, bool deeper, const double *excl)
{
	struct speedscope *s = arg;

	separate(s);
	if (s->weights) {
		sp_out_real(&s->out, *excl);
		s->sum += *excl;
		return;
	}
	sp_out_byte(&s->out, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			sp_out_byte(&s->out, ',');
		sp_out_u64(&s->out, s->m->paths[paths[i]].region);
	}
	if (deeper) {
		sp_out_byte(&s->out, ',');
		sp_out_u64(&s->out, s->m->n_regions);
	}
	sp_out_text(&s->out, "]\n");
}

static int put_samples(struct speedscope *s, const struct sp_location *l, bool weights, struct sp_err *e)
{
	const struct sp_row *row = s->m->values + l->first_value;

	s->comma = false;
	s->weights = weights;
	for (size_t i = 0; i < l->values; i++) {
		const double value = sp_stacks_value(s->m, l->first_value + i, s->metric);
		if (row[i].path)
			sp_stacks_path(&s->stacks, row[i].path, &value, put_sample, s);
		if (++s->done % 65536 == 0 && sp_write_tick(s->o, s->done, s->total, e))
			return -1;
	}
	sp_stacks_rest(&s->stacks, put_sample, s);
	return 0;
}

static int put_sampled(struct speedscope *s, const struct sp_location *l, struct sp_err *e)
{
	s->sum = 0;
	put_head(s, "sampled", s->metric == SP_NONE ? "nanoseconds" : "bytes", l);
	sp_out_text(&s->out, "\"samples\":[\n");
	if (put_samples(s, l, false, e))
		return -1;
	sp_out_text(&s->out, "],\"weights\":[");
	if (put_samples(s, l, true, e))
		return -1;
	sp_out_text(&s->out, "],\"startValue\":0,\"endValue\":");
	sp_out_real(&s->out, s->sum);
	sp_out_byte(&s->out, '}');
	return 0;
}

static bool opens(uint32_t kind)
{
	return kind == SP_EVENT_ENTER || kind == SP_EVENT_RESUME || kind == SP_EVENT_INHERIT;
}

static bool closes(uint32_t kind)
{
	return kind == SP_EVENT_LEAVE || kind == SP_EVENT_SUSPEND;
}

static void put_event(struct speedscope *s, const struct sp_event *ev)
{
	separate(s);
	sp_out_text(&s->out, opens(ev->kind) ? "{\"type\":\"O\",\"frame\":" : "{\"type\":\"C\",\"frame\":");
	sp_out_u64(&s->out, ev->id);
	sp_out_text(&s->out, ",\"at\":");
	sp_out_u64(&s->out, ev->time);
	sp_out_text(&s->out, "}\n");
}

static int put_events(struct speedscope *s, uint32_t location, uint64_t *last, struct sp_err *e)
{
	struct sp_event batch[BATCH];
	struct sp_events *events;
	long n;

	if (sp_events_open(&events, s->m, location, e))
		return -1;
	s->comma = false;
	while ((n = sp_events_read(events, batch, BATCH, e)) > 0) {
		for (long i = 0; i < n; i++)
			if (opens(batch[i].kind) || closes(batch[i].kind))
				put_event(s, &batch[i]);
		*last = batch[n - 1].time;
		s->done += (uint64_t)n;
		if (sp_write_tick(s->o, s->done, s->total, e)) {
			n = -1;
			break;
		}
	}
	sp_events_close(events);
	return n < 0 ? -1 : 0;
}

static int put_evented(struct speedscope *s, uint32_t location, struct sp_err *e)
{
	const struct sp_location *l = &s->m->locations[location];
	uint64_t last = l->end;

	put_head(s, "evented", "nanoseconds", l);
	sp_out_text(&s->out, "\"events\":[\n");
	if (put_events(s, location, &last, e))
		return -1;
	if (last < l->end)
		last = l->end;
	sp_out_f(&s->out, "],\"startValue\":%" PRIu64 ",\"endValue\":%" PRIu64 "}", l->begin, last);
	return 0;
}

static int put_all(struct speedscope *s, const struct sp_pick *k, struct sp_err *e)
{
	const struct sp_model *m = s->m;

	for (uint32_t l = k->first; l < k->end; l++)
		s->total +=
		    m->processes[m->locations[l].process].traced ? sp_events_count(m, l) : 2 * m->locations[l].values;
	sp_out_text(&s->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	                     "\"exporter\":\"spartito\",\"name\":");
	sp_out_json(&s->out, m->n_processes && m->processes[0].command.n ? m->processes[0].command : m->dir);
	sp_out_text(&s->out, ",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[\n");
	put_frames(s);
	sp_out_text(&s->out, "]},\n\"profiles\":[\n");
	for (uint32_t l = k->first; l < k->end; l++) {
		if (l > k->first)
			sp_out_text(&s->out, ",\n");
		bool traced = m->processes[m->locations[l].process].traced;
		if (traced ? put_evented(s, l, e) : put_sampled(s, &m->locations[l], e))
			return -1;
	}
	sp_out_text(&s->out, "\n]}\n");
	return 0;
}

int sp_write_speedscope(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct speedscope s = {.m = m, .o = o};
	struct sp_pick k;

	if (sp_pick_open(&k, m, o, e))
		return -1;
	s.metric = sp_stacks_metric(m, &k);
	int rc = sp_stacks_open(&s.stacks, m, 1, e);
	if (rc == 0) {
		rc = sp_out_open(&s.out, path, e);
		if (rc == 0)
			rc = sp_out_close(&s.out, put_all(&s, &k, e), e);
		sp_stacks_close(&s.stacks);
	}
	sp_pick_close(&k);
	return rc;
}
