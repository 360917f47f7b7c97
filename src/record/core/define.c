/* SPDX-License-Identifier: BSD-3-Clause */
/* Definition records, and the ids of names given by the user. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/buffer.h"
#include "record/definitions.h"
#include "record/process.h"

enum { DEFS_CHUNK = 16 << 10 };

/* with the process lock held */
static struct sp_raw_chunk *reserve_defs(uint64_t bytes)
{
	struct sp_raw_chunk *c = sp_process.n_defs ? sp_process.defs[sp_process.n_defs - 1] : NULL;
	if (c && c->bytes - sizeof *c - c->used >= bytes)
		return c;
	struct sp_raw_chunk **more = realloc(sp_process.defs, (sp_process.n_defs + 1) * sizeof(struct sp_raw_chunk *));
	if (!more)
		return NULL;
	sp_process.defs = more;
	const uint32_t seq = (uint32_t)sp_process.n_defs;
	uint64_t want = bytes + sizeof *c > DEFS_CHUNK ? bytes + sizeof *c : DEFS_CHUNK;
	c = sp_buffer_chunk(SP_RAW_DEFS, NULL, want, seq, 0);
	if (!c && want == DEFS_CHUNK)
		c = sp_buffer_chunk(SP_RAW_DEFS, NULL, bytes + sizeof *c, seq, 0);
	if (!c)
		return NULL;
	sp_process.defs[sp_process.n_defs++] = c;
	return c;
}

static char *defined; /* the first text of the record made last; under the process lock */

static int define_locked(unsigned kind, unsigned flags, uint32_t a, uint32_t b, const struct sp_text *text, int n)
{
	struct sp_raw_def d = {.kind = (uint16_t)kind, .flags = (uint16_t)flags, .a = a, .b = b};
	uint64_t bytes = sizeof d;
	if (sp_process.pid != getpid())
		return -ECHILD; /* sp_process_is_foreign() */
	for (int i = 0; i < n; i++) {
		d.len[i] = (uint32_t)text[i].n;
		bytes += text[i].n;
	}
	bytes = (bytes + 7) & ~UINT64_C(7);
	if (bytes > UINT32_MAX / 2)
		return -E2BIG;
	d.bytes = (uint32_t)bytes;
	/* clears the checksums, that of the header first: a late thread may define something after the end */
	__atomic_store_n(&sp_process.header->sum, 0, __ATOMIC_RELEASE);
	struct sp_raw_chunk *c = reserve_defs(bytes);
	if (!c)
		return -ENOSPC;
	__atomic_store_n(&c->words, 0, __ATOMIC_RELEASE);
	char *to = (char *)(c + 1) + c->used;
	memcpy(to, &d, sizeof d);
	to += sizeof d;
	defined = to;
	for (int i = 0; i < n; i++) {
		if (text[i].n) /* p may be NULL */
			memcpy(to, text[i].p, text[i].n);
		to += text[i].n;
	}
	/* readers see the record only when it is complete */
	__atomic_store_n(&c->used, c->used + bytes, __ATOMIC_RELEASE);
	return 0;
}

int sp_define(unsigned kind, unsigned flags, uint32_t a, uint32_t b, const struct sp_text *text, int n)
{
	pthread_mutex_lock(&sp_process.lock);
	int r = sp_process.header ? define_locked(kind, flags, a, b, text, n) : -ENOENT;
	pthread_mutex_unlock(&sp_process.lock);
	return r;
}

void *sp_define_live(unsigned kind, unsigned flags, uint32_t a, uint32_t b, const struct sp_text *text, int n)
{
	pthread_mutex_lock(&sp_process.lock);
	void *at = sp_process.header && !define_locked(kind, flags, a, b, text, n) ? defined : NULL;
	pthread_mutex_unlock(&sp_process.lock);
	return at;
}

static uint32_t region_locked(const struct sp_text *text, uint32_t line, unsigned flags)
{
	struct sp_raw_header *h = sp_process.header;
	if (sp_process.n_regions >= SP_RAW_ID_MAX ||
	    define_locked(SP_RAW_DEF_REGION, flags, sp_process.n_regions + 1, line, text, 3)) {
		sp_process_count(&h->lost_regions, 1);
		return 0;
	}
	h->regions = ++sp_process.n_regions;
	return sp_process.n_regions;
}

