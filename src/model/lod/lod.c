/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens or makes the index's file. Several threads make it, each of them a location at a time; if there is only one
 * location, several threads write it. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/regular.h"
#include "model/builder/listing.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/lod.h"
#include "model/lod/made.h"
#include "model/lod/opened.h"
#include "model/merge/image.h"
#include "model/merge/merge_file.h"
#include "model/merge/pack.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/process.h"

enum { MAX_THREADS = 2, TELL_NS = 50000000 };

static uint64_t mix_bytes(uint64_t h, const void *p, size_t n)
{
	return sp_lod_mix(h, sp_pack_hash(p, n));
}

int sp_lod_write(int fd, const void *p, size_t n, uint64_t at, struct sp_err *e)
{
	if (sp_write_at(fd, p, n, at, e) == 0)
		return 0;
	return sp_fail(e, e->code, "%s cannot be written: %s", SP_LOD_NAME, strerror(e->code));
}

/* ---- identity of the input ---- */

static int hash_files(const struct sp_model *m, uint64_t *h, struct sp_err *e)
{
	struct sp_listing l;
	size_t i;

	if (sp_listing_read(&l, m->dir.p, e))
		return -1;
	*h = l.n;
	for (i = 0; i < l.n; i++)
		*h = sp_lod_mix(sp_lod_mix(mix_bytes(*h, l.files[i].name, strlen(l.files[i].name)), l.files[i].size),
		                l.files[i].changed);
	sp_listing_free(&l);
	return 0;
}

static uint64_t hash_model(const struct sp_model *m)
{
	uint64_t h = mix_bytes(m->begin_ns, m->paths, m->n_paths * sizeof(*m->paths));
	size_t i;

	for (i = 0; i < m->n_regions; i++)
		h = sp_lod_mix(mix_bytes(h, m->regions[i].name.p, m->regions[i].name.n), m->regions[i].line);
	for (i = 0; i < m->n_parameter_values; i++)
		h = mix_bytes(h, m->parameter_values[i].text.p, m->parameter_values[i].text.n);
	for (i = 0; i < m->n_strings; i++)
		h = mix_bytes(h, m->strings[i].p, m->strings[i].n);
	for (i = 0; i < m->n_counters; i++)
		h = mix_bytes(h, m->counters[i].p, m->counters[i].n);
	for (i = 0; i < m->n_metrics; i++)
		h = sp_lod_mix(mix_bytes(h, m->metrics[i].name.p, m->metrics[i].name.n), m->metrics[i].own);
	h = sp_lod_mix(h, m->n_tasks);
	for (i = 0; i < m->n_locations; i++) {
		const struct sp_event_range *p = &m->priv->places[i];

		h = sp_lod_mix(sp_lod_mix(sp_lod_mix(h, m->locations[i].begin), m->locations[i].end),
		               sp_lod_mix(p->words, p->end));
	}
	return h;
}

static bool is_running(const struct sp_model *m)
{
	size_t i;

	for (i = 0; i < m->n_processes; i++)
		if (m->processes[i].end == SP_END_RUNNING)
			return true;
	return false;
}

/* ---- existing files ---- */

static void unmap(struct sp_lod *p)
{
	if (p->map)
		munmap(p->map, p->bytes);
	p->map = NULL;
}

static bool map(struct sp_lod *p, int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < SP_LOD_PAGE)
		return false;
	p->bytes = (size_t)st.st_size;
	p->map = mmap(NULL, p->bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (p->map == MAP_FAILED)
		p->map = NULL;
	p->header = p->map;
	return p->map;
}

static bool header_is_right(const struct sp_lod *p, uint64_t files, uint64_t model)
{
	const struct sp_lod_header *h = p->header;

	return memcmp(h->magic, SP_LOD_MAGIC, sizeof(h->magic)) == 0 && h->byte_order == SP_RAW_BYTE_ORDER &&
	       h->version == SP_LOD_VERSION && h->bytes == p->bytes && h->files == files && h->model == model &&
	       h->places == p->m->n_locations && h->at % 8 == 0 && h->at <= p->bytes &&
	       h->places <= (p->bytes - h->at) / sizeof(*p->places);
}

