/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks: reads the records of one process, and collects those of all processes. */
#include "base/grow.h"
#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/builder/stack_reader.h"
#include "model/builder/steps.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "model/task.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const sp_task_state_names[SP_TASK_STATES] = {
    [SP_TASK_WAITING] = "waiting", [SP_TASK_RUNNING] = "running",     [SP_TASK_RETURNED] = "returned",
    [SP_TASK_RAISED] = "raised",   [SP_TASK_CANCELLED] = "cancelled", [SP_TASK_DROPPED] = "dropped",
};

void sp_task_defs_free(struct sp_task_defs *d)
{
	free(d->defs);
	memset(d, 0, sizeof(*d));
}

int sp_build_task_record(struct sp_loading *l, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[2])
{
	static const size_t sizes[] = {sizeof(struct sp_raw_task), sizeof(struct sp_raw_tasks),
	                               offsetof(struct sp_raw_awaited, node), sizeof(struct sp_raw_handed)};
	struct sp_task_defs *t = &l->tasks;

	if (d->flags > SP_RAW_TASK_HANDED || part[0].n < sizes[d->flags] || (d->flags == SP_RAW_TASK_ONE && !d->a)) {
		sp_raw_report(l->source->raw, at, "record %" PRIu32 " of a task is damaged", d->a);
		return 0;
	}
	if (!sp_grow(&t->defs, t->n, &t->capacity, sizeof(*t->defs)))
		return -1;
	t->defs[t->n++] = (struct sp_task_def){
	    .what = (uint8_t)d->flags, .a = d->a, .b = d->b, .data = part[0].p, .bytes = part[0].n, .name = part[1]};
	t->count[d->flags]++;
	if (d->flags == SP_RAW_TASK_ONE && d->a > t->highest)
		t->highest = d->a;
	return 0;
}

static uint32_t id_of(const struct sp_ids *ids, uint32_t id)
{
	return id < ids->n ? ids->to[id] - 1 : SP_NONE;
}

/* Reads a record. Times stay in ticks until place_task(): the clock of a process is known after all processes are read,
 * because clocks may be corrected by each other. */
static int read_one(struct sp_builder *b, struct sp_loading *l, const struct sp_task_def *d, struct sp_task *out)
{
	const struct sp_source *s = l->source;
	struct sp_raw_task raw;
	uint32_t i;

	memcpy(&raw, d->data, sizeof(raw));
	*out = (struct sp_task){.number = d->a,
	                        .name = sp_model_str(b->m, d->name.p, d->name.n),
	                        .region = id_of(&s->regions, d->b),
	                        .location = raw.location,
	                        .by = raw.by,
	                        .creator = raw.creator,
	                        .state = (uint8_t)(raw.state <= SP_RAW_TASK_DROPPED ? raw.state : SP_TASK_WAITING),
	                        .seen_created = raw.created != 0,
	                        .created = raw.created ? raw.created : raw.begun,
	                        .begin = raw.begun,
	                        .end = raw.since,
	                        .running = raw.running,
	                        .waiting = raw.waiting,
	                        .steps = raw.steps};
	if (!out->name.p)
		return -1;
	for (i = 0; i < SP_RAW_TASK_WAITS && raw.waits[i].count; i++)
		;
	out->waits = sp_arena_zalloc(&b->priv->arena, i, sizeof(*out->waits));
	if (!out->waits)
		return -1;
	for (out->n_waits = i; i-- > 0;) {
		out->waits[i] = (struct sp_task_wait){.region = id_of(&s->regions, raw.waits[i].region),
		                                      .kind = id_of(&s->strings, raw.waits[i].kind),
		                                      .count = raw.waits[i].count,
		                                      .ns = raw.waits[i].ticks};
	}
	return 0;
}

static void read_rest(const struct sp_loading *l, const struct sp_task_def *d, struct sp_task_rest *out)
{
	struct sp_raw_tasks raw;

	memcpy(&raw, d->data, sizeof(raw));
	*out = (struct sp_task_rest){.region = d->b ? id_of(&l->source->regions, d->b) : SP_NONE,
	                             .tasks = raw.tasks,
	                             .running = raw.running,
	                             .waiting = raw.waiting,
	                             .steps = raw.steps};
	memcpy(out->ended, raw.ended, sizeof(out->ended));
}