static bool define_fixed(const char *name, uint32_t id)
{
	const struct sp_text text[3] = {{"", 0}, {name, strlen(name)}, {"", 0}};
	return region_locked(text, 0, SP_RAW_REGION_COLLAPSED) == id;
}

bool sp_define_fixed(void)
{
	return define_fixed("(call paths beyond the memory limit)", SP_REGION_COLLAPSED_ID) &&
	       (!sp_process.settings.profile_depth || define_fixed("COLLAPSED", SP_REGION_DEEPER_ID));
}

uint32_t sp_define_region(struct sp_text module, struct sp_text name, struct sp_text file, uint32_t line,
                          unsigned flags)
{
	const struct sp_text text[3] = {module, name, file};
	pthread_mutex_lock(&sp_process.lock);
	uint32_t id = sp_process.header ? region_locked(text, line, flags) : 0;
	pthread_mutex_unlock(&sp_process.lock);
	return id;
}

int sp_define_metric(const char *name, const char *unit, int exponent, const char *what, unsigned flags)
{
	const struct sp_text text[3] = {{name, strlen(name)}, {unit, strlen(unit)}, {what, strlen(what)}};
	if (sp_define(SP_RAW_DEF_METRIC, flags, sp_process.n_columns, (uint32_t)exponent, text, 3))
		return -1;
	if (!(flags & SP_RAW_METRIC_EXCLUSIVE))
		sp_process.n_sync++;
	return (int)sp_process.n_columns++;
}

void sp_define_meta(const char *key, const char *value, size_t n)
{
	const struct sp_text text[2] = {{key, strlen(key)}, {value, n}};
	sp_define(SP_RAW_DEF_META, 0, 0, 0, text, 2);
}

/* ---- names given by the user: an open-addressed table of copies ---- */

/* A name of one kind and its id. */
struct name {
	char *p; /* owned; NULL: free */
	size_t n;
	uint64_t hash;
	uint32_t kind, id;
};
static struct name *names; /* owned */
static size_t names_size, names_used;
static uint32_t last_id[8];

static uint64_t hash_of(unsigned kind, const char *p, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ kind;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}

static struct name *find(unsigned kind, const char *p, size_t n, uint64_t hash)
{
	size_t i = hash & (names_size - 1);
	while (names[i].p &&
	       !(names[i].hash == hash && names[i].kind == kind && names[i].n == n && !memcmp(names[i].p, p, n)))
		i = (i + 1) & (names_size - 1);
	return &names[i];
}

static int names_grow(void)
{
	size_t old_size = names_size;
	struct name *old = names, *fresh = calloc(old_size ? old_size * 2 : 256, sizeof *fresh);
	if (!fresh)
		return -ENOMEM;
	names = fresh;
	names_size = old_size ? old_size * 2 : 256;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].p)
			*find(old[i].kind, old[i].p, old[i].n, old[i].hash) = old[i];
	free(old);
	return 0;
}

/* Stores a copy of the name with an id. Returns the id; 0 if there is no memory or the id is 0. */
static uint32_t name_keep(struct name *e, unsigned kind, const char *p, size_t n, uint64_t hash, uint32_t id)
{
	char *copy = id ? malloc(n + 1) : NULL;
	if (!copy)
		return 0;
	memcpy(copy, p, n);
	copy[n] = 0;
	*e = (struct name){copy, n, hash, kind, id};
	names_used++;
	return id;
}

static bool names_ready(void)
{
	return sp_process.header && (names_used * 2 < names_size || !names_grow());
}

static uint32_t name_define(unsigned kind, const char *p, size_t n)
{
	const struct sp_text text = {p, n};
	uint32_t id = ++last_id[kind & 7];
	return id > SP_RAW_ID_MAX || define_locked(kind, 0, id, 0, &text, 1) ? 0 : id;
}