/* The hash that the place of a location must have. */
static uint64_t hash_place(const char *bytes, size_t n)
{
	uint64_t h = 0;
	size_t k;

	for (; n; bytes += k, n -= k) {
		k = n < SP_LOD_SPAN ? n : SP_LOD_SPAN;
		h = sp_lod_hash(h, bytes, k);
		sp_mapped_forget(bytes, k);
	}
	return h;
}

/* Whether the file is undamaged and its contents are valid. */
static bool is_sound(struct sp_lod *p)
{
	struct sp_lod_location l;
	uint32_t i;

	p->places = (const void *)((const char *)p->map + p->header->at);
	if (sp_pack_hash(p->places, p->header->places * sizeof(*p->places)) != p->header->hash)
		return false;
	for (i = 0; i < p->m->n_locations; i++)
		if (!sp_lod_of(p, i, &l) ||
		    hash_place((const char *)p->map + l.place->at, l.place->bytes) != l.place->hash ||
		    !sp_lod_sound(p->m, &l))
			return false;
	return true;
}

static bool find(struct sp_lod *p, uint64_t files, uint64_t model)
{
	char path[4400];
	bool found;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", p->m->dir.p, SP_LOD_NAME);
	fd = sp_open_regular(AT_FDCWD, path);
	if (fd < 0)
		return false;
	found = map(p, fd) && header_is_right(p, files, model) && is_sound(p);
	close(fd);
	if (!found)
		unmap(p);
	return found;
}

/* ---- making ---- */

struct making {
	struct sp_lod *p;
	const struct sp_lod_options *o;
	int fd;
	unsigned writers; /* threads that write a location */
	pthread_t asker;
	pthread_mutex_t lock;
	pthread_cond_t ended; /* signalled when a thread ends */
	/* the fields below are protected by the lock */
	unsigned at_work;                    /* number of threads besides the caller's */
	struct sp_lod_file_location *places; /* owned */
	uint64_t at;                         /* offset in the file for the next location */
	uint32_t next;                       /* the next location */
	uint64_t done, total;                /* numbers of events */
	struct sp_err *e;                    /* the first error */
	bool failed;
};

static void fail(struct making *k, const struct sp_err *e)
{
	pthread_mutex_lock(&k->lock);
	if (!k->failed)
		*k->e = *e;
	k->failed = true;
	pthread_mutex_unlock(&k->lock);
}

/* Reports progress; called with the lock held, by the thread that called sp_lod_open(). */
static void report(struct making *k)
{
	if (!k->failed && k->o->progress &&
	    k->o->progress(k->o->arg, k->done < k->total ? k->done : k->total, k->total)) {
		k->failed = true;
		sp_fail(k->e, ECANCELED, "interrupted");
	}
}

static int report_events(void *arg, uint64_t events)
{
	struct making *k = arg;
	int rc;

	pthread_mutex_lock(&k->lock);
	k->done += events;
	if (pthread_equal(k->asker, pthread_self()))
		report(k);
	rc = k->failed;
	pthread_mutex_unlock(&k->lock);
	return rc;
}

struct reading {
	struct making *k;
	struct sp_lod_maker *x;
	uint32_t location;
	struct sp_raw_file *raw;
	struct sp_lod_made *made;
	struct sp_err *e;
};

/* May be abandoned at any point when a read fails: the maker or the result owns everything it allocates. */
static int read_location(void *arg)
{
	const struct reading *r = arg;

	return sp_lod_make(r->x, r->location, r->raw, report_events, r->k, r->made, r->e);
}

static int make_location(struct making *k, struct sp_lod_maker *x, uint32_t location, struct sp_err *e)
{
	struct sp_lod_made made;
	struct sp_raw_file *raw;
	uint64_t at;
	int rc;

	if (sp_lod_raw_take(k->p, location, &raw, e))
		return -1;
	rc = sp_guarded(read_location, &(struct reading){k, x, location, raw, &made, e}, e);
	sp_lod_raw_give(k->p, location);
	if (rc == 0) {
		pthread_mutex_lock(&k->lock);
		at = k->at;
		k->at += sp_lod_size(&made);
		pthread_mutex_unlock(&k->lock);
		rc = sp_lod_put(k->fd, &made, at, k->writers, e);
		k->places[location] = made.place;
	}
	sp_lod_made_free(&made);
	return rc;
}

