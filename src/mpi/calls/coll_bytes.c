/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes that each collective sends and receives in this process. They are the bytes that the result requires, not
 * those that the MPI transfers. Bytes from a process to itself count, unless they are already in place (MPI_IN_PLACE);
 * in a reduction each process's contribution counts as sent to each process that gets the result. Score-P counts in the
 * same way.
 *
 * Parameters are read only where MPI defines them as significant: elsewhere programs may pass anything. */
#include "mpi/calls/comm.h"

/* Sets the operation. Returns NULL if there are no bytes to count. A failed collective also gets an end, because it has
 * a begin; but its communicator and other parameters may be invalid. */
static const struct sp_mpi_comm *is(struct sp_mpi_call *c, MPI_Comm comm, enum sp_mpi_operation operation)
{
	c->moved = (struct sp_mpi_moved){.operation = operation, .root = SP_RAW_ROOT_NONE};
	if (!c->region)
		return NULL;
	if (SP_UNLIKELY(c->result != MPI_SUCCESS)) {
		c->moved.comm = sp_mpi_comm_known_id(comm);
		return NULL;
	}
	const struct sp_mpi_comm *m = sp_mpi_comm(comm);
	c->moved.comm = m ? m->id : 0;
	return m;
}

static bool inter(const struct sp_mpi_comm *m)
{
	return m->flags & SP_RAW_COMM_INTER;
}

/* The number of processes to send to and to receive from. */
static uint32_t partners(const struct sp_mpi_comm *m)
{
	return inter(m) ? m->remote : m->size;
}

/* ---- counts, of int or of MPI_Count ---- */

static MPI_Count count_of(struct sp_mpi_counts counts, uint32_t i)
{
	return counts.width == sizeof(int) ? ((const int *)counts.p)[i] : ((const MPI_Count *)counts.p)[i];
}

static uint64_t bytes_of_all(struct sp_mpi_counts counts, uint32_t n, MPI_Datatype type)
{
	MPI_Count all = 0;
	for (uint32_t i = 0; i < n; i++)
		all += count_of(counts, i);
	return sp_mpi_bytes(all, type);
}

static uint64_t bytes_of_types(struct sp_mpi_counts counts, uint32_t n, const MPI_Datatype *types)
{
	uint64_t all = 0;
	for (uint32_t i = 0; i < n; i++)
		all += sp_mpi_bytes(count_of(counts, i), types[i]);
	return all;
}

/* ---- one to all, all to one ---- */

/* In an intercommunicator's group that contains the root, all other processes are OUT. */
enum part { OUT, MEMBER, ROOT };

static enum part part_in(struct sp_mpi_call *c, MPI_Comm comm, enum sp_mpi_operation operation, int root,
                         const struct sp_mpi_comm **m)
{
	*m = is(c, comm, operation);
	if (!*m)
		return OUT;
	if (inter(*m) && root == MPI_ROOT) {
		c->moved.root = SP_RAW_ROOT_SELF;
		return ROOT;
	}
	if (inter(*m) && root == MPI_PROC_NULL) {
		c->moved.root = SP_RAW_ROOT_GROUP;
		return OUT;
	}
	c->moved.root = root;
	return !inter(*m) && (uint32_t)root == (*m)->rank ? ROOT : MEMBER;
}

/* all: bytes of all partners; own: the root's part. */
static void root_moves(struct sp_mpi_call *c, const struct sp_mpi_comm *m, bool in_place, uint64_t all, uint64_t own,
                       bool gathers)
{
	if (in_place)
		all -= own;
	if (in_place || inter(m))
		own = 0;
	c->moved.sent = gathers ? own : all;
	c->moved.received = gathers ? all : own;
}

static void root_of_same(struct sp_mpi_call *c, const struct sp_mpi_comm *m, bool in_place, MPI_Count count,
                         MPI_Datatype type, bool gathers)
{
	const uint64_t own = sp_mpi_bytes(count, type);
	root_moves(c, m, in_place, partners(m) * own, own, gathers);
}

static void root_of_each(struct sp_mpi_call *c, const struct sp_mpi_comm *m, bool in_place, struct sp_mpi_counts counts,
                         MPI_Datatype type, bool gathers)
{
	const uint64_t own = inter(m) ? 0 : sp_mpi_bytes(count_of(counts, m->rank), type);
	root_moves(c, m, in_place, bytes_of_all(counts, partners(m), type), own, gathers);
}

void sp_mpi_bcast(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
	const struct sp_mpi_comm *m;
	const enum part part = part_in(c, comm, SP_MPI_BCAST, root, &m);
	if (part == ROOT)
		root_of_same(c, m, false, count, type, false);
	else if (part == MEMBER)
		c->moved.received = sp_mpi_bytes(count, type);
}

