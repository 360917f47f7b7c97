/* SPDX-License-Identifier: BSD-3-Clause */
/* Perfetto's format: a message Trace, whose packets are in sequences, here one for each thread. Common data of a
 * sequence are written once at its begin, names are written before their first use in it, and times are relative to the
 * previous packet: a call takes a packet of about 18 bytes, its return one of 11.
 * https://perfetto.dev/docs/reference/trace-packet-proto has the fields by their numbers.
 *
 * Packets of events have no sequence_flags: readers assume that a TrackEvent needs the state of its sequence. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/intern.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/bare.h"
#include "write/common/formats.h"
#include "write/common/packed.h"
#include "write/common/protobuf.h"
#include "write/common/scorep.h"
#include "write/timeline/perfetto_fields.h"
#include "write/timeline/timeline.h"

/* A function; `sequence` is the last one in which its name was written. */
struct function {
	uint32_t sequence;
	uint32_t id;
	uint8_t n;
	char enter[23]; /* the packet of a call, beginning with its event */
};

/* The notes of a function's code, which follow `enter`. They have at most 90 bytes, so that the packet stays below
 * 128. */
struct annotations {
	uint8_t n;
	char p[91];
};

/* Any other text; for each use the last sequence in which it was written, and its id. */
enum use { USE_CATEGORY, USE_NAME, USE_NOTE, USE_VALUE, USES };
struct text {
	uint32_t sequence[USES];
	uint32_t id[USES];
};

struct perfetto {
	struct sp_timeline t;
	struct sp_out out;
	struct sp_proto pack;
	struct sp_arena arena;
	struct function *functions;      /* owned */
	struct annotations *annotations; /* owned; for each region; NULL: no notes */
	struct sp_intern texts;
	struct text *known; /* owned; for each of the texts */
	size_t known_capacity;
	uint32_t sequence;
	uint32_t names, ids[USES];      /* number of ids in the sequence; names: of functions and others */
	char head[1 + SP_PROTO_VARINT]; /* the sequence's number as an encoded field */
	uint8_t head_n;
	bool ordered;  /* times are relative to the previous one */
	uint64_t last; /* ns since the model's begin */
	bool failed;   /* no memory */
};

/* ---- packets ---- */

/* Begins a packet that is not built in place. */
static size_t open_packet(struct perfetto *x)
{
	x->pack.n = 0;
	const size_t packet = sp_proto_open(&x->pack, TRACE_PACKET);
	sp_proto_uint(&x->pack, PACKET_SEQUENCE, x->sequence);
	return packet;
}

static void close_packet(struct perfetto *x, size_t packet)
{
	sp_proto_close(&x->pack, packet);
	if (x->pack.failed)
		x->failed = true;
	else
		sp_out_bytes(&x->out, x->pack.p, x->pack.n);
}

static void put_time(struct perfetto *x, uint64_t time)
{
	sp_proto_uint(&x->pack, PACKET_TIMESTAMP, x->ordered ? time - x->last : x->t.m->begin_ns + time);
	x->last = time;
}

static void put_clock(struct perfetto *x, uint32_t clock, uint64_t time, bool incremental)
{
	const size_t c = sp_proto_open(&x->pack, SNAPSHOT_CLOCK);

	sp_proto_uint(&x->pack, CLOCK_ID, clock);
	sp_proto_uint(&x->pack, CLOCK_TIME, time);
	if (incremental)
		sp_proto_uint(&x->pack, CLOCK_INCREMENTAL, 1);
	sp_proto_close(&x->pack, c);
}

/* ---- names ---- */

/* Writes a packet that defines an id in the sequence. */
static void define(struct perfetto *x, enum interned what, uint32_t id, struct sp_str text)
{
	const size_t packet = open_packet(x);

	sp_proto_uint(&x->pack, PACKET_FLAGS, FLAGS_NEEDS);
	const size_t data = sp_proto_open(&x->pack, PACKET_INTERNED);
	const size_t entry = sp_proto_open(&x->pack, what);
	sp_proto_uint(&x->pack, INTERNED_ID, id);
	sp_proto_text(&x->pack, INTERNED_TEXT, text);
	sp_proto_close(&x->pack, entry);
	sp_proto_close(&x->pack, data);
	close_packet(x, packet);
}

