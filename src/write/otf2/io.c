/* SPDX-License-Identifier: BSD-3-Clause */
/* File I/O as in Score-P's adapters: a paradigm for POSIX and one for MPI, a file for each path, a handle for each
 * opening. The flags have the values of open(2) on the converting system, which is nearly always the same system as the
 * measured one. */
#include <fcntl.h>

#include "model/event.h"
#include "model/file.h"
#include "model/model.h"
#include "model/str.h"
#include "write/otf2/archive.h"

enum paradigm { PARADIGM_POSIX, PARADIGM_MPI_IO };

struct flag {
	int open;
	unsigned otf2;
};

static const struct flag creation_flags[] = {
    {O_CREAT, OTF2_IO_CREATION_FLAG_CREATE},
    {O_TRUNC, OTF2_IO_CREATION_FLAG_TRUNCATE},
    {O_DIRECTORY, OTF2_IO_CREATION_FLAG_DIRECTORY},
    {O_EXCL, OTF2_IO_CREATION_FLAG_EXCLUSIVE},
    {O_NOCTTY, OTF2_IO_CREATION_FLAG_NO_CONTROLLING_TERMINAL},
    {O_NOFOLLOW, OTF2_IO_CREATION_FLAG_NO_FOLLOW},
    {O_PATH, OTF2_IO_CREATION_FLAG_PATH},
    {O_TMPFILE, OTF2_IO_CREATION_FLAG_TEMPORARY_FILE},
    {O_LARGEFILE, OTF2_IO_CREATION_FLAG_LARGEFILE},
    {0},
};

static const struct flag status_flags[] = {
    {O_CLOEXEC, OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC},
    {O_APPEND, OTF2_IO_STATUS_FLAG_APPEND},
    {O_NONBLOCK, OTF2_IO_STATUS_FLAG_NON_BLOCKING},
    {O_ASYNC, OTF2_IO_STATUS_FLAG_ASYNC},
    {O_SYNC, OTF2_IO_STATUS_FLAG_SYNC},
    {O_DSYNC, OTF2_IO_STATUS_FLAG_DATA_SYNC},
    {O_DIRECT, OTF2_IO_STATUS_FLAG_AVOID_CACHING},
    {O_NOATIME, OTF2_IO_STATUS_FLAG_NO_ACCESS_TIME},
    {0},
};

static unsigned flags_of(uint32_t open, const struct flag *table)
{
	unsigned flags = 0;

	/* a flag may consist of several bits, and O_LARGEFILE of none */
	for (; table->otf2; table++)
		if (table->open && (open & (uint32_t)table->open) == (uint32_t)table->open)
			flags |= table->otf2;
	return flags;
}

static OTF2_IoAccessMode access_of(uint32_t open)
{
	switch (open & O_ACCMODE) {
	case O_RDONLY:
		return OTF2_IO_ACCESS_MODE_READ_ONLY;
	case O_WRONLY:
		return OTF2_IO_ACCESS_MODE_WRITE_ONLY;
	default:
		return OTF2_IO_ACCESS_MODE_READ_WRITE;
	}
}

/* The number of an operation. Operations on a handle that are outstanding together need different numbers. Operations
 * of MPI that continue after their call have a number from the process: they get even numbers. All others are counted
 * by the handle; on a handle of MPI they get odd numbers. */
static uint64_t number_of(const struct sp_otf2 *a, const struct sp_event *ev)
{
	if (ev->u.io->matching)
		return 2 * ev->u.io->matching;
	const uint64_t own = a->handles[ev->id].matching;
	return a->m->io_handles[ev->id].mpi ? 2 * own - 1 : own;
}

/* The reference of a handle; handles are numbered in the order of first use, without gaps. */
static OTF2_IoHandleRef handle(struct sp_otf2 *a, uint32_t index)
{
	struct sp_otf2_handle *h = &a->handles[index];

	if (!h->number) {
		a->handle_order[a->n_handles++] = index;
		h->number = a->n_handles;
	}
	return h->number - 1;
}

