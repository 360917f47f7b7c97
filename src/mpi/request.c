/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that are under way, from their handle to what shall be said when they are complete; and the functions that
 * complete them.
 *
 * A handle is free for another operation before the thread that completed the one before it gets here: of several
 * entries of a handle a thread means the newest that was there when its call began. Both MPIs also give one handle to
 * all operations that were complete at once; it makes no difference which of those is said to be complete first. */
#include "mpi/request.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 64, FIRST_ROOM = 32 };

static struct shard {
	bool locked;
	uint32_t n, room;             /* room: 0 or a power of two */
	struct sp_mpi_request *table; /* owned; a slot with handle 0 is free */
} __attribute__((aligned(64))) shards[SHARDS];

static uint64_t last_number;

static uint64_t hash_of(uint64_t handle)
{
	return handle * UINT64_C(0x9e3779b97f4a7c15);
}

static struct shard *lock_shard(uint64_t hash)
{
	struct shard *s = &shards[hash >> 58];
	while (SP_UNLIKELY(__atomic_test_and_set(&s->locked, __ATOMIC_ACQUIRE)))
		sched_yield();
	return s;
}

static void unlock_shard(struct shard *s)
{
	__atomic_clear(&s->locked, __ATOMIC_RELEASE);
}

static uint32_t slot_of(const struct shard *s, uint64_t hash)
{
	return (uint32_t)(hash >> 26) & (s->room - 1);
}

static void put(struct shard *s, const struct sp_mpi_request *r)
{
	uint32_t i = slot_of(s, hash_of(r->handle));
	while (s->table[i].handle)
		i = (i + 1) & (s->room - 1);
	s->table[i] = *r;
	s->n++;
}

SP_COLD static bool grow(struct shard *s)
{
	struct shard larger = {.room = s->room ? 2 * s->room : FIRST_ROOM};
	larger.table = calloc(larger.room, sizeof *larger.table);
	if (!larger.table)
		return false;
	for (uint32_t i = 0; i < s->room; i++)
		if (s->table[i].handle)
			put(&larger, &s->table[i]);
	free(s->table);
	s->table = larger.table;
	s->room = larger.room;
	return true;
}

/* The newest of that handle that is not newer than `newest`. */
static struct sp_mpi_request *find(struct shard *s, uint64_t handle, uint64_t hash, uint64_t newest)
{
	struct sp_mpi_request *found = NULL;
	if (!s->room)
		return NULL;
	for (uint32_t i = slot_of(s, hash); s->table[i].handle; i = (i + 1) & (s->room - 1)) {
		struct sp_mpi_request *r = &s->table[i];
		if (r->handle == handle && r->number <= newest && (!found || r->number > found->number))
			found = r;
	}
	return found;
}

/* What stands behind a gap moves into it, so that no search ends too early. */
static void take_out(struct shard *s, struct sp_mpi_request *r)
{
	const uint32_t mask = s->room - 1;
	uint32_t gap = (uint32_t)(r - s->table);
	for (uint32_t i = (gap + 1) & mask; s->table[i].handle; i = (i + 1) & mask) {
		uint32_t wanted = slot_of(s, hash_of(s->table[i].handle));
		if (((i - wanted) & mask) >= ((i - gap) & mask)) {
			s->table[gap] = s->table[i];
			gap = i;
		}
	}
	s->table[gap].handle = 0;
	s->n--;
}

uint64_t sp_mpi_request_number(void)
{
	return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
}

void sp_mpi_request_add(const struct sp_mpi_request *r)
{
	struct shard *s = lock_shard(hash_of(r->handle));
	if (SP_LIKELY(4 * (s->n + 1) <= 3 * s->room) || grow(s))
		put(s, r);
	unlock_shard(s);
}

uint64_t sp_mpi_request_newest(void)
{
	return __atomic_load_n(&last_number, __ATOMIC_RELAXED);
}

bool sp_mpi_request_take(uint64_t handle, uint64_t newest, struct sp_mpi_request *out)
{
	const uint64_t hash = hash_of(handle);
	struct shard *s = lock_shard(hash);
	struct sp_mpi_request *r = find(s, handle, hash, newest);
	const bool found = r && (!r->persistent || r->active);
	if (found) {
		*out = *r;
		r->active = false;
		if (!r->persistent)
			take_out(s, r);
	}
	unlock_shard(s);
	return found;
}

