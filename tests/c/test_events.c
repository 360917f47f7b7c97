/* SPDX-License-Identifier: BSD-3-Clause */
/* Invalid traces, extra events, and compressed chunks. */
#include "check.h"
#include "model/event.h"
#include "model/model.h"
#include "scratch.h"

#ifdef SP_HAVE_ZSTD
#include <zstd.h>
#endif

#define WORD(delta, id, kind) ((uint64_t)(delta) << SP_RAW_DELTA_SHIFT | (uint64_t)(id) << SP_RAW_KIND_BITS | (kind))

static struct rg_process *process(struct rg_thread **t)
{
	struct rg_process *p = rg_process(10, 1, 0, true);

	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	rg_region(p, 2, 0, "m", "g", "/m.py", 9);
	rg_define(p, SP_RAW_DEF_COUNTER, 4, "sent");
	rg_define(p, SP_RAW_DEF_PARAMETER, 0, "n");
	rg_define(p, SP_RAW_DEF_STRING, 3, "here");
	*t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 0);
	/* the profile, to which words written directly do not add */
	rg_node(*t, 0, 1);
	rg_node(*t, 0, 2);
	return p;
}

static struct sp_model *load(struct rg_process *p)
{
	const char *dir = scratch_experiment();

	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 1000);
	return scratch_load(dir, 0);
}

static long read_some(struct sp_model *m, struct sp_event *ev, size_t capacity, size_t at_once)
{
	struct sp_events *s;
	struct sp_err e;
	size_t n = 0;
	long k;

	MUST(sp_events_open(&s, m, 0, &e) == 0);
	while (n + at_once <= capacity && (k = sp_events_read(s, ev + n, at_once, &e)) > 0)
		n += (size_t)k;
	sp_events_close(s);
	return (long)n;
}

static void test_extras(void)
{
	struct rg_thread *t;
	struct rg_process *p = process(&t);
	struct sp_event ev[32];
	struct sp_model *m;

	rg_enter(t, 10, 1);
	rg_counter(t, 20, 4, -2.5);
	rg_counter(t, 20, 4, 0);
	rg_extra(t, 30, SP_RAW_X_PARAMETER_INT, (uint64_t[]){0, (uint64_t)-7}, 2);
	rg_extra(t, 40, SP_RAW_X_PARAMETER_STRING, (uint64_t[]){0, 3}, 2);
	rg_extra(t, 50, SP_RAW_X_MARKER, (uint64_t[]){3}, 1);
	rg_extra(t, 60, SP_RAW_X_LOST, (uint64_t[]){12}, 1);
	rg_extra(t, 60, (enum sp_raw_extra)77, (uint64_t[]){1, 2, 3}, 3); /* of a later version */
	rg_leave(t, 70);
	m = load(p);
	MUST(read_some(m, ev, 32, 1) == 8);
	CHECK(ev[1].kind == SP_EVENT_COUNTER && ev[1].u.real == -2.5 && ev[1].time == 20 &&
	      strcmp(m->counters[ev[1].id].p, "sent") == 0);
	CHECK(ev[2].u.real == 0);
	CHECK(ev[3].kind == SP_EVENT_PARAMETER_INT && ev[3].u.sint == -7);
	CHECK(ev[4].kind == SP_EVENT_PARAMETER_STRING && strcmp(m->strings[ev[4].u.string].p, "here") == 0);
	CHECK(ev[5].kind == SP_EVENT_MARKER && strcmp(m->strings[ev[5].id].p, "here") == 0);
	CHECK(ev[6].kind == SP_EVENT_LOST && ev[6].u.uint == 12);
	CHECK(ev[7].kind == SP_EVENT_LEAVE && ev[7].time == 70);
	CHECK(m->n_problems == 0);
	sp_model_free(m);
}

/* Off-CPU time: after a long time, which has a separate record; more than there is; at the end of the thread. */
static void test_off_cpu(void)
{
	struct rg_thread *t;
	struct rg_process *p = process(&t);
	struct sp_event ev[32];
	struct sp_model *m;

	rg_enter(t, 10, 1);
	rg_word(t, WORD(0, SP_RAW_X_TIME | 1 << 8, SP_RAW_EXTRA));
	rg_word(t, 400);
	rg_word(t, WORD(90, SP_RAW_X_OFF_CPU | 1 << 8, SP_RAW_EXTRA));
	rg_word(t, 450 << 1);
	rg_word(t, WORD(0, 1, SP_RAW_LEAVE));
	rg_word(t, WORD(100, SP_RAW_X_OFF_CPU | 1 << 8, SP_RAW_EXTRA));
	rg_word(t, 1000 << 1 | 1);
	rg_location(t)->last = 600;
	m = load(p);
	MUST(read_some(m, ev, 32, 1) == 4);
	CHECK(ev[1].kind == SP_EVENT_OFF_CPU && ev[1].time == 500 && ev[1].u.uint == 450 &&
	      ev[1].id == SP_OFF_CPU_WAITING);
	CHECK(ev[2].kind == SP_EVENT_LEAVE && ev[2].time == 500);
	CHECK(ev[3].kind == SP_EVENT_OFF_CPU && ev[3].time == 600 && ev[3].u.uint == 100 &&
	      ev[3].id == SP_OFF_CPU_PREEMPTED);
	CHECK(m->n_problems == 0);
	sp_model_free(m);
}

