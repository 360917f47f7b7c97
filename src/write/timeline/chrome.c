/* SPDX-License-Identifier: BSD-3-Clause */
/* Chrome's trace events in JSON. Times are microseconds since the begin of the trace, with three decimals. Data without
 * a place in this format are written differently: tasks are asynchronous slices, counts of threads have the thread in
 * their name, the source location of a function is an argument of its call. */
#include <inttypes.h>
#include <math.h>

#include "model/model.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/common/packed.h"
#include "write/timeline/timeline.h"

struct chrome {
	struct sp_timeline t;
	struct sp_out out;
	uint32_t location; /* SP_NONE: no location */
	bool comma;
};

/* ---- members of events ---- */

static void put_micros(struct sp_out *out, uint64_t ns)
{
	const unsigned rest = (unsigned)(ns % 1000);

	sp_out_u64(out, ns / 1000);
	if (!rest)
		return;
	sp_out_byte(out, '.');
	sp_out_byte(out, (char)('0' + rest / 100));
	sp_out_byte(out, (char)('0' + rest / 10 % 10));
	sp_out_byte(out, (char)('0' + rest % 10));
}

static void put_number(struct sp_out *out, const char *key, uint64_t v)
{
	sp_out_text(out, key);
	sp_out_u64(out, v);
}

