/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/merge/talk.h"
#include "model/str.h"

#include <errno.h>
#include <string.h>

void sp_talk_begin(struct sp_pack *k, const struct sp_err *e, int rc)
{
	struct sp_str text = {rc ? e->text : "", rc ? strlen(e->text) : 0};
	int32_t code = rc ? e->code : 0;

	sp_pack_write(k);
	sp_pack_str(k, &text);
	sp_pack_number(k, code);
}

int sp_talk_send(struct sp_talk *t, int to, struct sp_pack *k, int rc, struct sp_err *e)
{
	struct sp_err why = {.code = 0};

	if (!t->mute && sp_pack_end(k, &why)) {
		/* not enough memory for the message: send that error instead */
		sp_pack_free(k);
		sp_talk_begin(k, &why, -1);
		rc = sp_fail(e, why.code, "%s", why.text);
	}
	if (!t->mute && t->links->send(t->links->arg, to, k->bytes, k->n)) {
		t->mute = true;
		if (rc == 0)
			rc = sp_fail(e, EIO, "rank %d cannot be reached", to);
	}
	sp_pack_free(k);
	return rc;
}

int sp_talk_receive(struct sp_talk *t, int from, struct sp_pack *k, struct sp_arena *arena, void **bytes, int rc,
                    struct sp_err *e)
{
	struct sp_str text = {"", 0};
	int32_t code = 0;
	size_t n = 0;

	*bytes = NULL;
	if (t->mute)
		return -1;
	if (t->links->receive(t->links->arg, from, bytes, &n)) {
		t->mute = true;
		*bytes = NULL;
		return rc ? rc : sp_fail(e, EIO, "rank %d cannot be reached", from);
	}
	sp_pack_read(k, arena, *bytes, n);
	sp_pack_str(k, &text);
	sp_pack_number(k, code);
	if (rc == 0 && (text.n || k->failed))
		rc = sp_fail(e, code, "%s", text.n ? text.p : "a message cannot be understood");
	return rc;
}