void sp_mpi_scatter(struct sp_mpi_call *c, MPI_Count scount, MPI_Datatype stype, const void *rbuf, MPI_Count rcount,
                    MPI_Datatype rtype, int root, MPI_Comm comm)
{
	const struct sp_mpi_comm *m;
	const enum part part = part_in(c, comm, SP_MPI_SCATTER, root, &m);
	if (part == ROOT)
		root_of_same(c, m, rbuf == MPI_IN_PLACE, scount, stype, false);
	else if (part == MEMBER)
		c->moved.received = sp_mpi_bytes(rcount, rtype);
}

void sp_mpi_scatterv(struct sp_mpi_call *c, struct sp_mpi_counts scounts, MPI_Datatype stype, const void *rbuf,
                     MPI_Count rcount, MPI_Datatype rtype, int root, MPI_Comm comm)
{
	const struct sp_mpi_comm *m;
	const enum part part = part_in(c, comm, SP_MPI_SCATTERV, root, &m);
	if (part == ROOT)
		root_of_each(c, m, rbuf == MPI_IN_PLACE, scounts, stype, false);
	else if (part == MEMBER)
		c->moved.received = sp_mpi_bytes(rcount, rtype);
}

void sp_mpi_gather(struct sp_mpi_call *c, const void *sbuf, MPI_Count scount, MPI_Datatype stype, MPI_Count rcount,
                   MPI_Datatype rtype, int root, MPI_Comm comm)
{
	const struct sp_mpi_comm *m;
	const enum part part = part_in(c, comm, SP_MPI_GATHER, root, &m);
	if (part == ROOT)
		root_of_same(c, m, sbuf == MPI_IN_PLACE, rcount, rtype, true);
	else if (part == MEMBER)
		c->moved.sent = sp_mpi_bytes(scount, stype);
}

void sp_mpi_gatherv(struct sp_mpi_call *c, const void *sbuf, MPI_Count scount, MPI_Datatype stype,
                    struct sp_mpi_counts rcounts, MPI_Datatype rtype, int root, MPI_Comm comm)
{
	const struct sp_mpi_comm *m;
	const enum part part = part_in(c, comm, SP_MPI_GATHERV, root, &m);
	if (part == ROOT)
		root_of_each(c, m, sbuf == MPI_IN_PLACE, rcounts, rtype, true);
	else if (part == MEMBER)
		c->moved.sent = sp_mpi_bytes(scount, stype);
}

void sp_mpi_reduce(struct sp_mpi_call *c, const void *sbuf, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
	const struct sp_mpi_comm *m;
	const enum part part = part_in(c, comm, SP_MPI_REDUCE, root, &m);
	if (part == ROOT)
		root_of_same(c, m, sbuf == MPI_IN_PLACE, count, type, true);
	else if (part == MEMBER)
		c->moved.sent = sp_mpi_bytes(count, type);
}

/* ---- all to all ---- */

static void with_each(struct sp_mpi_call *c, uint32_t n, bool in_place, MPI_Count scount, MPI_Datatype stype,
                      MPI_Count rcount, MPI_Datatype rtype)
{
	/* asking MPI for a type's size takes time */
	const bool same = in_place || (scount == rcount && stype == rtype);
	c->moved.received = (in_place ? n - 1 : n) * sp_mpi_bytes(rcount, rtype);
	c->moved.sent = same ? c->moved.received : n * sp_mpi_bytes(scount, stype);
}

void sp_mpi_barrier(struct sp_mpi_call *c, MPI_Comm comm)
{
	is(c, comm, SP_MPI_BARRIER);
}

void sp_mpi_allgather(struct sp_mpi_call *c, const void *sbuf, MPI_Count scount, MPI_Datatype stype, MPI_Count rcount,
                      MPI_Datatype rtype, MPI_Comm comm)
{
	const struct sp_mpi_comm *m = is(c, comm, SP_MPI_ALLGATHER);
	if (m)
		with_each(c, partners(m), sbuf == MPI_IN_PLACE, scount, stype, rcount, rtype);
}

void sp_mpi_allgatherv(struct sp_mpi_call *c, const void *sbuf, MPI_Count scount, MPI_Datatype stype,
                       struct sp_mpi_counts rcounts, MPI_Datatype rtype, MPI_Comm comm)
{
	const struct sp_mpi_comm *m = is(c, comm, SP_MPI_ALLGATHERV);
	if (!m)
		return;
	const uint32_t n = partners(m);
	c->moved.received = bytes_of_all(rcounts, n, rtype);
	if (sbuf == MPI_IN_PLACE) {
		const uint64_t own = sp_mpi_bytes(count_of(rcounts, m->rank), rtype);
		c->moved.received -= own;
		c->moved.sent = (n - 1) * own;
	} else {
		c->moved.sent = n * sp_mpi_bytes(scount, stype);
	}
}

