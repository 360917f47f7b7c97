/* SPDX-License-Identifier: BSD-3-Clause */
/* File I/O: the notes of the calls that did it. */
#include "model/event.h"
#include "model/file.h"
#include "model/model.h"
#include "model/str.h"
#include "write/timeline/timeline.h"

static void put_file(struct sp_notes *n, const char *name, struct sp_str path)
{
	sp_notes_text(n, name, path.n ? path : sp_text("(not known)"));
}

static void put_begin(struct sp_notes *n, struct sp_str path, const struct sp_io *io)
{
	static const char *const modes[] = {"read", "write", "flush"};

	sp_notes_text(n, "operation", sp_text(io->mode < 3 ? modes[io->mode] : "other"));
	put_file(n, "file", path);
	sp_notes_int(n, "asked", io->asked);
	if (io->offset != UINT64_MAX)
		sp_notes_uint(n, "offset", io->offset);
	if (io->flags & SP_IO_NON_BLOCKING)
		sp_notes_text(n, "mode", sp_text("non-blocking"));
	if (io->flags & SP_IO_COLLECTIVE)
		sp_notes_text(n, "mode", sp_text("collective"));
}

void sp_timeline_io(struct sp_timeline *t, const struct sp_event *ev)
{
	static const char *const names[] = {[SP_EVENT_IO_CREATE] = "opens",
	                                    [SP_EVENT_IO_DESTROY] = "closes",
	                                    [SP_EVENT_IO_DUP] = "duplicates",
	                                    [SP_EVENT_IO_SEEK] = "seeks in",
	                                    [SP_EVENT_IO_BEGIN] = "operation begins",
	                                    [SP_EVENT_IO_COMPLETE] = "operation complete",
	                                    [SP_EVENT_IO_ISSUED] = "operation issued",
	                                    [SP_EVENT_IO_DELETE] = "deletes"};
	const struct sp_model *m = t->m;
	const struct sp_io *io = ev->u.io;
	const struct sp_str path = ev->kind == SP_EVENT_IO_DELETE ? m->strings[ev->id] : m->io_handles[ev->id].path;
	struct sp_notes n = {.n = 0};

	switch (ev->kind) {
	case SP_EVENT_IO_BEGIN:
		put_begin(&n, path, io);
		break;
	case SP_EVENT_IO_COMPLETE:
		if (io->matching)
			put_file(&n, "completed in file", path);
		if (io->bytes == UINT64_MAX)
			sp_notes_text(&n, "bytes", sp_text("failed"));
		else
			sp_notes_uint(&n, "bytes", io->bytes);
		break;
	case SP_EVENT_IO_SEEK:
		put_file(&n, names[ev->kind], path);
		if (io->offset != UINT64_MAX)
			sp_notes_uint(&n, "offset", io->offset);
		break;
	default:
		put_file(&n, names[ev->kind], path);
	}
	sp_timeline_note(t, ev->time, names[ev->kind], "io", &n);
}