static struct text *text_of(struct perfetto *x, struct sp_str s)
{
	const uint32_t i = sp_intern(&x->texts, s.p, s.n);

	if (i == SP_INTERN_FAILED)
		return NULL;
	if (i >= x->known_capacity) {
		const size_t capacity = 2 * (size_t)i + 64;
		struct text *larger = realloc(x->known, capacity * sizeof *larger);
		if (!larger)
			return NULL;
		memset(larger + x->known_capacity, 0, (capacity - x->known_capacity) * sizeof *larger);
		x->known = larger;
		x->known_capacity = capacity;
	}
	return &x->known[i];
}

/* The id of a text in this use, which is defined at the first use. 0: no memory. */
static uint32_t id_of(struct perfetto *x, enum use use, struct sp_str s)
{
	static const enum interned fields[] = {INTERNED_CATEGORY, INTERNED_NAME, INTERNED_NOTE, INTERNED_VALUE};
	struct text *t = text_of(x, s);

	if (!t) {
		x->failed = true;
		return 0;
	}
	if (t->sequence[use] != x->sequence) {
		t->sequence[use] = x->sequence;
		t->id[use] = use == USE_NAME ? ++x->names : ++x->ids[use];
		define(x, fields[use], t->id[use], s);
	}
	return t->id[use];
}

static bool has_place(const struct sp_region *r)
{
	return r->file.n > 0;
}

/* Defines a function: its name and its source location have the same id. */
static void define_function(struct perfetto *x, const struct sp_region *r, uint32_t id)
{
	define(x, INTERNED_NAME, id, x->t.o->bare ? sp_bare_name(&x->arena, r) : r->name);
	if (!has_place(r))
		return;
	const size_t packet = open_packet(x);
	sp_proto_uint(&x->pack, PACKET_FLAGS, FLAGS_NEEDS);
	const size_t data = sp_proto_open(&x->pack, PACKET_INTERNED);
	const size_t place = sp_proto_open(&x->pack, INTERNED_PLACE);
	sp_proto_uint(&x->pack, INTERNED_ID, id);
	sp_proto_text(&x->pack, INTERNED_TEXT, r->file);
	sp_proto_text(&x->pack, PLACE_FUNCTION, r->qualname);
	if (r->line)
		sp_proto_uint(&x->pack, PLACE_LINE, r->line);
	sp_proto_close(&x->pack, place);
	sp_proto_close(&x->pack, data);
	close_packet(x, packet);
}

static char *put_small(char *p, unsigned field, uint64_t v)
{
	return sp_proto_varint(sp_proto_varint(p, field << 3), v);
}

/* Writes one note of an event; it has less than 128 bytes. */
static char *put_annotation(struct perfetto *x, char *p, const struct sp_note *note)
{
	char *begin = p;

	*p++ = (char)(EVENT_NOTE << 3 | 2);
	p++;
	p = put_small(p, NOTE_NAME_ID, id_of(x, USE_NOTE, note->name));
	if (note->kind == SP_NOTE_TEXT)
		p = put_small(p, NOTE_TEXT_ID, id_of(x, USE_VALUE, note->u.text));
	else if (note->kind == SP_NOTE_UINT)
		p = put_small(p, NOTE_UINT, note->u.uint);
	else
		p = put_small(p, NOTE_INT, (uint64_t)note->u.sint);
	begin[1] = (char)(p - begin - 2);
	return p;
}

static void annotate(struct perfetto *x, const struct sp_region *r, struct annotations *a)
{
	struct sp_notes notes = {.n = 0};
	char *p = a->p;

	sp_notes_code(&notes, r, true);
	for (size_t i = 0; i < notes.n; i++)
		p = put_annotation(x, p, &notes.all[i]);
	a->n = (uint8_t)(p - a->p);
}

