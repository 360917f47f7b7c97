/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the extension module `_analyse` share. */
#ifndef SP_ANALYSE_ANALYSE_H
#define SP_ANALYSE_ANALYSE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <time.h>

#include "base/err.h"
#include "model/report/report.h"
#include "model/str.h"

/* The keys of a row; each string object is made once. */
enum sp_key {
	KEY_NAME,
	KEY_MODULE,
	KEY_QUALNAME,
	KEY_FILE,
	KEY_LINE,
	KEY_KIND,
	KEY_CATEGORY,
	KEY_VISITS,
	KEY_RESUMED,
	KEY_INCL,
	KEY_EXCL,
	KEY_INDEX,
	KEY_RUNNING,
	KEY_WAITING,
	KEY_MEAN,
	KEY_MIN,
	KEY_MAX,
	KEY_STD,
	KEY_DEPTH,
	KEY_PATH,
	KEY_PARENT,
	KEY_HIDDEN,
	KEY_HIDDEN_TIME,
	KEY_HIDDEN_RUNNING,
	KEY_HIDDEN_WAITING,
	KEY_RUNNING_INCL,
	KEY_WAITING_INCL,
	KEY_METRICS,
	KEY_PARAMETERS,
	KEYS
};

struct sp_state {
	PyObject *error;      /* owned; spartito._analyse.Error */
	PyObject *model_type; /* owned */
	PyObject *keys[KEYS]; /* owned */
};

struct sp_model_object {
	PyObject_HEAD struct sp_model *model; /* owned; NULL until loaded */
	PyThread_type_lock lock; /* owned; held by the method that uses the model, which may have released the GIL */
	unsigned long owner;     /* the thread that holds it */
	bool held;
	bool rows;                  /* sp_model_rows() has succeeded */
	PyObject *base;             /* owned; the model of the base; NULL: no base */
	struct sp_against *against; /* owned; NULL: no base */
	struct sp_view_kept *kept;  /* owned */
};

extern PyType_Spec sp_model_spec, sp_compressor_spec, sp_decompressor_spec;

/* The state of the module that defines the type of self; NULL with an exception set. */
struct sp_state *sp_state_of(PyObject *self);

/* Returns 0, or -1 with an exception set if the calling thread is in a callback of a method that uses the model. */
int sp_model_check(const struct sp_model_object *self);
/* Waits until no other thread uses the model. Returns 0, or -1 with an exception set. */
int sp_model_enter(struct sp_model_object *self);
void sp_model_leave(struct sp_model_object *self);

/* Raises Error with the text of e, or MemoryError; returns NULL. */
PyObject *sp_raise(struct sp_state *st, const struct sp_err *e);

PyObject *sp_text(struct sp_str s);
PyObject *sp_index_or_none(uint32_t i); /* None for SP_NONE */
/* Stores a new reference under a key and takes it over. Returns 0, or -1 with an exception set, also if value is
 * NULL. */
int sp_put(PyObject *dict, const char *key, PyObject *value);
int sp_put_key(struct sp_state *st, PyObject *dict, enum sp_key key, PyObject *value);

/* Add to a row, if there are any: the sums of the metrics under "metrics", the parameter values of a path under
 * "parameters". */
int sp_put_metrics(struct sp_state *st, PyObject *row, const struct sp_model *m, const struct sp_sum *sums);
int sp_put_parameters(struct sp_state *st, PyObject *row, const struct sp_model *m, uint32_t value);
PyObject *sp_metric_list(const struct sp_model *m);
/* A list with the sums of the garbage collections of each generation. */
PyObject *sp_tally_collections(const struct sp_model *m);
/* The number of calls that exceptions ended. */
PyObject *sp_tally_exceptions(const struct sp_model *m);
/* A list of the names of a path's regions, outermost first. */
PyObject *sp_path_names(const struct sp_model *m, uint32_t path);
/* Stores these names in a dictionary under the path's number, unless it contains them. Returns 0, or -1 with an
 * exception set. */
int sp_put_stack(PyObject *stacks, const struct sp_model *m, uint32_t path);
/* Appends a new reference and takes it over. Returns 0, or -1 with an exception set, also if item is NULL. */
int sp_append(PyObject *list, PyObject *item);

/* Reads indices of processes or locations: a flag for each of n, to be freed with free(). Returns NULL with an
 * exception, or without one if `units` is None. */
bool *sp_read_chosen(PyObject *units, size_t n);

/* Progress of an operation without the GIL. progress: borrowed; None or NULL: no callback. The thread releases the GIL
 * in sp_watch_begin() and acquires it again in sp_watch_end(). */
struct sp_watch {
	PyObject *progress;
	PyThreadState *thread;
	struct timespec last;
};
void sp_watch_begin(struct sp_watch *w);
void sp_watch_end(struct sp_watch *w);
/* Reports progress; may be called arbitrarily often. Twenty times a second, and at the end, it handles signals and
 * calls progress(done, total). Returns 0, or -1 with an exception set. */
int sp_watch(void *watch, uint64_t done, uint64_t total);

/* Methods of Model; _analyse.pyi has their signatures. */
PyObject *sp_model_info(PyObject *self, PyObject *unused);
PyObject *sp_model_flat(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_imports(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_own_report(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_tree(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_callers(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_io(PyObject *self, PyObject *unused);
PyObject *sp_model_memory(PyObject *self, PyObject *none);
PyObject *sp_model_locks(PyObject *o, PyObject *none);
PyObject *sp_model_tallies(PyObject *self, PyObject *none);
PyObject *sp_model_tasks(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_lines(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_balance(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_messages(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_waits(PyObject *self, PyObject *unused);
PyObject *sp_model_critical_path(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_table(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_view(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_sum_up(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_graph(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_view_against(PyObject *self, PyObject *base);
PyObject *sp_model_plot(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *sp_model_convert(PyObject *self, PyObject *args, PyObject *kwargs);

/* Functions of the module. */
PyObject *sp_analyse_compare(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *sp_analyse_welch(PyObject *module, PyObject *pairs);
PyObject *sp_analyse_compress(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *sp_analyse_merge(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *sp_analyse_keep_symbols(PyObject *module, PyObject *directory);
PyObject *sp_analyse_still_written(PyObject *module, PyObject *directory);
PyObject *sp_analyse_seal(PyObject *module, PyObject *file);
PyObject *sp_analyse_take_cost(PyObject *module, PyObject *args);

#endif
