/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes of a run are found by their environment, also while one of them executes another program. */
#include "sample/control/family.h"
#include "check.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEARCHES = 300 };

/* Executes itself for ever. */
static int again(char **argv)
{
	execv("/proc/self/exe", argv);
	return 1;
}

int main(int argc, char **argv)
{
	char experiment[64];
	bool lives = true;

	if (argc > 1)
		return again(argv);
	snprintf(experiment, sizeof experiment, "/nowhere/test_family-%ld", (long)getpid());
	CHECK(!sp_family_lives(experiment));
	const pid_t pid = fork();
	if (pid == 0) {
		char *words[] = {argv[0], "again", NULL};
		setenv("SPARTITO_EXPERIMENT", experiment, 1);
		_exit(again(words));
	}
	MUST(pid > 0);
	while (!sp_family_lives(experiment)) /* it has not executed anything yet */
		usleep(1000);
	for (int i = 0; lives && i < SEARCHES; i++)
		lives = sp_family_lives(experiment);
	CHECK(lives);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(!sp_family_lives(experiment));
	return check_failures ? 1 : 0;
}
