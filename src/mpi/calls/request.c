/* SPDX-License-Identifier: BSD-3-Clause */
/* Outstanding requests: a table from handles to what is recorded at completion, and the functions that complete
 * them.
 *
 * MPI may use a handle for a new operation before the thread that completed the old one gets here. If a handle has
 * several entries, a thread means the newest one that existed when its call began. Both MPIs also give one common
 * handle to all operations that were complete at once: these are added and removed in the same order. */
#include "mpi/calls/request.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "mpi/calls/comm.h"

enum { SHARDS = 64, FIRST_ROOM = 32, BLOCK = 16, MAX = 1 << 20 };

struct entry {
	struct sp_mpi_request r;
	struct entry *next;
};

struct slot {
	uint64_t handle; /* 0: unused */
	struct entry *first, *last;
};

static struct shard {
	bool locked;
	uint32_t n, capacity; /* capacity: 0 or a power of two */
	struct slot *table;   /* owned */
	struct entry *spare;  /* owned */
} __attribute__((aligned(64))) shards[SHARDS];

static uint64_t last_number;
static uint32_t made; /* number of entries in all shards */

static uint64_t hash_of(uint64_t handle)
{
	return handle * UINT64_C(0x9e3779b97f4a7c15);
}

static struct shard *lock_shard(uint64_t handle)
{
	struct shard *s = &shards[hash_of(handle) >> 58];
	while (SP_UNLIKELY(__atomic_test_and_set(&s->locked, __ATOMIC_ACQUIRE)))
		sched_yield();
	return s;
}

static void unlock_shard(struct shard *s)
{
	__atomic_clear(&s->locked, __ATOMIC_RELEASE);
}

/* Whether it is the handle that MPI gives to all operations that are complete at once. */
static bool is_shared(uint64_t handle)
{
#if defined(OPEN_MPI) || SP_MPI_ABI
	static uint64_t empty;
	uint64_t it = __atomic_load_n(&empty, __ATOMIC_RELAXED);
	if (!it) {
		const void *p = sp_mpi_symbol("ompi_request_empty");
		it = p ? (uintptr_t)p : 1;
		__atomic_store_n(&empty, it, __ATOMIC_RELAXED);
	}
	if (it != 1 || !SP_MPI_ABI)
		return handle == it;
#endif
	/* MPICH: the kind of a handle; MPI_REQUEST_NULL has another kind. Its handles are the same numbers in the
	 * standard interface. */
	return handle >> 30 == 1;
}

/* The slot of the handle, or the unused slot for it. There is always an unused slot. */
static struct slot *slot_of(const struct shard *s, uint64_t handle)
{
	const uint32_t mask = s->capacity - 1;
	uint32_t i = (uint32_t)(hash_of(handle) >> 26) & mask;
	while (s->table[i].handle && s->table[i].handle != handle)
		i = (i + 1) & mask;
	return &s->table[i];
}

SP_COLD static bool more_slots(struct shard *s)
{
	struct shard larger = {.n = s->n, .capacity = s->capacity ? 2 * s->capacity : FIRST_ROOM};
	larger.table = calloc(larger.capacity, sizeof *larger.table);
	if (!larger.table)
		return false;
	for (uint32_t i = 0; i < s->capacity; i++)
		if (s->table[i].handle)
			*slot_of(&larger, s->table[i].handle) = s->table[i];
	free(s->table);
	s->table = larger.table;
	s->capacity = larger.capacity;
	return true;
}

SP_COLD static bool more_entries(struct shard *s)
{
	struct entry *block = NULL;
	if (__atomic_load_n(&made, __ATOMIC_RELAXED) < MAX)
		block = calloc(BLOCK, sizeof *block);
	for (int i = 0; block && i < BLOCK; i++) {
		block[i].next = s->spare;
		s->spare = &block[i];
	}
	if (block)
		__atomic_add_fetch(&made, BLOCK, __ATOMIC_RELAXED);
	return block != NULL;
}

/* Moves following entries into the gap, so that no search ends too early. */
static void empty_slot(struct shard *s, struct slot *slot)
{
	const uint32_t mask = s->capacity - 1;
	uint32_t gap = (uint32_t)(slot - s->table);
	for (uint32_t i = (gap + 1) & mask; s->table[i].handle; i = (i + 1) & mask) {
		const uint32_t wanted = (uint32_t)(hash_of(s->table[i].handle) >> 26) & mask;
		if (((i - wanted) & mask) >= ((i - gap) & mask)) {
			s->table[gap] = s->table[i];
			gap = i;
		}
	}
	s->table[gap].handle = 0;
	s->n--;
}

/* The link to the entry that a thread means by the handle; NULL: no entry. */
static struct entry **find(const struct shard *s, uint64_t handle, uint64_t newest, struct slot **slot)
{
	if (!s->capacity)
		return NULL;
	*slot = slot_of(s, handle);
	if (!(*slot)->handle)
		return NULL;
	struct entry **at = &(*slot)->first;
	while (*at && (*at)->r.number > newest && !is_shared(handle))
		at = &(*at)->next;
	return *at ? at : NULL;
}