/* Records of older versions, without the end, are shorter. */
static int read_awaited(const struct sp_loading *l, const struct sp_task_def *d, struct sp_stack_reader *stacks,
                        struct sp_task_awaited *out)
{
	struct sp_raw_awaited raw = {.node = 0};

	memcpy(&raw, d->data, d->bytes < sizeof(raw) ? d->bytes : sizeof(raw));
	*out = (struct sp_task_awaited){.region = id_of(&l->source->regions, d->a),
	                                .wait = {.region = id_of(&l->source->regions, d->b),
	                                         .kind = id_of(&l->source->strings, raw.kind),
	                                         .count = raw.count,
	                                         .ns = raw.ticks},
	                                .longest = raw.longest};
	return sp_stack_reader_find(stacks, sp_stack_reader_location(stacks, raw.location), raw.node, &out->stack);
}

static void read_handed(const struct sp_task_def *d, struct sp_handed *out)
{
	struct sp_raw_handed raw;

	memcpy(&raw, d->data, sizeof(raw));
	*out = (struct sp_handed){.given = raw.given, .taken = raw.taken, .ns = raw.ticks, .longest = raw.longest};
}

int sp_build_task_process(struct sp_builder *b, struct sp_loading *l)
{
	struct sp_task_defs *t = &l->tasks;
	struct sp_arena *arena = &b->priv->arena;
	struct sp_ids *ids = &l->source->tasks;
	struct sp_stack_reader stacks;
	size_t n[3] = {0}, i;
	int rc = 0;

	if (t->n == 0)
		return 0;
	t->tasks = sp_arena_zalloc(arena, t->count[0], sizeof(*t->tasks));
	t->rests = sp_arena_zalloc(arena, t->count[1], sizeof(*t->rests));
	t->awaited = sp_arena_zalloc(arena, t->count[2], sizeof(*t->awaited));
	ids->n = (size_t)t->highest + 1;
	ids->to = calloc(ids->n, sizeof(*ids->to));
	if (!t->tasks || !t->rests || !t->awaited || !ids->to)
		return -1;
	sp_stack_reader_open(&stacks, b, l);
	for (i = 0; i < t->n && rc == 0; i++) {
		const struct sp_task_def *d = &t->defs[i];

		if (d->what == SP_RAW_TASK_REST) {
			read_rest(l, d, &t->rests[n[1]++]);
		} else if (d->what == SP_RAW_TASK_AWAITED) {
			rc = read_awaited(l, d, &stacks, &t->awaited[n[2]++]);
		} else if (d->what == SP_RAW_TASK_HANDED) {
			read_handed(d, &t->handed);
		} else {
			rc = read_one(b, l, d, &t->tasks[n[0]]);
			ids->to[d->a] = (uint32_t)++n[0];
		}
	}
	free(t->defs);
	t->defs = NULL;
	return rc;
}

/* ---- all processes ---- */

static uint32_t location_of(const struct sp_model *m, uint32_t process, uint32_t id)
{
	const struct sp_process *p = &m->processes[process];
	uint32_t i;

	/* ids are assigned in the order of the locations, but a damaged file may lack some */
	if (id < p->locations && m->locations[p->first_location + id].id == id)
		return p->first_location + id;
	for (i = p->first_location; i < p->first_location + p->locations; i++)
		if (m->locations[i].id == id)
			return i;
	return SP_NONE;
}

