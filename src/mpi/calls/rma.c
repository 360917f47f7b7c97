/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication. An operation gets a number, `matching`, when it begins. The calls that synchronise record
 * its ends with this number: the local one, and if it changed the target's memory, the remote one. */
#include "mpi/calls/rma.h"

#include <stdlib.h>

#include "mpi/calls/request.h"
#include "mpi/calls/win.h"

enum { ALL = INT32_MIN }; /* all targets; MPI's own constants are close to 0 */
/* Values of OTF2's RmaSyncLevel. */
enum { NONE = 0, PROCESS = 1, MEMORY = 2 };
/* Values of OTF2's CollectiveOp that only windows have. */
enum { CREATE_AND_ALLOCATE = 21, DESTROY_AND_DEALLOCATE = 22 };
enum { EXCLUSIVE = 0, SHARED = 1 };

#define MAX_OPEN (1u << 22) /* maximum outstanding operations of a window */

/* ---- windows ---- */

static void collective(struct sp_mpi_call *c, const struct sp_mpi_win *w, uint32_t operation, uint64_t level)
{
	const uint64_t end[5] = {sp_mpi_pair(w->id, operation), level, (uint64_t)(int64_t)SP_RAW_ROOT_NONE, 0, 0};
	sp_mpi_event(c, SP_RAW_X_RMA_COLLECTIVE_END, end, 5);
}

static void made(struct sp_mpi_call *c, MPI_Comm comm, const MPI_Win *win, bool allocated)
{
	if (c->result != MPI_SUCCESS)
		return;
	const struct sp_mpi_win *w = sp_mpi_win_new(*win, comm, allocated);
	if (!c->region || !w)
		return;
	const uint64_t id = w->id;
	sp_mpi_event_at(c, SP_RAW_X_RMA_COLLECTIVE_BEGIN, NULL, 0, c->now);
	sp_mpi_event(c, SP_RAW_X_WIN_CREATE, &id, 1);
	collective(c, w, allocated ? CREATE_AND_ALLOCATE : SP_MPI_CREATE_HANDLE, NONE);
}

void sp_mpi_win_created(struct sp_mpi_call *c, MPI_Comm comm, const MPI_Win *win)
{
	made(c, comm, win, false);
}

void sp_mpi_win_allocated(struct sp_mpi_call *c, MPI_Comm comm, const MPI_Win *win)
{
	made(c, comm, win, true);
}

void sp_mpi_win_named(struct sp_mpi_call *c, MPI_Win win, const char *name)
{
	struct sp_mpi_win *w = c->result == MPI_SUCCESS ? sp_mpi_win(win) : NULL;
	if (w)
		sp_mpi_win_rename(w, name);
}

/* ---- operations ---- */

/* Removes operations that have ended; they stay in the array until there is no room. */
static void compact(struct sp_mpi_win *w)
{
	size_t kept = 0;
	for (size_t i = 0; i < w->n_ops; i++)
		if (!w->ops[i].over)
			w->ops[kept++] = w->ops[i];
	w->n_ops = kept;
}

/* Call with the lock held. */
static bool reserve(struct sp_mpi_win *w)
{
	compact(w);
	if (2 * w->n_ops < w->capacity)
		return true;
	struct sp_mpi_win_op *larger =
	    w->capacity < MAX_OPEN ? realloc(w->ops, (w->capacity * 2 + 64) * sizeof *larger) : NULL;
	if (!larger)
		return w->n_ops < w->capacity;
	w->ops = larger;
	w->capacity = w->capacity * 2 + 64;
	return true;
}

/* Begins an operation. Returns its number; 0: it is not recorded. */
static uint64_t begin(struct sp_mpi_call *c, struct sp_mpi_win **w, int target, MPI_Win win, bool remote)
{
	static uint64_t last;
	if (!c->traced || target == MPI_PROC_NULL || !(*w = sp_mpi_win(win)))
		return 0;
	sp_mpi_win_lock();
	const uint64_t matching = ++last;
	const bool ok = (*w)->n_ops < (*w)->capacity || reserve(*w);
	if (ok)
		(*w)->ops[(*w)->n_ops++] = (struct sp_mpi_win_op){matching, (uint32_t)target, .remote = remote};
	sp_mpi_win_unlock();
	if (!ok)
		sp_mpi_adapter->meta("missing_mpi_rma",
		                     "ends of some one-sided operations, because too many of them were "
		                     "begun before one of the calls that end them");
	return matching;
}

