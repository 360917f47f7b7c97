/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace of one location: decoded, balanced, with the model's ids and times. */
#include "base/grow.h"
#include "model/events/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/event.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"

uint64_t sp_events_count(const struct sp_model *m, uint32_t location)
{
	return m->priv->places[location].words;
}

/* Damage of the file was reported when the model was made. */
static void known(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

struct opening {
	struct sp_events *s;
	uint32_t location;
	struct sp_err *e;
};

/* Opens the raw file of a merged model, for as long as its events are read. */
static int open_raw(void *arg)
{
	const struct opening *o = arg;
	struct sp_events *s = o->s;
	struct sp_err *e = o->e;
	const struct sp_location *l = &s->m->locations[o->location];
	const char *name = s->m->processes[l->process].file.p;
	char path[4400], shown[300];

	if (sp_sampled_events_open(&s->sampled, s->m, o->location, e))
		return -1;
	if (!s->source->closed)
		return 0;
	if (!s->source->raw) {
		snprintf(path, sizeof(path), "%s/raw/%s", s->m->dir.p, name);
		snprintf(shown, sizeof(shown), "raw/%s", name);
		if (sp_raw_open(&s->source->raw, path, shown, known, NULL, e))
			return -1;
	}
	if (s->place->thread == SIZE_MAX) {
		s->source->users++;
		return 0; /* the location is only in the file of samples */
	}
	if (s->place->thread >= s->source->raw->n_threads ||
	    s->source->raw->threads[s->place->thread].state.id != l->id)
		return sp_fail(e, 0, "raw/%s: changed while it was read", name);
	s->source->users++;
	return 0;
}

/* Keeps the file open after damage was found, so that the damage is reported only once. */
static void close_raw(struct sp_events *s)
{
	if (!s->source->closed || s->problems != s->m->n_problems || --s->source->users)
		return;
	sp_raw_close(s->source->raw);
	s->source->raw = NULL;
}

static struct sp_events *new_events(const struct sp_model *m, uint32_t location)
{
	struct sp_events *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	/* the model is constant, except that damage found while reading is added to its problems */
	s->m = (struct sp_model *)m;
	s->place = &m->priv->places[location];
	s->source = &m->priv->sources[s->place->source];
	s->ticks = s->source->clock.first;
	s->ns = m->locations[location].begin;
	s->end = m->locations[location].end;
	s->keep = SIZE_MAX;
	s->gil_ns = UINT64_MAX;
	return s;
}

int sp_events_open(struct sp_events **out, const struct sp_model *m, uint32_t location, struct sp_err *e)
{
	struct sp_events *s = new_events(m, location);

	*out = NULL;
	if (!s)
		return sp_model_no_memory(e);
	if (sp_guarded(open_raw, &(struct opening){s, location, e}, e)) {
		sp_sampled_events_close(s->sampled);
		free(s);
		return -1;
	}
	s->problems = m->n_problems;
	s->raw = s->source->raw;
	s->thread = s->raw && s->place->thread != SIZE_MAX ? &s->raw->threads[s->place->thread] : NULL;
	*out = s;
	return 0;
}

int sp_events_open_quiet(struct sp_events **out, const struct sp_model *m, uint32_t location, struct sp_raw_file *raw,
                         struct sp_err *e)
{
	struct sp_events *s = new_events(m, location);

	*out = NULL;
	if (!s)
		return sp_model_no_memory(e);
	s->quiet = true;
	s->raw = raw ? raw : s->source->raw;
	if (s->raw && s->place->thread != SIZE_MAX &&
	    (s->place->thread >= s->raw->n_threads ||
	     s->raw->threads[s->place->thread].state.id != m->locations[location].id)) {
		sp_fail(e, 0, "%s: changed while it was read", s->raw->name);
		free(s);
		return -1;
	}
	s->thread = s->raw && s->place->thread != SIZE_MAX ? &s->raw->threads[s->place->thread] : NULL;
	*out = s;
	return 0;
}

void sp_events_close(struct sp_events *s)
{
	if (!s)
		return;
	if (!s->quiet)
		close_raw(s);
	sp_sampled_events_close(s->sampled);
	free(s->buffer);
	free(s->stack);
	free(s->io);
	free(s->mpi);
	free(s);
}

/* Gives up the rest of the part. */
static void damaged(struct sp_events *s, const char *what)
{
	struct sp_raw_part *p = &s->raw->parts[s->thread->events.first + s->part - 1];

	if (!s->quiet && !p->reported)
		sp_model_problem(s->m, "%s at 0x%" PRIx64 ": %s; %zu words of the trace are skipped", s->raw->name,
		                 p->offset + sizeof(struct sp_raw_chunk) + (p->type == SP_RAW_EVENTS ? s->at * 8 : 0),
		                 what, s->n - s->at);
	if (!s->quiet)
		p->reported = true;
	s->at = s->n;
}

/* A process that still runs has recorded more since it was loaded. This is the end of the loaded events, not damage. */
static void too_late(struct sp_events *s)
{
	uint64_t now = s->place->end;

	if (s->thread->state_offset)
		memcpy(&now, s->raw->map + s->thread->state_offset + offsetof(struct sp_raw_location, last),
		       sizeof(now));
	/* the copy of a file has the state from before its events */
	if ((now > s->place->end || s->raw->bytes.copy) && s->raw->header.ended == SP_RAW_RUNNING)
		s->at = s->n;
	else
		damaged(s, "an event later than the end of its thread");
}

/* Returns 1 if there is a next part, 0 at the end, -1 on an error. */
static int next_part(struct sp_events *s, struct sp_err *e)
{
	struct sp_raw_part *p;

	if (!s->thread || s->part == s->thread->events.count)
		return 0;
	if (s->part > 0 && !s->stays)
		sp_raw_forget(s->raw, &s->raw->parts[s->thread->events.first + s->part - 1]);
	p = &s->raw->parts[s->thread->events.first + s->part++];
	s->at = s->n = 0;
	s->words = sp_raw_words(s->raw, p, &s->buffer, &s->n, e);
	if (!s->words) {
		if (e->code)
			return -1;
		damaged(s, e->text);
		s->n = s->at = 0;
		return 1;
	}
	if (!s->quiet && !sp_raw_is_whole(s->raw, p))
		sp_model_problem(s->m, "%s at 0x%" PRIx64 ": checksum of a chunk of the trace is wrong", s->raw->name,
		                 p->offset);
	if (p->base < s->ticks && s->part > 1)
		damaged(s, "the time goes back");
	else
		s->ticks = p->base;
	return 1;
}

static int push(struct sp_events *s, uint32_t region, struct sp_err *e)
{
	if (!sp_grow(&s->stack, s->depth, &s->stack_capacity, sizeof(*s->stack)))
		return sp_model_no_memory(e);
	s->stack[s->depth++] = region;
	return 0;
}

/* Handles a leave that is not of the innermost region: leaves the regions above its region, or drops it if the region
 * is not open. Returns whether the word has to be read again. */
static bool mismatch(struct sp_events *s, uint32_t region)
{
	size_t i;

	for (i = s->depth; i-- > 0;)
		if (s->stack[i] == region) {
			s->forced += s->depth - i - 1;
			s->keep = i + 1;
			return true;
		}
	s->dropped++;
	return false;
}

/* Decodes one of the values of a METRICS event; they have the time of the enter or leave that follows. */
static int metric(struct sp_events *s, uint32_t words, const uint64_t *payload, struct sp_event *out)
{
	if (words != s->source->n_sync)
		return -1;
	if (words == 0)
		return 0;
	out->kind = SP_EVENT_METRIC;
	out->id = s->source->sync[s->metric];
	out->u.uint = payload[s->metric];
	return 1;
}

static bool in_yielding(const struct sp_events *s)
{
	return s->depth && sp_region_yields(&s->m->regions[s->stack[s->depth - 1]]);
}

/* Returns the number of events, 0 or 1, or SP_EVENTS_AGAIN; -1: damage. */
static int extra(struct sp_events *s, uint32_t id, struct sp_event *out)
{
	static const unsigned char need[] = {
	    [SP_RAW_X_TIME] = 1,           [SP_RAW_X_COUNTER] = 2,          [SP_RAW_X_PARAMETER_INT] = 2,
	    [SP_RAW_X_PARAMETER_UINT] = 2, [SP_RAW_X_PARAMETER_STRING] = 2, [SP_RAW_X_MARKER] = 1,
	    [SP_RAW_X_LOST] = 1,           [SP_RAW_X_OFF_CPU] = 1};
	uint32_t what = id & 0xff, words = id >> 8 & 0xff;
	const uint64_t *payload = s->words + s->at + 1;

	if (words > s->n - s->at - 1 || (what < sizeof(need) && words < need[what]))
		return -1;
	*out = (struct sp_event){.id = 0};
	switch (what) {
	case SP_RAW_X_TIME:
		s->ticks += payload[0];
		return 0;
	case SP_RAW_X_COUNTER:
	case SP_RAW_X_PARAMETER_INT:
	case SP_RAW_X_PARAMETER_UINT:
	case SP_RAW_X_PARAMETER_STRING:
	case SP_RAW_X_MARKER:
		return sp_events_user(s, what, payload, out);
	case SP_RAW_X_OFF:
		if (s->n_waits) {
			sp_events_end_wait(s, SP_WAIT_UNSEEN, out);
			return SP_EVENTS_AGAIN;
		}
		out->kind = SP_EVENT_OFF;
		return 1;
	case SP_RAW_X_ON:
		out->kind = SP_EVENT_ON;
		return 1;
	case SP_RAW_X_LOST:
		out->kind = SP_EVENT_LOST;
		out->u.uint = payload[0];
		return 1;
	case SP_RAW_X_METRICS:
		return metric(s, words, payload, out);
	case SP_RAW_X_OFF_CPU:
		out->kind = SP_EVENT_OFF_CPU;
		out->id = payload[0] & SP_RAW_OFF_CPU_PREEMPTED && !in_yielding(s) ? SP_OFF_CPU_PREEMPTED
		                                                                   : SP_OFF_CPU_WAITING;
		out->u.uint = payload[0] >> SP_RAW_OFF_CPU_SHIFT;
		return 1;
	default:
		if (what >= SP_RAW_X_MPI_SEND && what <= SP_RAW_X_RMA_LOCK)
			return sp_events_mpi(s, what, words, payload, out);
		if (what >= SP_RAW_X_IO_CREATE && what <= SP_RAW_X_IO_DELETE)
			return sp_events_io(s, what, words, payload, out);
		if (what >= SP_RAW_X_THREAD_CREATE && what <= SP_RAW_X_HANDOVER)
			return sp_events_task(s, what, words, payload, out);
		if (what >= SP_RAW_X_WAIT_BEGIN && what <= SP_RAW_X_LOCK_RELEASE)
			return sp_events_wait(s, what, words, payload, out);
		return what ? 0 : -1; /* an event of a later minor version: only its length is known */
	}
}

/* Converts ticks to ns, limited to `ns` ≤ time ≤ `end`. */
static inline uint64_t ns_at(const struct sp_clock *c, uint64_t at, uint64_t ns, uint64_t end)
{
	const int64_t ticks = (int64_t)(at - c->first);
	const double since = ticks > 0 ? (double)ticks * c->ns : 0;
	uint64_t is = c->offset + (uint64_t)(int64_t)(since < 0x1p62 ? since : 0x1p62);

	is = is < end ? is : end;
	return is > ns ? is : ns;
}

static inline uint64_t to_ns(struct sp_events *s, uint64_t at)
{
	return s->ns = ns_at(&s->source->clock, at, s->ns, s->end);
}

/* Decodes the rare kinds of words. Returns the number of events, 0 or 1. */
static int other(struct sp_events *s, uint64_t w, struct sp_event *out)
{
	uint32_t id = (uint32_t)(w >> SP_RAW_KIND_BITS) & SP_RAW_ID_MAX;
	uint64_t ticks = s->ticks, next = 0;
	const uint64_t before = s->ns;
	int made;

	if (w == 0) {
		s->at = s->n; /* the end of the recorded words */
		return 0;
	}
	if ((w & 7) != SP_RAW_EXTRA) {
		damaged(s, "an event of unknown kind");
		return 0;
	}
	made = s->ticks > s->place->end ? 0 : extra(s, id, out);
	if (made < 0) {
		s->metric = 0;
		damaged(s, "an event that is not complete or names what is not defined");
		return 0;
	}
	if (s->ticks > s->place->end) {
		too_late(s);
		return 0;
	}
	if (made && out->kind == SP_EVENT_METRIC) {
		if (s->at + 1 + s->source->n_sync < s->n)
			next = s->words[s->at + 1 + s->source->n_sync];
		if ((next & 7) - 1 < SP_RAW_INHERIT)
			ticks += next >> SP_RAW_DELTA_SHIFT;
		out->time = to_ns(s, ticks);
		if (++s->metric < s->source->n_sync) {
			s->ticks -= w >> SP_RAW_DELTA_SHIFT; /* the word is read again */
			return 1;
		}
		s->metric = 0;
	}
	if (made) /* the time of a record without an event is not that of the previous event */
		out->time = to_ns(s, ticks);
	if (made)
		sp_events_limit_off_cpu(s, before, out);
	if (made == SP_EVENTS_AGAIN) {
		s->ticks -= w >> SP_RAW_DELTA_SHIFT;
		return 1;
	}
	s->at += 1 + (id >> 8 & 0xff);
	return made;
}

/* Reads words until one makes an event or the part ends. Returns the number of events, or -1. */
static inline int one(struct sp_events *s, struct sp_event *out, struct sp_err *e)
{
	uint64_t w = s->words[s->at];
	unsigned kind = w & 7;
	uint32_t region;

	s->ticks += w >> SP_RAW_DELTA_SHIFT;
	if (kind - 1u >= SP_RAW_INHERIT)
		return other(s, w, out);
	if (s->ticks > s->place->end) {
		too_late(s);
		return 0;
	}
	region = sp_events_id(&s->source->regions, w >> SP_RAW_KIND_BITS & SP_RAW_ID_MAX);
	if (region-- == 0) {
		damaged(s, "an event of a region that is not defined");
		return 0;
	}
	if (kind == SP_RAW_LEAVE || kind == SP_RAW_SUSPEND) {
		if (sp_events_waits(s)) {
			sp_events_end_wait(s, SP_WAIT_UNSEEN, out);
			out->time = to_ns(s, s->ticks);
			s->ticks -= w >> SP_RAW_DELTA_SHIFT;
			return 1;
		}
		if (s->depth == 0 || s->stack[s->depth - 1] != region) {
			if (mismatch(s, region))
				s->ticks -= w >> SP_RAW_DELTA_SHIFT;
			else
				s->at++;
			return 0;
		}
		s->depth--;
	} else if (s->depth < s->stack_capacity) {
		s->stack[s->depth++] = region;
	} else if (push(s, region, e)) {
		return -1;
	}
	s->at++;
	out->time = to_ns(s, s->ticks);
	out->kind = sp_events_kinds[kind];
	out->id = region;
	out->u.uint = 0;
	return 1;
}

/* Whether a region has to be left or a wait ended before the next word is read. */
static bool must_leave(const struct sp_events *s)
{
	return s->depth > s->keep || (s->keep == 0 && s->n_waits);
}

static struct sp_event leave_top(struct sp_events *s)
{
	struct sp_event out = {.time = s->ns};

	if (sp_events_waits(s)) {
		sp_events_end_wait(s, s->keep ? SP_WAIT_UNSEEN : SP_WAIT_OPEN, &out);
	} else {
		out.kind = SP_EVENT_LEAVE;
		out.id = s->stack[--s->depth];
		out.u.uint = s->keep == 0;
	}
	return out;
}

static void report_mismatches(struct sp_events *s)
{
	if (s->forced + s->dropped == 0 || s->quiet || s->place->reported)
		return;
	s->place->reported = true;
	sp_model_problem(s->m,
	                 "%s: in the trace of location %" PRIu32 " %" PRIu64 " regions were never left and %" PRIu64
	                 " never entered",
	                 s->raw->name, s->thread->state.id, s->forced, s->dropped);
}

/* Begins to leave the regions that are still open after the last word. Returns the number of events, 0 or 1: the time
 * in which the location waited since the last word. */
static int at_end(struct sp_events *s, struct sp_event *out)
{
	const uint64_t since = s->ns;

	if (s->end > s->ns)
		s->ns = s->end;
	s->keep = 0;
	report_mismatches(s);
	if (!s->place->waiting || s->depth == 0 || s->ns == since)
		return 0;
	*out = (struct sp_event){.time = s->ns, .kind = SP_EVENT_OFF_CPU, .id = SP_OFF_CPU_WAITING};
	out->u.uint = s->place->waiting < s->ns - since ? s->place->waiting : s->ns - since;
	return 1;
}

bool sp_events_position(const struct sp_events *s, struct sp_events_position *place)
{
	*place = (struct sp_events_position){s->ticks, s->ns, s->part, s->at};
	return s->keep == SIZE_MAX && s->metric == 0 && !s->again && s->n_waits == 0 && s->ns != s->gil_ns;
}

uint32_t *sp_events_seek(struct sp_events *s, const struct sp_events_position *place, size_t n, struct sp_err *e)
{
	uint32_t *larger;

	if (n >= s->stack_capacity) {
		larger = realloc(s->stack, (n * 2 + 64) * sizeof(*larger));
		if (!larger) {
			sp_model_no_memory(e);
			return NULL;
		}
		s->stack = larger;
		s->stack_capacity = n * 2 + 64;
	}
	if (s->part != place->part || !s->words) {
		s->part = s->at = s->n = 0;
		if (place->part > 0 && s->thread && place->part <= s->thread->events.count) {
			s->part = place->part - 1;
			if (next_part(s, e) < 0)
				return NULL;
		}
	}
	if (place->part != s->part || place->at > s->n) {
		sp_fail(e, 0, "%s: changed while it was read", s->raw ? s->raw->name : "the trace");
		return NULL;
	}
	s->ticks = place->ticks;
	s->ns = place->ns;
	s->at = place->at;
	s->keep = SIZE_MAX;
	s->metric = 0;
	s->again = s->gil = false;
	s->gil_ns = UINT64_MAX;
	s->n_waits = 0;
	s->depth = n;
	return s->stack;
}

/* Makes room for the additional fields of n events. */
static int reserve(struct sp_events *s, size_t n, struct sp_err *e)
{
	struct sp_io *io;
	struct sp_mpi *mpi;

	s->n_io = s->n_mpi = 0;
	if (s->io_capacity <= n && s->source->has_io) {
		io = realloc(s->io, (n + 1) * sizeof(*io));
		if (!io)
			return sp_model_no_memory(e);
		s->io = io;
		s->io_capacity = n + 1;
	}
	if (s->mpi_capacity <= n && s->source->has_mpi) {
		mpi = realloc(s->mpi, (n + 1) * sizeof(*mpi));
		if (!mpi)
			return sp_model_no_memory(e);
		s->mpi = mpi;
		s->mpi_capacity = n + 1;
	}
	return 0;
}

struct reading {
	struct sp_events *s;
	struct sp_event *out;
	size_t wanted, n; /* number of events */
	struct sp_err *e;
};

static int read_events(void *arg)
{
	struct reading *r = arg;
	struct sp_events *s = r->s;
	const size_t n = r->wanted;
	size_t k = 0;
	long read;
	int rc;

	if (s->sampled) {
		read = sp_sampled_events_read(s->sampled, r->out, n, r->e);
		r->n = read > 0 ? (size_t)read : 0;
		return read < 0 ? -1 : 0;
	}
	if (reserve(s, n, r->e))
		return -1;
	while (k < n) {
		if (s->keep != SIZE_MAX) {
			while (k < n && must_leave(s))
				r->out[k++] = leave_top(s);
			if (k == n || s->keep == 0)
				break;
			s->keep = SIZE_MAX;
		}
		while (k < n && s->at < s->n && s->keep == SIZE_MAX) {
			if (s->n_waits == 0)
				k += sp_events_plain(s, &r->out[k], n - k);
			if (k == n || s->at == s->n)
				break;
			rc = one(s, &r->out[k], r->e);
			if (rc < 0)
				return -1;
			k += (size_t)rc;
		}
		if (k == n || s->at < s->n)
			continue;
		rc = next_part(s, r->e);
		if (rc < 0)
			return -1;
		if (rc == 0)
			k += (size_t)at_end(s, &r->out[k]);
	}
	r->n = k;
	return 0;
}

/* All reading of events passes through here, guarded: if another process truncates the raw file, the reader gets an
 * error. */
long sp_events_read(struct sp_events *s, struct sp_event *out, size_t n, struct sp_err *e)
{
	struct reading r = {s, out, n, 0, e};

	if (sp_guarded(read_events, &r, e) == 0)
		return (long)r.n;
	return e->code == EIO ? sp_fail_in(e, "%s", s->raw ? s->raw->name : "raw") : -1;
}