__attribute__((noinline)) static void introduce(struct perfetto *x, uint32_t region)
{
	const struct sp_region *r = &x->t.m->regions[region];
	struct function *f = &x->functions[region];
	const uint32_t category = id_of(x, USE_CATEGORY, sp_text(sp_region_kind_names[r->kind]));
	char *p = f->enter;

	f->sequence = x->sequence;
	f->id = ++x->names;
	define_function(x, r, f->id);
	*p++ = (char)(PACKET_EVENT << 3 | 2);
	p++;
	p = put_small(p, EVENT_TYPE, TYPE_BEGIN);
	p = put_small(p, EVENT_NAME, f->id);
	p = put_small(p, EVENT_CATEGORY, category);
	if (has_place(r))
		p = put_small(p, EVENT_PLACE, f->id);
	f->enter[1] = (char)(p - f->enter - 2);
	f->n = (uint8_t)(p - f->enter);
	if (x->annotations)
		annotate(x, r, &x->annotations[region]);
}

/* ---- events ---- */

/* Writes the first bytes of a packet. end_event() sets its length, which is below 128. */
static inline char *begin_event(struct perfetto *x, uint64_t time)
{
	char *p = sp_out_reserve(&x->out, 160);

	*p++ = (char)(TRACE_PACKET << 3 | 2);
	p++;
	memcpy(p, x->head, sizeof x->head);
	p += x->head_n;
	*p++ = (char)(PACKET_TIMESTAMP << 3);
	p = sp_proto_varint(p, time - x->last);
	x->last = time;
	return p;
}

static inline void end_event(struct perfetto *x, char *end)
{
	char *begin = x->out.buf + x->out.n;

	begin[1] = (char)(end - begin - 2);
	x->out.n += (size_t)(end - begin);
}

static void enter_annotated(struct perfetto *x, uint64_t time, const struct function *f, const struct annotations *a)
{
	char *p = begin_event(x, time);

	memcpy(p, f->enter, f->n);
	memcpy(p + f->n, a->p, a->n);
	p[1] = (char)(p[1] + a->n);
	end_event(x, p + f->n + a->n);
}

static void enter(void *to, uint64_t time, uint32_t region)
{
	struct perfetto *x = to;
	const struct function *f = &x->functions[region];

	if (f->sequence != x->sequence)
		introduce(x, region);
	if (x->annotations && x->annotations[region].n) {
		enter_annotated(x, time, f, &x->annotations[region]);
		return;
	}
	char *p = begin_event(x, time);
	memcpy(p, f->enter, sizeof f->enter);
	end_event(x, p + f->n);
}

static void leave(void *to, uint64_t time)
{
	static const char event[] = {PACKET_EVENT << 3 | 2, 2, EVENT_TYPE << 3, TYPE_END};
	struct perfetto *x = to;
	char *p = begin_event(x, time);

	memcpy(p, event, sizeof event);
	end_event(x, p + sizeof event);
}

/* The id of a note's name; the second note of a name in a call is "bytes 2". */
static uint32_t note_id(struct perfetto *x, const struct sp_note *note)
{
	char number[16];

	if (note->nth <= 1)
		return id_of(x, USE_NOTE, note->name);
	const size_t n = (size_t)snprintf(number, sizeof number, " %u", note->nth);
	char *name = malloc(note->name.n + n);
	if (!name) {
		x->failed = true;
		return 0;
	}
	memcpy(mempcpy(name, note->name.p, note->name.n), number, n);
	const uint32_t id = id_of(x, USE_NOTE, (struct sp_str){name, note->name.n + n});
	free(name);
	return id;
}