uint64_t sp_mpi_put(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win)
{
	struct sp_mpi_win *w;
	if (!sp_mpi_counts(c) || target == MPI_PROC_NULL)
		return 0;
	const uint64_t bytes = sp_mpi_bytes(count, type), matching = begin(c, &w, target, win, true);
	sp_mpi_add(c, SP_COUNT_MPI_PUT, bytes);
	if (matching) {
		const uint64_t payload[3] = {sp_mpi_pair(w->id, (uint32_t)target), bytes, matching};
		sp_mpi_event_at(c, SP_RAW_X_RMA_PUT, payload, 3, c->now);
	}
	return matching;
}

uint64_t sp_mpi_get(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win)
{
	struct sp_mpi_win *w;
	if (!sp_mpi_counts(c) || target == MPI_PROC_NULL)
		return 0;
	const uint64_t bytes = sp_mpi_bytes(count, type), matching = begin(c, &w, target, win, false);
	sp_mpi_add(c, SP_COUNT_MPI_GET, bytes);
	if (matching) {
		const uint64_t payload[3] = {sp_mpi_pair(w->id, (uint32_t)target), bytes, matching};
		sp_mpi_event_at(c, SP_RAW_X_RMA_GET, payload, 3, c->now);
	}
	return matching;
}

static uint64_t atomic(struct sp_mpi_call *c, uint32_t kind, uint64_t sent, uint64_t received, int target, MPI_Win win)
{
	struct sp_mpi_win *w;
	if (!sp_mpi_counts(c) || target == MPI_PROC_NULL)
		return 0;
	const uint64_t matching = begin(c, &w, target, win, true);
	sp_mpi_add(c, SP_COUNT_MPI_PUT, sent);
	sp_mpi_add(c, SP_COUNT_MPI_GET, received);
	if (matching) {
		const uint64_t payload[5] = {sp_mpi_pair(w->id, (uint32_t)target), kind, sent, received, matching};
		sp_mpi_event_at(c, SP_RAW_X_RMA_ATOMIC, payload, 5, c->now);
	}
	return matching;
}

/* Values of OTF2's RmaAtomicType. */
enum { ACCUMULATE = 0, COMPARE_AND_SWAP = 3, FETCH_AND_ACCUMULATE = 7 };

uint64_t sp_mpi_accumulate(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win)
{
	return atomic(c, ACCUMULATE, sp_mpi_bytes(count, type), 0, target, win);
}

uint64_t sp_mpi_fetch(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, MPI_Count got, MPI_Datatype got_type,
                      MPI_Op op, int target, MPI_Win win)
{
	/* the type may be invalid then, and is not used */
	const uint64_t sent = op == MPI_NO_OP ? 0 : sp_mpi_bytes(count, type);
	return atomic(c, FETCH_AND_ACCUMULATE, sent, sp_mpi_bytes(got, got_type), target, win);
}

uint64_t sp_mpi_swap(struct sp_mpi_call *c, MPI_Datatype type, int target, MPI_Win win)
{
	return atomic(c, COMPARE_AND_SWAP, sp_mpi_bytes(1, type), sp_mpi_bytes(1, type), target, win);
}

/* ---- ends of operations ---- */

static void complete(struct sp_mpi_call *c, uint32_t win, uint32_t how, uint64_t matching)
{
	const uint64_t payload[2] = {sp_mpi_pair(win, how), matching};
	sp_mpi_event(c, SP_RAW_X_RMA_COMPLETE, payload, 2);
}

/* Records the ends of the operations at a target, or ALL; everywhere: all ends, otherwise only the local ones. */
static void end_ops(struct sp_mpi_call *c, struct sp_mpi_win *w, int target, bool everywhere)
{
	if (!w->n_ops)
		return;
	sp_mpi_win_lock();
	for (size_t i = 0; i < w->n_ops; i++) {
		struct sp_mpi_win_op *op = &w->ops[i];
		if (op->over || (target != ALL && op->target != (uint32_t)target))
			continue;
		if (!op->local)
			complete(c, w->id, SP_RAW_RMA_NON_BLOCKING, op->matching);
		op->local = true;
		if (op->remote && everywhere)
			complete(c, w->id, SP_RAW_RMA_REMOTE, op->matching);
		op->over = everywhere || !op->remote;
	}
	compact(w);
	sp_mpi_win_unlock();
}