static void make_some(struct making *k)
{
	const struct sp_model *m = k->p->m;
	struct sp_lod_maker *x;
	struct sp_err e = {.code = 0};
	uint32_t location;

	if (sp_lod_maker_new(&x, m, &k->p->index, &e)) {
		fail(k, &e);
		return;
	}
	for (;;) {
		pthread_mutex_lock(&k->lock);
		location = k->failed ? (uint32_t)m->n_locations : k->next;
		k->next += location < m->n_locations;
		pthread_mutex_unlock(&k->lock);
		if (location >= m->n_locations)
			break;
		if (m->processes[m->locations[location].process].traced && make_location(k, x, location, &e))
			fail(k, &e);
	}
	sp_lod_maker_free(x);
}

static void *other_thread(void *arg)
{
	struct making *k = arg;

	make_some(k);
	pthread_mutex_lock(&k->lock);
	k->at_work--;
	pthread_cond_signal(&k->ended);
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static unsigned threads_for(const struct sp_lod_options *o)
{
	long n = o->threads ? (long)o->threads : sysconf(_SC_NPROCESSORS_ONLN);

	if (!o->threads && n > MAX_THREADS)
		n = MAX_THREADS;
	return n < 1 ? 1 : (unsigned)n;
}

/* Waits for the other threads. Reports progress meanwhile and at the end, as the others may have done all the work. */
static void wait_for_others(struct making *k)
{
	struct timespec until;

	pthread_mutex_lock(&k->lock);
	while (k->at_work) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += TELL_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&k->ended, &k->lock, &until);
		report(k);
	}
	report(k);
	pthread_mutex_unlock(&k->lock);
}

static void make_all(struct making *k)
{
	pthread_t threads[64];
	const unsigned all = threads_for(k->o);
	const size_t locations = k->p->m->n_locations;
	unsigned n = all > locations ? (unsigned)locations : all, i, others = 0;

	k->writers = n ? all / n : 1;
	for (i = 1; i < n && others < 64; i++) {
		pthread_mutex_lock(&k->lock);
		k->at_work++;
		pthread_mutex_unlock(&k->lock);
		if (pthread_create(&threads[others], NULL, other_thread, k) == 0) {
			others++;
			continue;
		}
		pthread_mutex_lock(&k->lock);
		k->at_work--;
		pthread_mutex_unlock(&k->lock);
	}
	make_some(k);
	wait_for_others(k);
	for (i = 0; i < others; i++)
		pthread_join(threads[i], NULL);
}

/* Writes the list of places and the header, after everything else. */
static int complete(struct making *k, uint64_t files, uint64_t model, struct sp_err *e)
{
	struct sp_lod *p = k->p;
	const size_t n = p->m->n_locations;
	char page[SP_LOD_PAGE] = "";
	struct sp_lod_header h = {.byte_order = SP_RAW_BYTE_ORDER,
	                          .version = SP_LOD_VERSION,
	                          .files = files,
	                          .model = model,
	                          .places = n,
	                          .at = k->at};

	memcpy(h.magic, SP_LOD_MAGIC, sizeof(h.magic));
	h.bytes = h.at + n * sizeof(*k->places);
	h.hash = sp_pack_hash(k->places, n * sizeof(*k->places));
	memcpy(page, &h, sizeof(h));
	return sp_lod_write(k->fd, k->places, n * sizeof(*k->places), h.at, e) ||
	               sp_lod_write(k->fd, page, sizeof(page), 0, e)
	           ? -1
	           : 0;
}

static int make_into(struct sp_lod *p, int fd, const struct sp_lod_options *o, uint64_t files, uint64_t model,
                     struct sp_err *e)
{
	struct making k = {.p = p, .o = o, .fd = fd, .asker = pthread_self(), .at = SP_LOD_PAGE, .e = e};
	static const char page[SP_LOD_PAGE];
	uint32_t i;
	int rc;

	for (i = 0; i < p->m->n_locations; i++)
		k.total += sp_events_count(p->m, i);
	k.places = calloc(p->m->n_locations + 1, sizeof(*k.places));
	if (!k.places)
		return sp_model_no_memory(e);
	pthread_mutex_init(&k.lock, NULL);
	pthread_cond_init(&k.ended, NULL);
	rc = sp_lod_write(fd, page, sizeof(page), 0, e);
	if (rc == 0) {
		make_all(&k);
		rc = k.failed || complete(&k, files, model, e) ? -1 : 0;
	}
	pthread_cond_destroy(&k.ended);
	pthread_mutex_destroy(&k.lock);
	free(k.places);
	if (rc == 0 && !map(p, fd))
		rc = sp_fail(e, errno, "%s cannot be read: %s", SP_LOD_NAME, strerror(errno));
	if (rc == 0)
		p->places = (const void *)((const char *)p->map + p->header->at);
	return rc;
}