static void take_out(struct shard *s, struct slot *slot, struct entry **at)
{
	struct entry *e = *at;
	*at = e->next;
	if (!slot->first)
		empty_slot(s, slot);
	else if (slot->last == e)
		for (slot->last = slot->first; slot->last->next; slot->last = slot->last->next)
			;
	e->next = s->spare;
	s->spare = e;
}

uint64_t sp_mpi_request_number(void)
{
	return __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
}

uint64_t sp_mpi_request_newest(void)
{
	return __atomic_load_n(&last_number, __ATOMIC_RELAXED);
}

static void put(struct shard *s, const struct sp_mpi_request *r)
{
	struct entry *e = s->spare;
	struct slot *slot = slot_of(s, r->handle);
	s->spare = e->next;
	e->r = *r;
	if (!slot->handle) {
		*slot = (struct slot){r->handle, e, e};
		e->next = NULL;
		s->n++;
	} else if (is_shared(r->handle)) {
		e->next = NULL;
		slot->last->next = e;
		slot->last = e;
	} else {
		e->next = slot->first;
		slot->first = e;
	}
}

SP_COLD static void too_many(void)
{
	static bool warned;
	if (!__atomic_test_and_set(&warned, __ATOMIC_RELAXED))
		sp_mpi_adapter->meta("missing_mpi_requests",
		                     "how some MPI requests ended, because more than 1,048,576 were under way");
}

void sp_mpi_request_add(const struct sp_mpi_request *r)
{
	struct shard *s = lock_shard(r->handle);
	const bool fits = (SP_LIKELY(4 * (s->n + 1) <= 3 * s->capacity) || more_slots(s)) &&
	                  (SP_LIKELY(s->spare != NULL) || more_entries(s));
	if (SP_LIKELY(fits))
		put(s, r);
	unlock_shard(s);
	if (SP_UNLIKELY(!fits))
		too_many();
}

bool sp_mpi_request_take(uint64_t handle, uint64_t newest, struct sp_mpi_request *out)
{
	struct slot *slot;
	struct shard *s = lock_shard(handle);
	struct entry **at = find(s, handle, newest, &slot);
	const bool found = at && (!(*at)->r.persistent || (*at)->r.active);
	if (found) {
		*out = (*at)->r;
		(*at)->r.active = false;
		if (!out->persistent)
			take_out(s, slot, at);
	}
	unlock_shard(s);
	return found;
}

static void drop(uint64_t handle, uint64_t newest)
{
	struct slot *slot;
	struct shard *s = lock_shard(handle);
	struct entry **at = find(s, handle, newest, &slot);
	if (at)
		take_out(s, slot, at);
	unlock_shard(s);
}

static bool activate(uint64_t handle, struct sp_mpi_request *out, uint32_t generation)
{
	struct slot *slot;
	struct shard *s = lock_shard(handle);
	struct entry **at = find(s, handle, UINT64_MAX, &slot);
	const bool found = at && (*at)->r.persistent && !(*at)->r.active;
	if (found) {
		(*at)->r.active = true;
		(*at)->r.generation = generation;
		(*at)->r.number = sp_mpi_request_number();
		*out = (*at)->r;
	}
	unlock_shard(s);
	return found;
}

static uint64_t pending(uint64_t handle, uint64_t newest, uint32_t generation)
{
	struct slot *slot;
	struct shard *s = lock_shard(handle);
	struct entry **at = find(s, handle, newest, &slot);
	const struct sp_mpi_request *r = at ? &(*at)->r : NULL;
	const uint64_t number = r && r->generation == generation && (!r->persistent || r->active) ? r->number : 0;
	unlock_shard(s);
	return number;
}

/* ---- arrays of requests: handles before the call, and statuses if the program does not want any ---- */

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

/* Records that requests were tested and not complete, if the group xreqtest is recorded. */
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

void sp_mpi_asked_all(struct sp_mpi_call *c, const int *flag)
{
	if (c->result == MPI_SUCCESS && !*flag && c->kept)
		not_yet(c, scratch->handle, (int)c->kept);
}

void sp_mpi_asked_some(struct sp_mpi_call *c, const int *n, const int *indices)
{
	if (c->result != MPI_SUCCESS || *n == MPI_UNDEFINED || !c->kept)
		return;
	for (int i = 0; i < *n; i++)
		if (indices[i] >= 0 && indices[i] < (int)c->kept)
			scratch->handle[indices[i]] = 0;
	not_yet(c, scratch->handle, (int)c->kept);
}

/* With MPI_ERR_IN_STATUS, each status has the result of its request. */
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

/* Whether the communicator of a persistent request is known. A start is not recorded in a raw file that is newer than
 * the request if the communicator was freed. */
static bool has_comm(const struct sp_mpi_request *r)
{
	return r->process == sp_adapter_read(sp_mpi_adapter->process) ||
	       (r->persistent_comm && sp_mpi_comm_again(r->persistent_comm, r->comm));
}

void sp_mpi_started(struct sp_mpi_call *c, int n, const MPI_Request *requests)
{
	struct sp_mpi_request r;
	for (int i = 0; sp_mpi_counts(c) && i < n; i++) {
		const uint64_t handle = sp_mpi_request_handle(requests[i]);
		if (!activate(handle, &r, c->generation))
			continue;
		if (SP_LIKELY(has_comm(&r)))
			r.begun(c, &r);
		else
			sp_mpi_request_take(handle, UINT64_MAX, &r);
	}
}