/* ---- operations with a request ---- */

/* Finds an operation; they are sorted by number. NULL: it has ended. */
static struct sp_mpi_win_op *find_op(struct sp_mpi_win *w, uint64_t matching)
{
	size_t low = 0, high = w->n_ops;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (w->ops[middle].matching < matching)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->n_ops && w->ops[low].matching == matching ? &w->ops[low] : NULL;
}

/* Records the local end, unless a call for the window has done so before. */
static void request_done(struct sp_mpi_call *c, const struct sp_mpi_request *r, const MPI_Status *status)
{
	struct sp_mpi_win *w = sp_mpi_win_by_id((uint32_t)r->a);
	(void)status;
	if (!w)
		return;
	sp_mpi_win_lock();
	struct sp_mpi_win_op *op = find_op(w, r->b);
	if (op && !op->over) {
		if (!op->local)
			complete(c, w->id, SP_RAW_RMA_NON_BLOCKING, op->matching);
		op->local = true;
		op->over = !op->remote;
	}
	sp_mpi_win_unlock();
}

static void requested(struct sp_mpi_call *c, MPI_Win win, uint64_t matching, const MPI_Request *request)
{
	const struct sp_mpi_win *w = matching ? sp_mpi_win(win) : NULL;
	if (!w)
		return;
	const struct sp_mpi_request r = {.handle = sp_mpi_request_handle(*request),
	                                 .number = sp_mpi_request_number(),
	                                 .done = request_done,
	                                 .generation = c->generation,
	                                 .a = w->id,
	                                 .b = matching};
	sp_mpi_request_add(&r);
}

void sp_mpi_rput(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win,
                 const MPI_Request *request)
{
	requested(c, win, sp_mpi_put(c, count, type, target, win), request);
}

void sp_mpi_rget(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win,
                 const MPI_Request *request)
{
	requested(c, win, sp_mpi_get(c, count, type, target, win), request);
}

void sp_mpi_raccumulate(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win,
                        const MPI_Request *request)
{
	requested(c, win, sp_mpi_accumulate(c, count, type, target, win), request);
}

void sp_mpi_rfetch(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, MPI_Count got, MPI_Datatype got_type,
                   MPI_Op op, int target, MPI_Win win, const MPI_Request *request)
{
	requested(c, win, sp_mpi_fetch(c, count, type, got, got_type, op, target, win), request);
}

/* ---- synchronisation ---- */

static struct sp_mpi_win *traced(struct sp_mpi_call *c, MPI_Win win)
{
	return sp_mpi_counts(c) && c->traced ? sp_mpi_win(win) : NULL;
}

void sp_mpi_win_fence(struct sp_mpi_call *c, MPI_Win win)
{
	struct sp_mpi_win *w = traced(c, win);
	if (!w)
		return;
	sp_mpi_event_at(c, SP_RAW_X_RMA_COLLECTIVE_BEGIN, NULL, 0, c->now);
	end_ops(c, w, ALL, true);
	collective(c, w, SP_MPI_BARRIER, PROCESS | MEMORY);
}

void sp_mpi_win_flush(struct sp_mpi_call *c, int target, MPI_Win win)
{
	struct sp_mpi_win *w = traced(c, win);
	if (w)
		end_ops(c, w, target, true);
}

void sp_mpi_win_flush_local(struct sp_mpi_call *c, int target, MPI_Win win)
{
	struct sp_mpi_win *w = traced(c, win);
	if (w)
		end_ops(c, w, target, false);
}

void sp_mpi_win_flush_all(struct sp_mpi_call *c, MPI_Win win)
{
	sp_mpi_win_flush(c, ALL, win);
}

void sp_mpi_win_flush_local_all(struct sp_mpi_call *c, MPI_Win win)
{
	sp_mpi_win_flush_local(c, ALL, win);
}

