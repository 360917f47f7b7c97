/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks and waits in JSON. */
#include <inttypes.h>

#include "model/model.h"
#include "write/json/json.h"

static const char *truth(bool is)
{
	return is ? "true" : "false";
}

void sp_json_stack(struct sp_out *out, const char *key, const struct sp_stack *s)
{
	sp_out_f(out, "\"%s\":[", key);
	for (uint32_t i = 0; i < s->n; i++) {
		if (i)
			sp_out_byte(out, ',');
		sp_out_u64(out, s->regions[i]);
	}
	sp_out_text(out, "],");
}

static void put_lock(struct sp_out *out, const struct sp_lock *o)
{
	sp_out_byte(out, '{');
	sp_json_index(out, "process", o->process);
	sp_json_index(out, "type", o->type);
	sp_json_index(out, "user", o->user);
	sp_json_index(out, "made_file", o->made_file);
	sp_json_index(out, "made_by", o->made_by);
	sp_json_index(out, "holder", o->holder);
	sp_json_stack(out, "holder_stack", &o->holder_stack);
	sp_out_f(out,
	         "\"number\":%" PRIu32 ",\"kind\":\"%s\",\"address\":%" PRIu64 ",\"made_line\":%" PRIu32
	         ",\"freed\":%s,\"gone\":%s,",
	         o->number, sp_lock_kind_names[o->kind], o->address, o->made_line, truth(o->freed), truth(o->gone));
	sp_out_f(out,
	         "\"since\":%" PRIu64 ",\"count\":%" PRIu64 ",\"contended\":%" PRIu64 ",\"waited\":%" PRIu64
	         ",\"held\":%" PRIu64 "}",
	         o->since, o->count, o->contended, o->waited, o->held);
}

static void put_wait(struct sp_out *out, const struct sp_lock_wait *w)
{
	sp_out_byte(out, '{');
	sp_json_index(out, "location", w->location);
	sp_json_stack(out, "stack", &w->stack);
	sp_json_index(out, "lock", w->lock);
	sp_json_index(out, "file", w->file);
	sp_json_index(out, "holder", w->holder);
	sp_json_stack(out, "holder_stack", &w->holder_stack);
	sp_out_f(out,
	         "\"kind\":\"%s\",\"line\":%" PRIu32 ",\"count\":%" PRIu64 ",\"time\":%" PRIu64 ",\"longest\":%" PRIu64
	         ",",
	         sp_lock_kind_names[w->kind], w->line, w->count, w->ns, w->longest);
	sp_out_f(out, "\"open\":%s,\"timed\":%s,\"news\":%s,\"since\":%" PRIu64 "}", truth(w->open), truth(w->timed),
	         truth(w->news), w->since);
}

static void put_circle(struct sp_out *out, const struct sp_lock_cycle *c)
{
	sp_out_byte(out, '{');
	sp_json_index(out, "process", c->process);
	sp_out_f(out, "\"interrupted\":%s,\"links\":[", truth(c->interrupted));
	for (uint32_t i = 0; i < c->n; i++)
		sp_out_f(out, "%s{\"location\":%" PRIu32 ",\"lock\":%" PRIu32 ",\"since\":%" PRIu64 "}", i ? "," : "",
		         c->links[i].location, c->links[i].lock, c->links[i].since);
	sp_out_text(out, "]}");
}

void sp_json_waits(struct sp_out *out, const struct sp_model *m)
{
	sp_out_text(out, ",\n\"locks\":[");
	for (size_t i = 0; i < m->n_locks; i++) {
		sp_out_text(out, i ? ",\n" : "\n");
		put_lock(out, &m->locks[i]);
	}
	sp_out_text(out, "],\n\"waits\":[");
	const char *before = "\n";
	for (size_t i = 0; i < m->n_lock_waits; i++) {
		if (!m->lock_waits[i].count)
			continue;
		sp_out_text(out, before);
		put_wait(out, &m->lock_waits[i]);
		before = ",\n";
	}
	sp_out_text(out, "],\n\"deadlocks\":[");
	for (size_t i = 0; i < m->n_lock_cycles; i++) {
		sp_out_text(out, i ? ",\n" : "\n");
		put_circle(out, &m->lock_cycles[i]);
	}
	sp_out_byte(out, ']');
}