/* f entered, g entered, f left without g, g left without an enter. */
static void test_unbalanced(void)
{
	struct rg_thread *t;
	struct rg_process *p = process(&t);
	struct sp_event ev[32];
	struct sp_model *m;

	rg_word(t, WORD(10, 1, SP_RAW_ENTER));
	rg_word(t, WORD(10, 2, SP_RAW_ENTER));
	rg_word(t, WORD(10, 1, SP_RAW_LEAVE));
	rg_word(t, WORD(10, 2, SP_RAW_LEAVE));
	rg_word(t, WORD(10, 2, SP_RAW_ENTER));
	rg_location(t)->last = 50;
	m = load(p);
	MUST(read_some(m, ev, 32, 3) == 6);
	CHECK(ev[2].kind == SP_EVENT_LEAVE && ev[2].id == ev[1].id && ev[2].time == 20);
	CHECK(ev[3].kind == SP_EVENT_LEAVE && ev[3].id == ev[0].id && ev[3].time == 30);
	CHECK(ev[4].kind == SP_EVENT_ENTER && ev[4].time == 50 && ev[5].kind == SP_EVENT_LEAVE && ev[5].time == 1000);
	CHECK(m->n_problems == 1 && strstr(m->problems[0].text.p, "1 regions were never left and 1 never entered"));
	read_some(m, ev, 32, 3); /* reported once */
	CHECK(m->n_problems == 1);
	sp_model_free(m);
}

static void expect_skipped(uint64_t word, const char *text)
{
	struct rg_thread *t;
	struct rg_process *p = process(&t);
	struct sp_event ev[32];
	struct sp_model *m;

	rg_word(t, WORD(10, 1, SP_RAW_ENTER));
	rg_word(t, word);
	rg_word(t, WORD(10, 1, SP_RAW_LEAVE));
	rg_location(t)->last = 500;
	m = load(p);
	CHECK(read_some(m, ev, 32, 4) == 2 && ev[1].time == 1000);
	CHECK(m->n_problems == 1 && strstr(m->problems[0].text.p, text) &&
	      strstr(m->problems[0].text.p, "raw/a.raw at 0x"));
	sp_model_free(m);
}

#ifdef SP_HAVE_ZSTD
/* Converts the EVENTS chunks of a file to EVENTSZ, in place. */
static void compress_events(unsigned char *bytes, size_t n)
{
	static unsigned char columns[1 << 20];
	struct sp_raw_chunk *c;
	uint64_t *w, words, i, high;
	unsigned char *out;
	size_t at;

	for (at = 4096; at < n; at += c->bytes) {
		c = (struct sp_raw_chunk *)(bytes + at);
		w = (uint64_t *)(c + 1);
		if (c->type != SP_RAW_EVENTS)
			continue;
		words = c->used;
		if (words == 0)
			for (words = (c->bytes - sizeof(*c)) / 8; words > 0 && w[words - 1] == 0; words--)
				;
		memcpy(columns, &words, 8);
		out = columns + 8 + 4 * words;
		for (i = 0; i < words; i++) {
			uint32_t low = (uint32_t)(w[i] & ((UINT64_C(1) << SP_RAW_DELTA_SHIFT) - 1));

			memcpy(columns + 8 + 4 * i, &low, 4);
			for (high = w[i] >> SP_RAW_DELTA_SHIFT; high >= 128; high >>= 7)
				*out++ = (unsigned char)(high | 128);
			*out++ = (unsigned char)high;
		}
		c->used = ZSTD_compress(w, c->bytes - sizeof(*c), columns, (size_t)(out - columns), 1);
		MUST(!ZSTD_isError(c->used));
		c->type = SP_RAW_EVENTSZ;
	}
}

static void test_compressed(void)
{
	const char *dir = scratch_experiment();
	struct rg_thread *t;
	struct rg_process *p = process(&t);
	struct sp_model *m;
	unsigned char *bytes;
	uint64_t now = 0;
	size_t n, i;

	for (i = 0; i < 20000; i++) {
		rg_enter(t, now += 1000, 1 + i % 2);
		rg_counter(t, now += 5, 4, (double)i / 3);
		rg_leave(t, now += i % 1000 ? 100 : SP_RAW_DELTA_MAX + 7);
	}
	bytes = rg_bytes(p, SP_RAW_ENDED_NORMAL, now, &n);
	compress_events(bytes, n);
	scratch_bytes(dir, "a.raw", bytes, n);
	m = scratch_load(dir, 0);
	CHECK(scratch_events(m) == 60000 && m->n_problems == 0);
	CHECK(sp_events_count(m, 0) >= 60000);
	sp_model_free(m);
	for (i = 4096; i < n; i += 4096)
		if (((struct sp_raw_chunk *)(bytes + i))->magic == SP_RAW_CHUNK_MAGIC &&
		    ((struct sp_raw_chunk *)(bytes + i))->type == SP_RAW_EVENTSZ)
			bytes[i + 100] ^= 0x55;
	scratch_bytes(dir, "a.raw", bytes, n);
	m = scratch_load(dir, 0);
	scratch_events(m);
	CHECK(m->n_problems > 0);
	sp_model_free(m);
	free(bytes);
}
#endif

int main(void)
{
	test_extras();
	test_off_cpu();
	test_unbalanced();
	expect_skipped(WORD(10, 9, SP_RAW_ENTER), "region that is not defined");
	expect_skipped(WORD(10, 1, 7), "unknown kind");
	expect_skipped(WORD(10, SP_RAW_X_COUNTER | 2u << 8, SP_RAW_EXTRA), "not complete");
	expect_skipped(WORD(5000, 1, SP_RAW_LEAVE), "later than the end");
#ifdef SP_HAVE_ZSTD
	test_compressed();
#endif
	return check_failures != 0;
}