static void put_note(struct perfetto *x, const struct sp_note *note)
{
	const uint32_t id = note_id(x, note);
	const size_t at = sp_proto_open(&x->pack, EVENT_NOTE);

	sp_proto_uint(&x->pack, NOTE_NAME_ID, id);
	if (note->kind == SP_NOTE_INT)
		sp_proto_uint(&x->pack, NOTE_INT, (uint64_t)note->u.sint);
	else if (note->kind == SP_NOTE_UINT)
		sp_proto_uint(&x->pack, NOTE_UINT, note->u.uint);
	else
		sp_proto_uint(&x->pack, NOTE_TEXT_ID, id_of(x, USE_VALUE, note->u.text));
	sp_proto_close(&x->pack, at);
}

static void put_name(struct perfetto *x, const struct sp_mark *mark, uint32_t name)
{
	if (mark->kind == SP_MARK_END)
		return;
	sp_proto_uint(&x->pack, EVENT_NAME, name);
	sp_proto_uint(&x->pack, EVENT_CATEGORY, id_of(x, USE_CATEGORY, sp_text(mark->category)));
	if (mark->also)
		sp_proto_uint(&x->pack, EVENT_CATEGORY, id_of(x, USE_CATEGORY, sp_text(mark->also)));
	if (mark->region != SP_NONE && has_place(&x->t.m->regions[mark->region]))
		sp_proto_uint(&x->pack, EVENT_PLACE, name);
}

/* Defines all names that the packet of the mark uses, in separate packets before it. */
static uint32_t say_names(struct perfetto *x, const struct sp_mark *mark)
{
	for (size_t i = 0; i < mark->n_notes; i++) {
		note_id(x, &mark->notes[i]);
		if (mark->notes[i].kind == SP_NOTE_TEXT)
			id_of(x, USE_VALUE, mark->notes[i].u.text);
	}
	if (mark->kind == SP_MARK_END)
		return 0;
	id_of(x, USE_CATEGORY, sp_text(mark->category));
	if (mark->also)
		id_of(x, USE_CATEGORY, sp_text(mark->also));
	if (mark->region == SP_NONE)
		return id_of(x, USE_NAME, mark->name);
	if (x->functions[mark->region].sequence != x->sequence)
		introduce(x, mark->region);
	return x->functions[mark->region].id;
}

/* Writes a slice of the thread without notes, such as a resumed call: generators have many. */
static void put_brief(struct perfetto *x, const struct sp_mark *mark, uint32_t name)
{
	const uint32_t category = id_of(x, USE_CATEGORY, sp_text(mark->category));
	const uint32_t also = mark->also ? id_of(x, USE_CATEGORY, sp_text(mark->also)) : 0;
	char *p = begin_event(x, mark->time), *event = p;

	*p++ = (char)(PACKET_EVENT << 3 | 2);
	p++;
	p = put_small(p, EVENT_TYPE, TYPE_BEGIN);
	p = put_small(p, EVENT_NAME, name);
	p = put_small(p, EVENT_CATEGORY, category);
	if (also)
		p = put_small(p, EVENT_CATEGORY, also);
	if (mark->region != SP_NONE && has_place(&x->t.m->regions[mark->region]))
		p = put_small(p, EVENT_PLACE, name);
	event[1] = (char)(p - event - 2);
	end_event(x, p);
}

static void put_mark(void *to, const struct sp_mark *mark)
{
	static const enum type types[] = {
	    [SP_MARK_BEGIN] = TYPE_BEGIN, [SP_MARK_END] = TYPE_END, [SP_MARK_INSTANT] = TYPE_INSTANT};
	struct perfetto *x = to;
	const uint32_t name = say_names(x, mark);

	if (mark->kind == SP_MARK_BEGIN && !mark->on && mark->n_notes + mark->n_flows == 0) {
		put_brief(x, mark, name);
		return;
	}
	const size_t packet = open_packet(x);
	put_time(x, mark->time);
	const size_t event = sp_proto_open(&x->pack, PACKET_EVENT);
	sp_proto_uint(&x->pack, EVENT_TYPE, types[mark->kind]);
	put_name(x, mark, name);
	if (mark->on)
		sp_proto_uint(&x->pack, EVENT_TRACK, mark->on->number);
	for (size_t i = 0; i < mark->n_notes; i++)
		put_note(x, &mark->notes[i]);
	for (size_t i = 0; i < mark->n_flows; i++)
		sp_proto_fixed(&x->pack, mark->flows[i].last ? EVENT_LAST_FLOW : EVENT_FLOW, mark->flows[i].id);
	sp_proto_close(&x->pack, event);
	close_packet(x, packet);
}