static void drop(uint64_t handle, uint64_t newest)
{
	const uint64_t hash = hash_of(handle);
	struct shard *s = lock_shard(hash);
	struct sp_mpi_request *r = find(s, handle, hash, newest);
	if (r)
		take_out(s, r);
	unlock_shard(s);
}

static bool activate(uint64_t handle, struct sp_mpi_request *out, uint32_t generation)
{
	const uint64_t hash = hash_of(handle);
	struct shard *s = lock_shard(hash);
	struct sp_mpi_request *r = find(s, handle, hash, UINT64_MAX);
	const bool found = r && r->persistent && !r->active;
	if (found) {
		r->active = true;
		r->generation = generation;
		r->number = sp_mpi_request_number();
		*out = *r;
	}
	unlock_shard(s);
	return found;
}

static uint64_t pending(uint64_t handle, uint64_t newest, uint32_t generation)
{
	const uint64_t hash = hash_of(handle);
	struct shard *s = lock_shard(hash);
	struct sp_mpi_request *r = find(s, handle, hash, newest);
	uint64_t number = r && r->generation == generation && (!r->persistent || r->active) ? r->number : 0;
	unlock_shard(s);
	return number;
}

/* ---- arrays of requests: the handles before the call, and statuses where the program wants none ---- */

struct scratch {
	uint64_t *handle;   /* owned */
	MPI_Status *status; /* owned */
	int handles, statuses;
};

static __thread struct scratch *scratch __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void scratch_free(void *p)
{
	struct scratch *s = p;
	scratch = NULL;
	free(s->handle);
	free(s->status);
	free(s);
}

static void make_key(void)
{
	pthread_key_create(&key, scratch_free);
}

SP_COLD static struct scratch *scratch_new(void)
{
	pthread_once(&once, make_key);
	scratch = calloc(1, sizeof *scratch);
	if (scratch)
		pthread_setspecific(key, scratch);
	return scratch;
}

SP_COLD static bool more_handles(struct scratch *s, int n)
{
	uint64_t *more = realloc(s->handle, ((size_t)n + 64) * sizeof *more);
	if (!more)
		return false;
	s->handle = more;
	s->handles = n + 64;
	return true;
}

MPI_Status *sp_mpi_statuses(int n)
{
	struct scratch *s = scratch ? scratch : scratch_new();
	if (s && s->statuses < n) {
		MPI_Status *more = realloc(s->status, ((size_t)n + 16) * sizeof *more);
		if (!more)
			return MPI_STATUSES_IGNORE;
		s->status = more;
		s->statuses = n + 16;
	}
	return s && s->status ? s->status : MPI_STATUSES_IGNORE;
}

/* ---- before the call ---- */

void sp_mpi_keep(struct sp_mpi_call *c, const MPI_Request *request)
{
	c->kept = request ? sp_mpi_request_handle(*request) : 0;
	c->newest = sp_mpi_request_newest();
}

void sp_mpi_keep_all(struct sp_mpi_call *c, int n, const MPI_Request *requests)
{
	struct scratch *s = scratch ? scratch : scratch_new();
	c->kept = 0;
	c->newest = sp_mpi_request_newest();
	if (n <= 0 || !requests || !s || (s->handles < n && !more_handles(s, n)))
		return;
	for (int i = 0; i < n; i++)
		s->handle[i] = sp_mpi_request_handle(requests[i]);
	c->kept = (uint64_t)n;
}

/* ---- after it ---- */

static void complete(struct sp_mpi_call *c, uint64_t handle, const MPI_Status *status)
{
	struct sp_mpi_request r;
	if (!handle || handle == sp_mpi_request_handle(MPI_REQUEST_NULL) || !sp_mpi_request_take(handle, c->newest, &r))
		return;
	if (c->t && r.generation == c->generation)
		r.done(c, &r, status);
}