static void lock_event(struct sp_mpi_call *c, const struct sp_mpi_win *w, int target, uint32_t what, uint32_t type,
                       uint64_t now)
{
	const uint32_t peer = target == ALL ? SP_RAW_NONE : (uint32_t)target;
	const uint64_t payload[3] = {sp_mpi_pair(w->id, peer), sp_mpi_pair(what, type), 0};
	sp_mpi_event_at(c, SP_RAW_X_RMA_LOCK, payload, 3, now);
}

void sp_mpi_win_locked(struct sp_mpi_call *c, int type, int target, MPI_Win win)
{
	const struct sp_mpi_win *w = target == MPI_PROC_NULL ? NULL : traced(c, win);
	if (w)
		lock_event(c, w, target, SP_RAW_LOCK_REQUEST, type == MPI_LOCK_EXCLUSIVE ? EXCLUSIVE : SHARED, c->now);
}

void sp_mpi_win_unlocked(struct sp_mpi_call *c, int target, MPI_Win win)
{
	struct sp_mpi_win *w = target == MPI_PROC_NULL ? NULL : traced(c, win);
	if (!w)
		return;
	end_ops(c, w, target, true);
	lock_event(c, w, target, SP_RAW_LOCK_RELEASE, 0, sp_mpi_adapter->now());
}

void sp_mpi_win_locked_all(struct sp_mpi_call *c, MPI_Win win)
{
	sp_mpi_win_locked(c, MPI_LOCK_SHARED, ALL, win);
}

void sp_mpi_win_unlocked_all(struct sp_mpi_call *c, MPI_Win win)
{
	sp_mpi_win_unlocked(c, ALL, win);
}

static void group_sync(struct sp_mpi_call *c, const struct sp_mpi_win *w, uint32_t level, uint32_t group)
{
	const uint64_t payload[2] = {sp_mpi_pair(w->id, level), group};
	if (group)
		sp_mpi_event(c, SP_RAW_X_RMA_GROUP_SYNC, payload, 2);
}

void sp_mpi_win_started(struct sp_mpi_call *c, MPI_Group group, MPI_Win win)
{
	struct sp_mpi_win *w = traced(c, win);
	if (w)
		group_sync(c, w, PROCESS, w->started = sp_mpi_group_id(group));
}

void sp_mpi_win_completed(struct sp_mpi_call *c, MPI_Win win)
{
	struct sp_mpi_win *w = traced(c, win);
	if (!w)
		return;
	end_ops(c, w, ALL, true);
	group_sync(c, w, MEMORY, w->started);
	w->started = 0;
}

void sp_mpi_win_posted(struct sp_mpi_call *c, MPI_Group group, MPI_Win win)
{
	struct sp_mpi_win *w = traced(c, win);
	if (w)
		group_sync(c, w, MEMORY, w->posted = sp_mpi_group_id(group));
}

void sp_mpi_win_waited(struct sp_mpi_call *c, MPI_Win win, int done)
{
	struct sp_mpi_win *w = done ? traced(c, win) : NULL;
	if (!w)
		return;
	group_sync(c, w, PROCESS | MEMORY, w->posted);
	w->posted = 0;
}

/* Removes the entry before the call: afterwards the handle may belong to another window. */
int sp_mpi_wrap_Win_free(MPI_Win *win)
{
	struct sp_mpi_call call, *const c = &call;
	if (!sp_mpi_begin(c, SP_MPI_F_Win_free))
		return PMPI_Win_free(win);
	struct sp_mpi_win *w = *win == MPI_WIN_NULL ? NULL : c->region ? sp_mpi_win(*win) : NULL;
	const struct sp_mpi_win known = w ? *w : (struct sp_mpi_win){.id = 0};
	if (w) {
		sp_mpi_event_at(c, SP_RAW_X_RMA_COLLECTIVE_BEGIN, NULL, 0, c->now);
		end_ops(c, w, ALL, true);
	}
	sp_mpi_win_remove(*win);
	sp_mpi_returned(c, PMPI_Win_free(win));
	const uint64_t id = known.id;
	/* a failed call also gets an end, because it has a begin */
	if (w && c->region)
		collective(c, &known, known.allocated ? DESTROY_AND_DEALLOCATE : SP_MPI_DESTROY_HANDLE, PROCESS);
	if (w && sp_mpi_counts(c))
		sp_mpi_event(c, SP_RAW_X_WIN_DESTROY, &id, 1);
	return sp_mpi_end(c);
}
