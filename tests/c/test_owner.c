/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose code a file is, by the directories around it. */
#include "base/owner/owner.h"
#include "check.h"

static void add(struct sp_owners *o, enum sp_owner_directory kind, const char *path)
{
	MUST(sp_owners_add(o, kind, path, strlen(path)) == 0);
}

static const char *owner(const struct sp_owners *o, const char *file)
{
	return sp_owner_names[sp_owner_of(o, "module", "function", file)];
}

#define IS(file, name) CHECK(strcmp(owner(&o, file), name) == 0)

static void test_directories(void)
{
	struct sp_owners o = {0};

	add(&o, SP_OWNER_PROGRAM, "/home/u/app");
	IS("/home/u/app/a.py", "own");
	IS("/usr/lib/python3/os.py", "other"); /* the standard library is not known */
	add(&o, SP_OWNER_LIBRARY, "/usr/lib/python3");
	add(&o, SP_OWNER_PREFIX, "/home/u/app/.venv/");
	IS("/usr/lib/python3/os.py", "standard");
	IS("/usr/lib/python3/site-packages/a.py", "libraries");
	IS("/usr/lib/python3-other/a.py", "libraries");
	IS("/home/u/application/a.py", "libraries");
	IS("/home/u/app/.venv/bin/pytest", "libraries");
	IS("/home/u/app/.venv/other/a.py", "own"); /* an environment may be the project's directory */
	IS("/home/u/app/.venv/lib/site-packages/a/b.py", "libraries");
	IS("/home/u/app/node_modules/a/b.py", "libraries");
	IS("/home/u/app/tests/../src/a.py", "own");
	IS("/home/u/app/../lib/a.py", "libraries");
	IS("/home/u/app/../../../../a.py", "libraries");
	IS("<frozen os>", "standard");
	IS("In[3]", "own");
	IS("", "other");
	sp_owners_clear(&o);
}

static void test_choice(void)
{
	static const char chosen[] = "/home/u/lib\n\n/opt/v/site-packages/mine\n/home/u/one.py";
	struct sp_owners o = {0}, copy = {0};

	add(&o, SP_OWNER_PROGRAM, "/");
	add(&o, SP_OWNER_LIBRARY, "/home/u/lib/Lib");
	MUST(sp_owners_add_lines(&o, chosen, sizeof chosen - 1) == 0);
	sp_owners_take(&copy, &o);
	sp_owners_clear(&o);
	o = copy;
	IS("/home/u/lib/a.py", "own");
	IS("/home/u/one.py", "own");
	IS("/home/u/lib/Lib/os.py", "standard"); /* the deepest one decides */
	IS("/home/u/lib/site-packages/a.py", "libraries");
	IS("/opt/v/site-packages/mine/a.py", "own");
	IS("/opt/v/site-packages/other/a.py", "libraries");
	IS("/anywhere/a.py", "own");
	add(&o, SP_OWNER_CHOSEN, "/home/u/lib/Lib");
	IS("/home/u/lib/Lib/os.py", "own");
	sp_owners_clear(&o);
}

/* A damaged file may have any bytes in a path. */
static void test_zero(void)
{
	static char path[3000] = "/home";
	struct sp_owners o = {0};
	char *file = strdup("/home");

	MUST(file);
	memset(path + 6, 'x', sizeof path - 6);
	MUST(sp_owners_add(&o, SP_OWNER_PROGRAM, path, sizeof path) == 0);
	IS(file, "own");
	free(file);
	sp_owners_clear(&o);
}

static void test_script(void)
{
	struct sp_owners o = {0};

	add(&o, SP_OWNER_PROGRAM, "/work");
	add(&o, SP_OWNER_LIBRARY, "/usr/lib/python3");
	IS("/home/u/b.py", "libraries");
	CHECK(sp_owner_of(&o, "__main__", "f", "<string>") == SP_OWNER_OWN); /* python -c */
	CHECK(sp_owner_of(&o, "other", "f", "<string>") == SP_OWNER_LIBRARIES);
	MUST(sp_owners_see(&o, "other", "/home/v/b.py") == 0);
	IS("/home/v/b.py", "libraries");
	MUST(sp_owners_see(&o, "__main__", "/home/u/a.py") == 0);
	IS("/home/u/b.py", "own");
	CHECK(sp_owner_of(&o, "__main__", "f", "<string>") == SP_OWNER_LIBRARIES); /* generated */
	sp_owners_clear(&o);
}

int main(void)
{
	test_directories();
	test_choice();
	test_zero();
	test_script();
	return check_failures != 0;
}