uint32_t sp_define_name(unsigned kind, const char *p, size_t n)
{
	uint64_t hash = hash_of(kind, p, n);
	uint32_t id = 0;
	pthread_mutex_lock(&sp_process.lock);
	if (names_ready()) {
		struct name *e = find(kind, p, n, hash);
		id = e->p ? e->id : name_keep(e, kind, p, n, hash, name_define(kind, p, n));
	}
	pthread_mutex_unlock(&sp_process.lock);
	return id;
}

/* ---- user regions and values of parameters: regions that are found by a text ---- */

uint32_t sp_define_find(unsigned kind, const char *key, size_t n)
{
	uint64_t hash = hash_of(kind, key, n);
	pthread_mutex_lock(&sp_process.lock);
	uint32_t id = names_size ? find(kind, key, n, hash)->id : 0;
	pthread_mutex_unlock(&sp_process.lock);
	return id;
}

uint32_t sp_define_keyed(unsigned kind, const char *key, size_t n, const struct sp_text text[3], uint32_t line,
                         unsigned flags)
{
	uint64_t hash = hash_of(kind, key, n);
	uint32_t id = 0;
	pthread_mutex_lock(&sp_process.lock);
	if (names_ready()) {
		struct name *e = find(kind, key, n, hash);
		id = e->id;
		if (!e->p)
			id = name_keep(e, kind, key, n, hash,
			               flags == SP_REGION_LEFT_OUT ? SP_REGION_LEFT_OUT
			                                           : region_locked(text, line, flags));
	}
	pthread_mutex_unlock(&sp_process.lock);
	return id;
}

void sp_define_forget(void)
{
	for (size_t i = 0; i < names_size; i++)
		free(names[i].p);
	free(names);
	names = NULL;
	names_size = names_used = 0;
	memset(last_id, 0, sizeof last_id);
	free(sp_process.defs);
	sp_process.defs = NULL;
	sp_process.n_defs = 0;
}

/* Whether a definition is valid only in the parent: the child numbers locations and tasks again, has other children
 * and has no rank. Communicators that the child uses all the same are defined again. */
static bool is_of_parent(const struct sp_raw_def *d, const char *text)
{
	static const char mpi[] = "mpi_", missing[] = "missing_mpi_", labels[] = SP_META_MISSING_LABELS,
	                  name[] = SP_META_NAME, entry[] = SP_META_ENTRY;
	switch (d->kind) {
	case SP_RAW_DEF_LOCATION_NAME:
	case SP_RAW_DEF_CHILD:
	case SP_RAW_DEF_TASK:
	case SP_RAW_DEF_COMM:
	case SP_RAW_DEF_WIN:
	case SP_RAW_DEF_GROUP:
	case SP_RAW_DEF_CART:
	case SP_RAW_DEF_CLOCK:
		return true;
	case SP_RAW_DEF_META:
		return (d->len[0] >= sizeof mpi - 1 && memcmp(text, mpi, sizeof mpi - 1) == 0) ||
		       (d->len[0] >= sizeof missing - 1 && memcmp(text, missing, sizeof missing - 1) == 0) ||
		       (d->len[0] == sizeof labels - 1 && memcmp(text, labels, sizeof labels - 1) == 0) ||
		       (d->len[0] == sizeof name - 1 && memcmp(text, name, sizeof name - 1) == 0) ||
		       (d->len[0] == sizeof entry - 1 && memcmp(text, entry, sizeof entry - 1) == 0);
	default:
		return false;
	}
}

int sp_define_inherit(struct sp_raw_chunk *const *from, const uint64_t *used, size_t n)
{
	int r = 0;
	for (size_t i = 0; i < n && !r; i++) {
		const char *p = (const char *)(from[i] + 1), *end = p + used[i];
		while (p < end && !r) {
			const struct sp_raw_def *d = (const struct sp_raw_def *)p;
			const char *s = (const char *)(d + 1);
			struct sp_text text[4];
			for (int k = 0; k < 4; s += d->len[k++])
				text[k] = (struct sp_text){s, d->len[k]};
			if (!is_of_parent(d, text[0].p))
				r = define_locked(d->kind, d->flags, d->a, d->b, text, 4);
			p += d->bytes;
		}
	}
	return r;
}