static int put_begin(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev)
{
	static const OTF2_IoOperationMode modes[] = {OTF2_IO_OPERATION_MODE_READ, OTF2_IO_OPERATION_MODE_WRITE,
	                                             OTF2_IO_OPERATION_MODE_FLUSH};
	struct sp_otf2_handle *h = &a->handles[ev->id];
	const struct sp_io *io = ev->u.io;

	const unsigned flags = (io->flags & SP_IO_NON_BLOCKING ? OTF2_IO_OPERATION_FLAG_NON_BLOCKING : 0u) |
	                       (io->flags & SP_IO_COLLECTIVE ? OTF2_IO_OPERATION_FLAG_COLLECTIVE : 0u);

	/* numbers may repeat if several threads use a handle: readers match them within each location */
	if (!io->matching) {
		h->matching++;
		h->open = true;
		h->location = location;
	}
	if (io->offset != UINT64_MAX)
		OTF2_AttributeList_AddUint64(a->attributes, ATTRIBUTE_OFFSET, io->offset);
	return OTF2_EvtWriter_IoOperationBegin(w, a->attributes, ev->time, handle(a, ev->id),
	                                       modes[io->mode < 3 ? io->mode : 0], (OTF2_IoOperationFlag)flags,
	                                       (uint64_t)io->asked, number_of(a, ev));
}

static int put_complete(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev)
{
	struct sp_otf2_handle *h = &a->handles[ev->id];
	const struct sp_io *io = ev->u.io;

	if (io->matching)
		return OTF2_EvtWriter_IoOperationComplete(w, NULL, ev->time, handle(a, ev->id), io->bytes,
		                                          number_of(a, ev));
	if (!h->open || h->location != location)
		return 0; /* its begin was dropped, which a marker of the location reports */
	h->open = false;
	return OTF2_EvtWriter_IoOperationComplete(w, NULL, ev->time, handle(a, ev->id), io->bytes, number_of(a, ev));
}

static OTF2_IoFileRef file_of(struct sp_otf2 *a, struct sp_str path)
{
	uint32_t ref = sp_intern(&a->files, path.p, path.n);

	if (ref == SP_INTERN_FAILED)
		sp_otf2_fail_memory(a);
	return ref;
}

static int put_delete(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev)
{
	a->mpi_io |= ev->u.io->mode;
	a->posix_io |= !ev->u.io->mode;
	return OTF2_EvtWriter_IoDeleteFile(w, NULL, ev->time, ev->u.io->mode ? PARADIGM_MPI_IO : PARADIGM_POSIX,
	                                   file_of(a, a->m->strings[ev->id]));
}

int sp_otf2_io(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev, bool found)
{
	static const OTF2_IoSeekOption origins[] = {OTF2_IO_SEEK_FROM_START, OTF2_IO_SEEK_FROM_CURRENT,
	                                            OTF2_IO_SEEK_FROM_END, OTF2_IO_SEEK_DATA, OTF2_IO_SEEK_HOLE};
	const struct sp_io *io = ev->u.io;
	uint32_t flags;

	if (ev->kind == SP_EVENT_IO_DELETE)
		return put_delete(a, w, ev);
	flags = a->m->io_handles[ev->id].flags;
	const OTF2_IoHandleRef ref = handle(a, ev->id);
	switch (ev->kind) {
	case SP_EVENT_IO_CREATE:
		if (found)
			return 0;
		a->handles[ev->id].created = true;
		return OTF2_EvtWriter_IoCreateHandle(w, NULL, ev->time, ref, access_of(flags),
		                                     (OTF2_IoCreationFlag)flags_of(flags, creation_flags),
		                                     (OTF2_IoStatusFlag)flags_of(flags, status_flags));
	case SP_EVENT_IO_DESTROY:
		return OTF2_EvtWriter_IoDestroyHandle(w, NULL, ev->time, ref);
	case SP_EVENT_IO_DUP:
		a->handles[io->to].created = true;
		flags = flags_of(a->m->io_handles[io->to].flags, status_flags);
		return OTF2_EvtWriter_IoDuplicateHandle(w, NULL, ev->time, ref, handle(a, io->to),
		                                        (OTF2_IoStatusFlag)flags);
	case SP_EVENT_IO_SEEK:
		return OTF2_EvtWriter_IoSeek(w, NULL, ev->time, ref, io->asked, origins[io->mode < 5 ? io->mode : 0],
		                             io->offset);
	case SP_EVENT_IO_BEGIN:
		return put_begin(a, w, location, ev);
	case SP_EVENT_IO_COMPLETE:
		return put_complete(a, w, location, ev);
	case SP_EVENT_IO_ISSUED:
		return OTF2_EvtWriter_IoOperationIssued(w, NULL, ev->time, ref, number_of(a, ev));
	}
	return 0;
}