static void place_task(struct sp_model *m, struct sp_task *t, const struct sp_clock *c, const struct sp_ids *ids,
                       uint32_t first, uint32_t process)
{
	const uint64_t last = m->processes[process].stop;
	uint64_t since = sp_clock_ns(c, t->end);
	uint32_t i;

	t->process = process;
	t->location = location_of(m, process, t->location);
	t->by = location_of(m, process, t->by);
	t->creator =
	    t->creator && t->creator < ids->n && ids->to[t->creator] ? first + ids->to[t->creator] - 1 : SP_NONE;
	t->created = sp_clock_ns(c, t->created);
	t->begin = sp_clock_ns(c, t->begin);
	t->running = sp_clock_length(c, t->running);
	t->waiting = sp_clock_length(c, t->waiting);
	for (i = 0; i < t->n_waits; i++)
		t->waits[i].ns = sp_clock_length(c, t->waits[i].ns);
	t->end = since;
	/* its state at the end of the recording lasts until then */
	if (t->state == SP_TASK_WAITING || t->state == SP_TASK_RUNNING) {
		t->end = last > since ? last : since;
		if (t->state == SP_TASK_RUNNING)
			t->running += t->end - since;
		else
			t->waiting += t->end - since;
	}
}

static void place_sums(struct sp_model *m, struct sp_loading *l, uint32_t process)
{
	const struct sp_clock *c = &l->source->clock;
	const struct sp_task_defs *t = &l->tasks;
	size_t i;

	for (i = 0; i < t->count[1]; i++) {
		struct sp_task_rest *r = &m->task_rests[m->n_task_rests++];

		*r = t->rests[i];
		r->process = process;
		r->running = sp_clock_length(c, r->running);
		r->waiting = sp_clock_length(c, r->waiting);
	}
	for (i = 0; i < t->count[2]; i++) {
		struct sp_task_awaited *a = &m->task_awaited[m->n_task_awaited++];

		*a = t->awaited[i];
		a->process = process;
		a->wait.ns = sp_clock_length(c, a->wait.ns);
		a->longest = sp_clock_length(c, a->longest);
	}
	m->handed.given += t->handed.given;
	m->handed.taken += t->handed.taken;
	m->handed.ns += sp_clock_length(c, t->handed.ns);
	if (sp_clock_length(c, t->handed.longest) > m->handed.longest)
		m->handed.longest = sp_clock_length(c, t->handed.longest);
}

int sp_build_tasks(struct sp_builder *b, struct sp_err *e)
{
	struct sp_model *m = b->m;
	struct sp_arena *arena = &b->priv->arena;
	size_t n[3] = {0}, i, k;

	for (i = 0; i < b->n_loading; i++)
		for (k = 0; k < 3; k++)
			n[k] += b->loading[i].tasks.count[k];
	m->tasks = sp_arena_zalloc(arena, n[0], sizeof(*m->tasks));
	m->task_rests = sp_arena_zalloc(arena, n[1], sizeof(*m->task_rests));
	m->task_awaited = sp_arena_zalloc(arena, n[2], sizeof(*m->task_awaited));
	if (!m->tasks || !m->task_rests || !m->task_awaited)
		return sp_model_no_memory(e);
	for (i = 0; i < b->n_loading; i++) {
		struct sp_loading *l = &b->loading[i];
		struct sp_ids *ids = &l->source->tasks;
		const uint32_t first = (uint32_t)m->n_tasks;

		for (k = 0; k < l->tasks.count[0]; k++) {
			m->tasks[m->n_tasks] = l->tasks.tasks[k];
			place_task(m, &m->tasks[m->n_tasks++], &l->source->clock, ids, first, (uint32_t)i);
		}
		for (k = 0; k < ids->n; k++)
			if (ids->to[k])
				ids->to[k] += first;
		place_sums(m, l, (uint32_t)i);
	}
	return 0;
}

void sp_build_task_regions(struct sp_model *m, void (*visit)(void *arg, uint32_t *region), void *arg)
{
	size_t i, k;

	for (i = 0; i < m->n_tasks; i++) {
		visit(arg, &m->tasks[i].region);
		for (k = 0; k < m->tasks[i].n_waits; k++)
			visit(arg, &m->tasks[i].waits[k].region);
	}
	for (i = 0; i < m->n_task_rests; i++)
		visit(arg, &m->task_rests[i].region);
	for (i = 0; i < m->n_task_awaited; i++) {
		visit(arg, &m->task_awaited[i].region);
		visit(arg, &m->task_awaited[i].wait.region);
		sp_stack_regions(&m->task_awaited[i].stack, visit, arg);
	}
}