static bool is_disk_full(int code)
{
	return code == ENOSPC || code == EDQUOT || code == EFBIG;
}

static const char *elsewhere(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && dir[0] == '/' ? dir : "/tmp";
}

/* Opens an unnamed temporary file. */
static int open_elsewhere(struct sp_err *e)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/spartito-lod.XXXXXX", elsewhere());
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return sp_fail(e, errno, "%s: %s", path, strerror(errno));
	unlink(path);
	return fd;
}

static int make_elsewhere(struct sp_lod *p, const struct sp_lod_options *o, uint64_t files, uint64_t model,
                          struct sp_err *e)
{
	int fd = open_elsewhere(e), rc;

	if (fd < 0)
		return -1;
	rc = make_into(p, fd, o, files, model, e);
	close(fd);
	if (rc && is_disk_full(e->code)) {
		const int code = e->code;

		sp_fail(e, code, "%s: no space to sum up the trace: %s", elsewhere(), strerror(code));
	}
	return rc;
}

/* Makes the index in the experiment, or in a temporary file if that is not possible. */
static int make(struct sp_lod *p, const struct sp_lod_options *o, uint64_t files, uint64_t model, struct sp_err *e)
{
	struct sp_merge_file f = {.fd = -1};
	struct sp_err why = {.code = 0};
	int rc = -1;

	bool placed = false;

	p->made = true;
	if (o->lasting && is_running(p->m))
		return sp_fail(e, EBUSY, "a process still runs");
	if (!o->keep && !is_running(p->m) && sp_merge_file_create(&f, p->m->dir.p, SP_LOD_NAME, &why) == 0) {
		rc = make_into(p, f.fd, o, files, model, &why);
		placed = rc == 0 && sp_merge_file_place(&f, p->m->dir.p, &why) == 0;
		sp_merge_file_close(&f, p->m->dir.p, true);
		if (placed || (rc == 0 && !o->lasting)) /* otherwise it is used without a name */
			return 0;
		if (!is_disk_full(why.code) && why.code != EROFS)
			return *e = why, -1;
		unmap(p);
	}
	return o->lasting ? (*e = why, -1) : make_elsewhere(p, o, files, model, e);
}

/* ---- opening ---- */

struct opening {
	struct sp_lod *p;
	const struct sp_lod_options *o;
	struct sp_err *e;
};

static int find_or_make(void *arg)
{
	struct opening *x = arg;
	const struct sp_model *m = x->p->m;
	uint64_t files = 0, model;

	if (hash_files(m, &files, x->e))
		return -1;
	model = hash_model(m);
	if (!x->o->fresh && !is_running(m) && find(x->p, files, model))
		return 0;
	return make(x->p, x->o, files, model, x->e);
}

int sp_lod_open(struct sp_lod **out, const struct sp_model *m, const struct sp_lod_options *o, struct sp_err *e)
{
	static const struct sp_lod_options plain;
	struct sp_lod *p = calloc(1, sizeof(*p));
	int rc = 0;

	*out = NULL;
	if (!p)
		return sp_model_no_memory(e);
	p->m = m;
	pthread_mutex_init(&p->lock, NULL);
	p->raws = calloc(m->priv->n_sources + 1, sizeof(*p->raws));
	if (sp_path_index_init(&p->index, m) || !p->raws)
		rc = sp_model_no_memory(e);
	else
		rc = sp_guarded(find_or_make, &(struct opening){p, o ? o : &plain, e}, e);
	if (rc)
		sp_lod_close(p);
	else
		*out = p;
	return rc ? sp_fail_in(e, "%s", m->dir.p) : 0;
}

void sp_lod_close(struct sp_lod *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; p->raws && i < p->m->priv->n_sources; i++)
		sp_raw_close(p->raws[i].raw);
	free(p->raws);
	sp_path_index_free(&p->index);
	unmap(p);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

bool sp_lod_made(const struct sp_lod *p)
{
	return p->made;
}

uint64_t sp_lod_bytes(const struct sp_lod *p)
{
	return p->bytes;
}