/* Paths are files; names of pipes, sockets and the like belong only to the handle. */
static OTF2_IoFileRef handle_file(struct sp_otf2 *a, const struct sp_io_handle *h, bool *directory, size_t capacity)
{
	if (!h->path.n || (h->path.p[0] != '/' && !h->mpi))
		return OTF2_UNDEFINED_IO_FILE;
	uint32_t ref = file_of(a, h->path);
	if (ref < capacity && (h->flags & O_DIRECTORY) && (h->flags & O_TMPFILE) != O_TMPFILE)
		directory[ref] = true;
	return ref;
}

static void define_files(struct sp_otf2 *a, const bool *directory)
{
	for (uint32_t ref = 0; ref < a->files.n; ref++) {
		OTF2_StringRef path =
		    sp_otf2_string(a, (struct sp_str){a->files.entries[ref].p, a->files.entries[ref].n});
		if (directory[ref])
			OTF2_GlobalDefWriter_WriteIoDirectory(a->defs, ref, path, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
		else
			OTF2_GlobalDefWriter_WriteIoRegularFile(a->defs, ref, path, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
	}
}

static void define_paradigms(struct sp_otf2 *a)
{
	OTF2_IoParadigmProperty property = OTF2_IO_PARADIGM_PROPERTY_VERSION;
	OTF2_Type type = OTF2_TYPE_STRING;
	OTF2_AttributeValue value = {0};

	if (a->posix_io || a->mpi_io) /* references must be in order */
		OTF2_GlobalDefWriter_WriteIoParadigm(a->defs, PARADIGM_POSIX, sp_otf2_literal(a, "POSIX"),
		                                     sp_otf2_literal(a, "POSIX I/O"), OTF2_IO_PARADIGM_CLASS_SERIAL,
		                                     OTF2_IO_PARADIGM_FLAG_OS, 0, &property, &type, &value);
	if (a->mpi_io)
		OTF2_GlobalDefWriter_WriteIoParadigm(a->defs, PARADIGM_MPI_IO, sp_otf2_literal(a, "MPI-IO"),
		                                     sp_otf2_literal(a, "MPI-IO"), OTF2_IO_PARADIGM_CLASS_PARALLEL,
		                                     OTF2_IO_PARADIGM_FLAG_NONE, 0, &property, &type, &value);
}

static void define_handle(struct sp_otf2 *a, OTF2_IoHandleRef ref, OTF2_IoFileRef file)
{
	const uint32_t index = a->handle_order[ref];
	const struct sp_io_handle *h = &a->m->io_handles[index];
	const bool before = !a->handles[index].created;
	OTF2_StringRef name = sp_otf2_string(a, file == OTF2_UNDEFINED_IO_FILE ? h->path : sp_text(""));

	OTF2_GlobalDefWriter_WriteIoHandle(
	    a->defs, ref, name, file, h->mpi ? PARADIGM_MPI_IO : PARADIGM_POSIX,
	    before ? OTF2_IO_HANDLE_FLAG_PRE_CREATED : OTF2_IO_HANDLE_FLAG_NONE,
	    h->comm != SP_NONE && a->comm_refs[h->comm] != SP_NONE ? a->comm_refs[h->comm] : OTF2_UNDEFINED_COMM,
	    OTF2_UNDEFINED_IO_HANDLE);
	if (before)
		OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(a->defs, ref, access_of(h->flags),
		                                                  (OTF2_IoStatusFlag)flags_of(h->flags, status_flags));
}

void sp_otf2_define_io(struct sp_otf2 *a)
{
	const struct sp_model *m = a->m;
	const size_t capacity = a->files.n + a->n_handles;
	bool *directory = sp_arena_zalloc(&a->arena, capacity, sizeof *directory);
	OTF2_IoFileRef *files = sp_arena_zalloc(&a->arena, a->n_handles, sizeof *files);

	if (!directory || !files) {
		sp_otf2_fail_memory(a);
		return;
	}
	for (uint32_t ref = 0; ref < a->n_handles; ref++) {
		const struct sp_io_handle *h = &m->io_handles[a->handle_order[ref]];
		files[ref] = handle_file(a, h, directory, capacity);
		a->mpi_io |= h->mpi;
		a->posix_io |= !h->mpi;
	}
	if (a->failed)
		return;
	define_paradigms(a);
	define_files(a, directory);
	for (uint32_t ref = 0; ref < a->n_handles; ref++)
		define_handle(a, ref, files[ref]);
}