static void begin(struct chrome *x, const char *phase)
{
	sp_out_text(&x->out, x->comma ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	sp_out_text(&x->out, phase);
	sp_out_byte(&x->out, '"');
	x->comma = true;
}

static void put_where(struct chrome *x, uint32_t process, uint32_t location)
{
	put_number(&x->out, ",\"pid\":", x->t.pids[process]);
	if (location != SP_NONE)
		put_number(&x->out, ",\"tid\":", x->t.tids[location]);
}

static void put_time(struct chrome *x, uint64_t time)
{
	sp_out_text(&x->out, ",\"ts\":");
	put_micros(&x->out, time);
}

static void begin_here(struct chrome *x, const char *phase, uint64_t time)
{
	begin(x, phase);
	put_where(x, x->t.m->locations[x->location].process, x->location);
	put_time(x, time);
}

static void put_text(struct chrome *x, const char *key, struct sp_str s)
{
	sp_out_text(&x->out, key);
	sp_out_json(&x->out, s);
}

/* Writes "FILE:LINE" */
static void put_place(struct chrome *x, const struct sp_region *r)
{
	sp_out_text(&x->out, "\"source\":\"");
	sp_out_escaped(&x->out, r->file);
	if (r->line)
		put_number(&x->out, ":", r->line);
	sp_out_byte(&x->out, '"');
}

static void put_note(struct chrome *x, const struct sp_note *note)
{
	sp_out_byte(&x->out, '"');
	sp_out_escaped(&x->out, note->name);
	if (note->nth > 1)
		put_number(&x->out, " ", note->nth);
	sp_out_text(&x->out, "\":");
	if (note->kind == SP_NOTE_TEXT)
		sp_out_json(&x->out, note->u.text);
	else if (note->kind == SP_NOTE_UINT)
		sp_out_u64(&x->out, note->u.uint);
	else
		sp_out_f(&x->out, "%" PRId64, note->u.sint);
}

/* r: a region whose source location is written, or NULL. */
static void put_args(struct chrome *x, const struct sp_region *r, const struct sp_note *notes, size_t n)
{
	const bool place = r && r->file.n;

	if (!place && n == 0)
		return;
	sp_out_text(&x->out, ",\"args\":{");
	if (place)
		put_place(x, r);
	for (size_t i = 0; i < n; i++) {
		if (i || place)
			sp_out_byte(&x->out, ',');
		put_note(x, &notes[i]);
	}
	sp_out_byte(&x->out, '}');
}

static void end(struct chrome *x)
{
	sp_out_byte(&x->out, '}');
}

/* ---- events ---- */

static void enter(void *to, uint64_t time, uint32_t region)
{
	struct chrome *x = to;
	const struct sp_region *r = &x->t.m->regions[region];
	struct sp_notes n = {.n = 0};

	begin_here(x, "B", time);
	put_text(x, ",\"name\":", r->name);
	put_text(x, ",\"cat\":", sp_text(sp_region_kind_names[r->kind]));
	sp_notes_code(&n, r, true);
	put_args(x, r, n.all, n.n);
	end(x);
}

static void leave(void *to, uint64_t time)
{
	struct chrome *x = to;

	begin_here(x, "E", time);
	end(x);
}

static void put_category(struct chrome *x, const struct sp_mark *mark)
{
	sp_out_text(&x->out, ",\"cat\":\"");
	sp_out_text(&x->out, mark->category);
	if (mark->also) {
		sp_out_byte(&x->out, ',');
		sp_out_text(&x->out, mark->also);
	}
	sp_out_byte(&x->out, '"');
}

/* Writes one end of an arrow. It begins at the slice that began last, and ends in the slice that is open then. */
static void put_flow(struct chrome *x, const struct sp_mark *mark, const struct sp_flow *f)
{
	begin(x, f->in ? "f" : "s");
	put_where(x, x->t.m->locations[x->location].process, x->location);
	put_time(x, mark->time);
	sp_out_f(&x->out, ",\"id\":\"0x%" PRIx64 "\",\"name\":\"flow\",\"cat\":\"flow\"", f->id);
	if (f->in)
		sp_out_text(&x->out, ",\"bp\":\"e\"");
	end(x);
}

/* Writes the first members of a mark: its kind and its track. */
static void put_head(struct chrome *x, const struct sp_mark *mark)
{
	static const char *const calls[] = {[SP_MARK_BEGIN] = "B", [SP_MARK_END] = "E", [SP_MARK_INSTANT] = "i"};
	static const char *const tasks[] = {[SP_MARK_BEGIN] = "b", [SP_MARK_END] = "e", [SP_MARK_INSTANT] = "n"};
	const struct sp_track *on = mark->on;
	const bool task = on && on->kind == SP_TRACK_TASK;

	begin(x, task ? tasks[mark->kind] : calls[mark->kind]);
	if (!on)
		put_where(x, x->t.m->locations[x->location].process, x->location);
	else if (on->kind != SP_TRACK_ROOT)
		put_where(x, on->process, x->location);
	put_time(x, mark->time);
	if (task)
		put_number(&x->out, ",\"id\":", on->number);
	if (mark->kind == SP_MARK_INSTANT && !task)
		sp_out_text(&x->out, !on                            ? ",\"s\":\"t\""
		                     : on->kind == SP_TRACK_PROCESS ? ",\"s\":\"p\""
		                                                    : ",\"pid\":0,\"s\":\"g\"");
}

/* Writes the arguments with the task's name, which its slices do not have. */
static void put_task_args(struct chrome *x, const struct sp_mark *mark, const struct sp_region *r)
{
	struct sp_note notes[4] = {{.name = sp_text("task"), .nth = 1, .kind = SP_NOTE_TEXT, .u.text = mark->on->name}};
	size_t n = 1;

	for (size_t i = 0; i < mark->n_notes && n < sizeof notes / sizeof *notes; i++)
		notes[n++] = mark->notes[i];
	put_args(x, mark->kind == SP_MARK_END ? NULL : r, notes, n);
}

static void put_mark(void *to, const struct sp_mark *mark)
{
	struct chrome *x = to;
	const struct sp_region *r = mark->region == SP_NONE ? NULL : &x->t.m->regions[mark->region];
	const bool task = mark->on && mark->on->kind == SP_TRACK_TASK;

	put_head(x, mark);
	if (mark->kind != SP_MARK_END || task) {
		put_text(x, ",\"name\":", r ? r->name : mark->name);
		put_category(x, mark);
	}
	if (task)
		put_task_args(x, mark, r);
	else
		put_args(x, mark->kind == SP_MARK_END ? NULL : r, mark->notes, mark->n_notes);
	end(x);
	for (size_t i = 0; i < mark->n_flows && !task; i++)
		put_flow(x, mark, &mark->flows[i]);
}

static void put_count(void *to, const struct sp_track *t, uint64_t time, double value)
{
	struct chrome *x = to;

	begin(x, "C");
	put_where(x, t->process, x->location);
	put_time(x, time);
	sp_out_text(&x->out, ",\"name\":\"");
	sp_out_escaped(&x->out, t->name);
	if (t->kind == SP_TRACK_METRIC) {
		sp_out_text(&x->out, " (");
		sp_out_escaped(&x->out, x->t.m->locations[t->location].name);
		put_number(&x->out, " ", x->t.tids[t->location]);
		sp_out_byte(&x->out, ')');
	}
	sp_out_text(&x->out, "\",\"args\":{\"value\":");
	if (isfinite(value))
		sp_out_f(&x->out, "%.17g}", value);
	else /* JSON cannot represent them */
		sp_out_text(&x->out, isnan(value) ? "\"NaN\"}" : value > 0 ? "\"Infinity\"}" : "\"-Infinity\"}");
	end(x);
}

/* ---- tracks ---- */

static void put_metadata(struct chrome *x, const char *what, uint32_t process, uint32_t location, const char *key,
                         struct sp_str value)
{
	begin(x, "M");
	put_where(x, process, location);
	sp_out_f(&x->out, ",\"name\":\"%s\",\"args\":{\"%s\":", what, key);
	sp_out_json(&x->out, value);
	sp_out_byte(&x->out, '}');
	end(x);
}

static void put_track(void *to, const struct sp_track *t)
{
	struct chrome *x = to;

	if (t->kind == SP_TRACK_PROCESS) {
		put_metadata(x, "process_name", t->of, SP_NONE, "name", t->name);
		if (x->t.m->processes[t->of].host.n)
			put_metadata(x, "process_labels", t->of, SP_NONE, "labels", x->t.m->processes[t->of].host);
	} else if (t->kind == SP_TRACK_THREAD) {
		put_metadata(x, "thread_name", t->process, t->of, "name", t->name);
	}
}

static void begin_location(void *to, uint32_t location)
{
	((struct chrome *)to)->location = location;
}

static const struct sp_timeline_sink sink = {put_track, begin_location, enter, leave, put_mark, put_count};

static int send(struct chrome *x, const char *path, struct sp_err *e)
{
	if (sp_packed_open(&x->out, path, e))
		return -1;
	sp_out_text(&x->out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"writer\":\"Spartito\",\"directory\":");
	sp_out_json(&x->out, x->t.m->dir);
	put_number(&x->out, ",\"begin\":\"", x->t.m->begin_ns);
	sp_out_text(&x->out, " ns since the epoch\"},\n\"traceEvents\":[");
	int rc = sp_timeline_send(&x->t, &sink, x);
	sp_out_text(&x->out, "\n]}\n");
	return sp_out_close(&x->out, rc, e);
}

int sp_write_chrome(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct chrome x = {.location = SP_NONE};
	int rc = sp_timeline_open(&x.t, m, o, e);

	if (rc == 0)
		rc = send(&x, path, e);
	sp_timeline_close(&x.t);
	return rc;
}
