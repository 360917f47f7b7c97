/* SPDX-License-Identifier: BSD-3-Clause */
/* File I/O as Score-P's POSIX adapter has it: one paradigm, a file for each path, a handle for each time it was open.
 * The flags are those of open(2) on the system that converts, which is the one that recorded in all but rare cases. */
#include <fcntl.h>

#include "write/otf2_archive.h"

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

	/* a flag may be made of several bits, and O_LARGEFILE of none */
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

static int put_begin(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev)
{
	static const OTF2_IoOperationMode modes[] = {OTF2_IO_OPERATION_MODE_READ, OTF2_IO_OPERATION_MODE_WRITE,
	                                             OTF2_IO_OPERATION_MODE_FLUSH};
	struct sp_otf2_handle *h = &a->handles[ev->id];
	const struct sp_io *io = ev->u.io;

	/* numbers may repeat where a handle is used by several threads: they are matched in each location alone */
	h->matching++;
	h->open = true;
	h->location = location;
	if (io->offset != UINT64_MAX)
		OTF2_AttributeList_AddUint64(a->attributes, ATTRIBUTE_OFFSET, io->offset);
	return OTF2_EvtWriter_IoOperationBegin(w, a->attributes, ev->time, ev->id, modes[io->mode < 3 ? io->mode : 0],
	                                       OTF2_IO_OPERATION_FLAG_NONE, (uint64_t)io->asked, h->matching);
}

static int put_complete(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev)
{
	struct sp_otf2_handle *h = &a->handles[ev->id];

	if (!h->open || h->location != location)
		return 0; /* its begin was lost, and the location's marker tells of that */
	h->open = false;
	return OTF2_EvtWriter_IoOperationComplete(w, NULL, ev->time, ev->id, ev->u.io->bytes, h->matching);
}

int sp_otf2_io(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev, bool found)
{
	static const OTF2_IoSeekOption origins[] = {OTF2_IO_SEEK_FROM_START, OTF2_IO_SEEK_FROM_CURRENT,
	                                            OTF2_IO_SEEK_FROM_END, OTF2_IO_SEEK_DATA, OTF2_IO_SEEK_HOLE};
	const struct sp_io *io = ev->u.io;
	uint32_t flags = a->m->io_handles[ev->id].flags;

	a->handles[ev->id].seen = true;
	switch (ev->kind) {
	case SP_EVENT_IO_CREATE:
		if (found)
			return 0;
		a->handles[ev->id].created = true;
		return OTF2_EvtWriter_IoCreateHandle(w, NULL, ev->time, ev->id, access_of(flags),
		                                     (OTF2_IoCreationFlag)flags_of(flags, creation_flags),
		                                     (OTF2_IoStatusFlag)flags_of(flags, status_flags));
	case SP_EVENT_IO_DESTROY:
		return OTF2_EvtWriter_IoDestroyHandle(w, NULL, ev->time, ev->id);
	case SP_EVENT_IO_DUP:
		a->handles[io->to].seen = a->handles[io->to].created = true;
		flags = flags_of(a->m->io_handles[io->to].flags, status_flags);
		return OTF2_EvtWriter_IoDuplicateHandle(w, NULL, ev->time, ev->id, io->to, (OTF2_IoStatusFlag)flags);
	case SP_EVENT_IO_SEEK:
		return OTF2_EvtWriter_IoSeek(w, NULL, ev->time, ev->id, io->asked, origins[io->mode < 5 ? io->mode : 0],
		                             io->offset);
	case SP_EVENT_IO_BEGIN:
		return put_begin(a, w, location, ev);
	case SP_EVENT_IO_COMPLETE:
		return put_complete(a, w, location, ev);
	}
	return 0;
}

/* Paths are files; names of pipes, sockets and the like are those of the handle alone. */
static OTF2_IoFileRef define_file(struct sp_otf2 *a, struct sp_intern *files, const struct sp_io_handle *h)
{
	size_t known = files->n;

	if (!h->path.n || h->path.p[0] != '/')
		return OTF2_UNDEFINED_IO_FILE;
	uint32_t ref = sp_intern(files, h->path.p, h->path.n);
	if (ref == SP_INTERN_FAILED) {
		sp_otf2_fail_memory(a);
	} else if (ref == known && (h->flags & O_DIRECTORY) && (h->flags & O_TMPFILE) != O_TMPFILE) {
		OTF2_GlobalDefWriter_WriteIoDirectory(a->defs, ref, sp_otf2_string(a, h->path),
		                                      OTF2_UNDEFINED_SYSTEM_TREE_NODE);
	} else if (ref == known) {
		OTF2_GlobalDefWriter_WriteIoRegularFile(a->defs, ref, sp_otf2_string(a, h->path),
		                                        OTF2_UNDEFINED_SYSTEM_TREE_NODE);
	}
	return ref;
}

void sp_otf2_define_io(struct sp_otf2 *a)
{
	struct sp_intern files = {.arena = &a->arena};
	bool begun = false;

	for (uint32_t i = 0; i < a->m->n_io_handles && !a->failed; i++) {
		const struct sp_io_handle *h = &a->m->io_handles[i];
		if (!a->handles[i].seen)
			continue;
		if (!begun) {
			OTF2_IoParadigmProperty property = OTF2_IO_PARADIGM_PROPERTY_VERSION;
			OTF2_Type type = OTF2_TYPE_STRING;
			OTF2_AttributeValue value = {0};
			OTF2_GlobalDefWriter_WriteIoParadigm(
			    a->defs, 0, sp_otf2_literal(a, "POSIX"), sp_otf2_literal(a, "POSIX I/O"),
			    OTF2_IO_PARADIGM_CLASS_SERIAL, OTF2_IO_PARADIGM_FLAG_OS, 0, &property, &type, &value);
		}
		begun = true;
		OTF2_IoFileRef file = define_file(a, &files, h);
		bool before = !a->handles[i].created;
		OTF2_StringRef name = sp_otf2_string(a, file == OTF2_UNDEFINED_IO_FILE ? h->path : sp_text(""));
		OTF2_GlobalDefWriter_WriteIoHandle(a->defs, i, name, file, 0,
		                                   before ? OTF2_IO_HANDLE_FLAG_PRE_CREATED : OTF2_IO_HANDLE_FLAG_NONE,
		                                   OTF2_UNDEFINED_COMM, OTF2_UNDEFINED_IO_HANDLE);
		if (before)
			OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(
			    a->defs, i, access_of(h->flags), (OTF2_IoStatusFlag)flags_of(h->flags, status_flags));
	}
	sp_intern_free(&files);
}