/* Asked, and not complete: a record where the group xreqtest is on. */
static void not_yet(struct sp_mpi_call *c, const uint64_t *handle, int n)
{
	if (!c->region || !c->traced || !sp_mpi_group_on(SP_MPI_GROUP_XREQ))
		return;
	for (int i = 0; i < n; i++) {
		const uint64_t number = handle[i] ? pending(handle[i], c->newest, c->generation) : 0;
		if (number)
			sp_mpi_event(c, SP_RAW_X_MPI_REQUEST_TEST, &number, 1);
	}
}

void sp_mpi_completed(struct sp_mpi_call *c, const MPI_Status *status)
{
	if (c->result == MPI_SUCCESS)
		complete(c, c->kept, status);
	else
		drop(c->kept, c->newest);
}

void sp_mpi_tested(struct sp_mpi_call *c, const int *flag, const MPI_Status *status)
{
	if (c->result != MPI_SUCCESS || *flag)
		sp_mpi_completed(c, status);
	else
		not_yet(c, &c->kept, 1);
}

void sp_mpi_asked(struct sp_mpi_call *c, const int *flag)
{
	if (c->result == MPI_SUCCESS && !*flag)
		not_yet(c, &c->kept, 1);
}

/* With MPI_ERR_IN_STATUS each status says what became of its request. */
static void complete_one(struct sp_mpi_call *c, uint64_t handle, const MPI_Status *status)
{
	if (c->result == MPI_SUCCESS || (c->result == MPI_ERR_IN_STATUS && status && status->MPI_ERROR == MPI_SUCCESS))
		complete(c, handle, status);
	else if (c->result != MPI_ERR_IN_STATUS || !status || status->MPI_ERROR != MPI_ERR_PENDING)
		drop(handle, c->newest);
}

static const MPI_Status *nth(const MPI_Status *statuses, int i)
{
	return statuses == MPI_STATUSES_IGNORE ? NULL : &statuses[i];
}

void sp_mpi_completed_all(struct sp_mpi_call *c, const MPI_Status *statuses)
{
	for (int i = 0; i < (int)c->kept; i++)
		complete_one(c, scratch->handle[i], nth(statuses, i));
}

void sp_mpi_tested_all(struct sp_mpi_call *c, const int *flag, const MPI_Status *statuses)
{
	if (c->result != MPI_SUCCESS || *flag)
		sp_mpi_completed_all(c, statuses);
	else if (c->kept)
		not_yet(c, scratch->handle, (int)c->kept);
}

void sp_mpi_completed_any(struct sp_mpi_call *c, const int *index, const MPI_Status *status)
{
	if (c->result == MPI_SUCCESS && *index >= 0 && *index < (int)c->kept)
		complete(c, scratch->handle[*index], status);
}

void sp_mpi_tested_any(struct sp_mpi_call *c, const int *index, const int *flag, const MPI_Status *status)
{
	if (c->result == MPI_SUCCESS && *flag)
		sp_mpi_completed_any(c, index, status);
	else if (c->result == MPI_SUCCESS && c->kept)
		not_yet(c, scratch->handle, (int)c->kept);
}

void sp_mpi_completed_some(struct sp_mpi_call *c, const int *n, const int *indices, const MPI_Status *statuses)
{
	if (c->result != MPI_SUCCESS && c->result != MPI_ERR_IN_STATUS)
		return;
	for (int i = 0; *n != MPI_UNDEFINED && i < *n; i++) {
		const int at = indices[i];
		if (at < 0 || at >= (int)c->kept)
			continue;
		complete_one(c, scratch->handle[at], nth(statuses, i));
		scratch->handle[at] = 0;
	}
}

void sp_mpi_tested_some(struct sp_mpi_call *c, const int *n, const int *indices, const MPI_Status *statuses)
{
	sp_mpi_completed_some(c, n, indices, statuses);
	if (c->result == MPI_SUCCESS && c->kept)
		not_yet(c, scratch->handle, (int)c->kept);
}

void sp_mpi_released(struct sp_mpi_call *c)
{
	if (c->result == MPI_SUCCESS && c->kept)
		drop(c->kept, c->newest);
}

void sp_mpi_started(struct sp_mpi_call *c, int n, const MPI_Request *requests)
{
	struct sp_mpi_request r;
	for (int i = 0; sp_mpi_counts(c) && i < n; i++)
		if (activate(sp_mpi_request_handle(requests[i]), &r, c->generation))
			r.begun(c, &r);
}