static void put_count(void *to, const struct sp_track *t, uint64_t time, double value)
{
	struct perfetto *x = to;
	uint64_t bits;

	if (!x->ordered)
		x->last = 0 - x->t.m->begin_ns; /* so that the time is relative to the epoch */
	char *p = begin_event(x, time), *event = p;

	memcpy(&bits, &value, sizeof bits);
	*p++ = (char)(PACKET_EVENT << 3 | 2);
	p++;
	p = put_small(p, EVENT_TYPE, TYPE_COUNTER);
	p = put_small(p, EVENT_TRACK, t->number);
	p = sp_proto_varint(p, EVENT_COUNT << 3 | 1);
	for (size_t i = 0; i < sizeof bits; i++)
		*p++ = (char)(bits >> 8 * i);
	event[1] = (char)(p - event - 2);
	end_event(x, p);
}

/* ---- tracks and sequences ---- */

static void put_process(struct perfetto *x, const struct sp_track *t)
{
	const struct sp_process *p = &x->t.m->processes[t->of];
	struct sp_str word;
	size_t at = 0;

	const size_t process = sp_proto_open(&x->pack, TRACK_PROCESS);
	sp_proto_uint(&x->pack, PROCESS_PID, x->t.pids[t->of]);
	while (sp_scorep_word(p->command, &at, &word))
		sp_proto_text(&x->pack, PROCESS_WORD, word);
	sp_proto_text(&x->pack, PROCESS_NAME, t->name);
	if (p->host.n)
		sp_proto_text(&x->pack, PROCESS_LABEL, p->host);
	if (p->end == SP_END_ABRUPT)
		sp_proto_text(&x->pack, PROCESS_LABEL, sp_text("killed or crashed"));
	sp_proto_close(&x->pack, process);
}

static void put_thread(struct perfetto *x, const struct sp_track *t)
{
	const size_t thread = sp_proto_open(&x->pack, TRACK_THREAD);

	sp_proto_uint(&x->pack, THREAD_PID, x->t.pids[t->process]);
	sp_proto_uint(&x->pack, THREAD_TID, x->t.tids[t->of]);
	sp_proto_text(&x->pack, THREAD_NAME, t->name);
	sp_proto_close(&x->pack, thread);
}

static void put_counter(struct perfetto *x, const struct sp_track *t)
{
	const struct sp_metric *metric = t->kind == SP_TRACK_METRIC ? &x->t.m->metrics[t->of] : NULL;

	sp_proto_text(&x->pack, TRACK_NAME, t->name);
	const size_t counter = sp_proto_open(&x->pack, TRACK_COUNTER);
	if (t->kind == SP_TRACK_HEAP ? sp_heap_series[t->of].bytes : metric && metric->kind == SP_METRIC_BYTES)
		sp_proto_uint(&x->pack, COUNTER_UNIT, UNIT_BYTES);
	else if (metric && metric->unit.n)
		sp_proto_text(&x->pack, COUNTER_UNIT_NAME, metric->unit);
	sp_proto_close(&x->pack, counter);
}

static void put_track(void *to, const struct sp_track *t)
{
	struct perfetto *x = to;
	const size_t packet = open_packet(x), track = sp_proto_open(&x->pack, PACKET_TRACK);

	sp_proto_uint(&x->pack, TRACK_UUID, t->number);
	if (t->parent)
		sp_proto_uint(&x->pack, TRACK_PARENT, t->parent);
	if (t->kind == SP_TRACK_PROCESS)
		put_process(x, t);
	else if (t->kind == SP_TRACK_THREAD)
		put_thread(x, t);
	else if (t->kind >= SP_TRACK_COUNTER)
		put_counter(x, t);
	else
		sp_proto_text(&x->pack, TRACK_NAME, t->name);
	sp_proto_close(&x->pack, track);
	close_packet(x, packet);
}

