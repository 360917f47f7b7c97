/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks in JSON. */
#include <inttypes.h>

#include "model/model.h"
#include "model/task.h"
#include "write/json/json.h"

static void put_wait(struct sp_out *out, const struct sp_task_wait *w)
{
	sp_out_byte(out, '{');
	sp_json_index(out, "where", w->region);
	sp_json_index(out, "what", w->kind);
	sp_out_f(out, "\"count\":%" PRIu64 ",\"time\":%" PRIu64 "}", w->count, w->ns);
}

static void put_task(struct sp_out *out, const struct sp_task *t)
{
	sp_out_byte(out, '{');
	sp_json_text(out, "name", t->name);
	sp_json_index(out, "process", t->process);
	sp_json_index(out, "region", t->region);
	sp_json_index(out, "location", t->location);
	sp_json_index(out, "creator", t->creator);
	sp_json_index(out, "by", t->by);
	sp_out_f(out, "\"number\":%" PRIu32 ",\"state\":\"%s\",\"seen_created\":%s,", t->number,
	         sp_task_state_names[t->state], t->seen_created ? "true" : "false");
	sp_out_f(out, "\"created\":%" PRIu64 ",\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",", t->created, t->begin,
	         t->end);
	sp_out_f(out, "\"running\":%" PRIu64 ",\"waiting\":%" PRIu64 ",\"steps\":%" PRIu64 ",\"waits\":[", t->running,
	         t->waiting, t->steps);
	for (uint32_t i = 0; i < t->n_waits; i++) {
		if (i)
			sp_out_byte(out, ',');
		put_wait(out, &t->waits[i]);
	}
	sp_out_text(out, "]}");
}

static void put_rest(struct sp_out *out, const struct sp_task_rest *r)
{
	sp_out_byte(out, '{');
	sp_json_index(out, "process", r->process);
	sp_json_index(out, "region", r->region);
	for (int i = 0; i < 4; i++)
		sp_out_f(out, "\"%s\":%" PRIu64 ",", sp_task_state_names[SP_TASK_RETURNED + i], r->ended[i]);
	sp_out_f(out, "\"tasks\":%" PRIu64 ",\"running\":%" PRIu64 ",\"waiting\":%" PRIu64 ",\"steps\":%" PRIu64 "}",
	         r->tasks, r->running, r->waiting, r->steps);
}

static void put_awaited(struct sp_out *out, const struct sp_task_awaited *a)
{
	sp_out_byte(out, '{');
	sp_json_index(out, "process", a->process);
	sp_json_index(out, "region", a->region);
	sp_json_stack(out, "stack", &a->stack);
	sp_out_f(out, "\"longest\":%" PRIu64 ",\"wait\":", a->longest);
	put_wait(out, &a->wait);
	sp_out_byte(out, '}');
}

void sp_json_tasks(struct sp_out *out, const struct sp_model *m)
{
	sp_out_text(out, ",\n\"tasks\":[");
	for (size_t i = 0; i < m->n_tasks; i++) {
		sp_out_text(out, i ? ",\n" : "\n");
		put_task(out, &m->tasks[i]);
	}
	sp_out_text(out, "],\n\"unlisted_tasks\":[");
	for (size_t i = 0; i < m->n_task_rests; i++) {
		sp_out_text(out, i ? ",\n" : "\n");
		put_rest(out, &m->task_rests[i]);
	}
	sp_out_text(out, "],\n\"task_waits\":[");
	for (size_t i = 0; i < m->n_task_awaited; i++) {
		sp_out_text(out, i ? ",\n" : "\n");
		put_awaited(out, &m->task_awaited[i]);
	}
	sp_out_f(out,
	         "],\n\"handed\":{\"given\":%" PRIu64 ",\"taken\":%" PRIu64 ",\"waited\":%" PRIu64
	         ",\"longest\":%" PRIu64 "}",
	         m->handed.given, m->handed.taken, m->handed.ns, m->handed.longest);
}