void sp_mpi_alltoall(struct sp_mpi_call *c, const void *sbuf, MPI_Count scount, MPI_Datatype stype, MPI_Count rcount,
                     MPI_Datatype rtype, MPI_Comm comm)
{
	const struct sp_mpi_comm *m = is(c, comm, SP_MPI_ALLTOALL);
	if (m)
		with_each(c, partners(m), sbuf == MPI_IN_PLACE, scount, stype, rcount, rtype);
}

/* In place, each pair of processes sends the same amount in both directions. */
void sp_mpi_alltoallv(struct sp_mpi_call *c, const void *sbuf, struct sp_mpi_counts scounts, MPI_Datatype stype,
                      struct sp_mpi_counts rcounts, MPI_Datatype rtype, MPI_Comm comm)
{
	const struct sp_mpi_comm *m = is(c, comm, SP_MPI_ALLTOALLV);
	if (!m)
		return;
	c->moved.received = bytes_of_all(rcounts, partners(m), rtype);
	if (sbuf == MPI_IN_PLACE) {
		c->moved.received -= sp_mpi_bytes(count_of(rcounts, m->rank), rtype);
		c->moved.sent = c->moved.received;
	} else {
		c->moved.sent = bytes_of_all(scounts, partners(m), stype);
	}
}

void sp_mpi_alltoallw(struct sp_mpi_call *c, const void *sbuf, struct sp_mpi_counts scounts, const MPI_Datatype *stypes,
                      struct sp_mpi_counts rcounts, const MPI_Datatype *rtypes, MPI_Comm comm)
{
	const struct sp_mpi_comm *m = is(c, comm, SP_MPI_ALLTOALLW);
	if (!m)
		return;
	c->moved.received = bytes_of_types(rcounts, partners(m), rtypes);
	if (sbuf == MPI_IN_PLACE) {
		c->moved.received -= sp_mpi_bytes(count_of(rcounts, m->rank), rtypes[m->rank]);
		c->moved.sent = c->moved.received;
	} else {
		c->moved.sent = bytes_of_types(scounts, partners(m), stypes);
	}
}

/* ---- reductions for all ---- */

void sp_mpi_allreduce(struct sp_mpi_call *c, const void *sbuf, MPI_Count count, MPI_Datatype type, MPI_Comm comm)
{
	const struct sp_mpi_comm *m = is(c, comm, SP_MPI_ALLREDUCE);
	if (m)
		with_each(c, partners(m), sbuf == MPI_IN_PLACE, count, type, count, type);
}

void sp_mpi_reduce_scatter(struct sp_mpi_call *c, const void *sbuf, struct sp_mpi_counts counts, MPI_Datatype type,
                           MPI_Comm comm)
{
	const struct sp_mpi_comm *m = is(c, comm, SP_MPI_REDUCE_SCATTER);
	if (!m)
		return;
	/* the counts are those of this group, in which each member gets a part; the data come from the partners */
	const uint64_t own = sp_mpi_bytes(count_of(counts, m->rank), type), all = bytes_of_all(counts, m->size, type);
	const bool in_place = sbuf == MPI_IN_PLACE;
	c->moved.sent = in_place ? all - own : all;
	c->moved.received = (in_place ? partners(m) - 1 : partners(m)) * own;
}

void sp_mpi_reduce_scatter_block(struct sp_mpi_call *c, const void *sbuf, MPI_Count count, MPI_Datatype type,
                                 MPI_Comm comm)
{
	const struct sp_mpi_comm *m = is(c, comm, SP_MPI_REDUCE_SCATTER_BLOCK);
	if (m)
		with_each(c, m->size, sbuf == MPI_IN_PLACE, count, type, count, type);
}

/* Rank i sends to higher ranks and receives from lower ranks; in an inclusive scan also to and from itself. */
static void scan(struct sp_mpi_call *c, const struct sp_mpi_comm *m, uint32_t itself, uint64_t bytes)
{
	c->moved.sent = (m->size - m->rank - 1 + itself) * bytes;
	c->moved.received = (m->rank + itself) * bytes;
}

void sp_mpi_scan(struct sp_mpi_call *c, const void *sbuf, MPI_Count count, MPI_Datatype type, MPI_Comm comm)
{
	const struct sp_mpi_comm *m = is(c, comm, SP_MPI_SCAN);
	if (m)
		scan(c, m, sbuf == MPI_IN_PLACE ? 0 : 1, sp_mpi_bytes(count, type));
}

void sp_mpi_exscan(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, MPI_Comm comm)
{
	const struct sp_mpi_comm *m = is(c, comm, SP_MPI_EXSCAN);
	if (m)
		scan(c, m, 0, sp_mpi_bytes(count, type));
}
