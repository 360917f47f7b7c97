/* SPDX-License-Identifier: BSD-3-Clause */
/* What the recorder writes at the edges of its chunks. */
#include <pthread.h>

#include "check.h"
#include "record/hot.h"

/* An event with the most words of payload there is, after a time that does not fit into one, in a chunk with little
 * room: whatever that is, nothing is written past its end. */
static void *last_words(void *unused)
{
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t && t->traced);
	const uint64_t payload[4] = {1, 2, 3, 4};
	for (int room = 0; room < 16; room++) {
		const uint64_t *end = t->ev_end;
		t->loc.next = (uint64_t)(end - room);
		sp_extra_at(t, SP_RAW_X_IO_SEEK, payload, 4, t->loc.last + SP_RAW_DELTA_MAX + 1);
		CHECK(t->loc.next <= (uint64_t)t->ev_end);
		CHECK(t->loc.lost_events == 0);
	}
	return NULL;
}

int main(void)
{
	char dir[] = "/tmp/spartito-test-XXXXXX", raw[sizeof dir + 4];
	struct sp_settings s;
	sp_settings_init(&s);
	s.trace = true;
	MUST(mkdtemp(dir));
	snprintf(raw, sizeof raw, "%s/raw", dir);
	MUST(mkdir(raw, 0700) == 0);
	MUST(sp_process_start(dir, &s, NULL, SP_RAW_STARTED_API) == 0);
	/* in a thread that ends, for its end frees what it holds */
	pthread_t thread;
	MUST(pthread_create(&thread, NULL, last_words, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	sp_process_stop(SP_RAW_ENDED_STOPPED);
	unlink(sp_process.path);
	rmdir(raw);
	rmdir(dir);
	return check_failures != 0;
}