/* Writes the common data of the sequence's packets, and the offset of its clock to that of the trace: ns since the
 * epoch. */
static void begin_sequence(void *to, uint32_t location)
{
	struct perfetto *x = to;
	const struct sp_model *m = x->t.m;

	x->ordered = location != SP_NONE;
	x->last = x->ordered ? m->locations[location].begin : 0;
	x->sequence++;
	x->names = 0;
	memset(x->ids, 0, sizeof x->ids);
	x->head[0] = (char)(PACKET_SEQUENCE << 3);
	x->head_n = (uint8_t)(sp_proto_varint(x->head + 1, x->sequence) - x->head);

	const size_t packet = open_packet(x);
	sp_proto_uint(&x->pack, PACKET_FLAGS, FLAGS_CLEARED);
	sp_proto_uint(&x->pack, PACKET_FIRST, 1);
	const size_t defaults = sp_proto_open(&x->pack, PACKET_DEFAULTS);
	sp_proto_uint(&x->pack, PACKET_CLOCK, x->ordered ? CLOCK_OF_SEQUENCE : CLOCK_REALTIME_NS);
	if (x->ordered) {
		const size_t events = sp_proto_open(&x->pack, DEFAULTS_EVENT);
		sp_proto_uint(&x->pack, DEFAULTS_TRACK, sp_timeline_thread(&x->t, location).number);
		sp_proto_close(&x->pack, events);
	}
	sp_proto_close(&x->pack, defaults);
	const size_t snapshot = sp_proto_open(&x->pack, PACKET_CLOCK_SNAPSHOT);
	if (x->ordered)
		put_clock(x, CLOCK_OF_SEQUENCE, x->last, true);
	put_clock(x, CLOCK_REALTIME_NS, m->begin_ns + x->last, false);
	sp_proto_uint(&x->pack, SNAPSHOT_PRIMARY, CLOCK_REALTIME_NS);
	sp_proto_close(&x->pack, snapshot);
	close_packet(x, packet);
}

static const struct sp_timeline_sink sink = {put_track, begin_sequence, enter, leave, put_mark, put_count};

static bool is_annotated(const struct sp_model *m)
{
	bool any = false;

	for (size_t i = 0; i < m->n_regions && !any; i++)
		any = m->regions[i].code.recorded;
	return any;
}

static int send(struct perfetto *x, const char *path, struct sp_err *e)
{
	x->texts.arena = &x->arena;
	x->functions = calloc(x->t.m->n_regions + 1, sizeof *x->functions);
	if (!x->functions ||
	    (is_annotated(x->t.m) && !(x->annotations = calloc(x->t.m->n_regions + 1, sizeof *x->annotations))))
		return sp_fail(e, ENOMEM, "out of memory");
	if (sp_packed_open(&x->out, path, e))
		return -1;
	int rc = sp_timeline_send(&x->t, &sink, x);
	if (rc == 0 && x->failed)
		rc = sp_fail(e, ENOMEM, "out of memory");
	return sp_out_close(&x->out, rc, e);
}

int sp_write_perfetto(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct perfetto *x = calloc(1, sizeof *x);

	if (!x)
		return sp_fail(e, ENOMEM, "out of memory");
	int rc = sp_timeline_open(&x->t, m, o, e);
	if (rc == 0)
		rc = send(x, path, e);
	sp_timeline_close(&x->t);
	free(x->functions);
	free(x->annotations);
	free(x->known);
	free(x->pack.p);
	sp_intern_free(&x->texts);
	sp_arena_free(&x->arena);
	free(x);
	return rc;
}
