/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions of C functions, found by the address of their method definition. */
#include "hook/naming.h"
#include "hook/naming/names.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "record/definitions.h"
#include "record/filter.h"
#include "record/process.h"
#include "record/thread.h"

#include <stdlib.h>

/* Guards the table, because each interpreter may have its own GIL. */
static pthread_mutex_t c_lock = PTHREAD_MUTEX_INITIALIZER;

void sp_names_c_forked(void)
{
	pthread_mutex_init(&c_lock, NULL);
}

/* A C function and its region: one entry for the type that defines a method, and one for each type that the method was
 * called on. */
struct c_entry {
	const PyMethodDef *def; /* NULL: free */
	const char *name;       /* definitions made at run time may replace each other at one address */
	const void *owner;      /* a type, or NULL */
	uint32_t region;
	uint64_t generation;
};
static struct c_entry *c_table; /* owned; under c_lock */
static size_t c_size, c_used;

static struct c_entry *c_find(const PyMethodDef *def, const void *owner)
{
	uint64_t h = ((uint64_t)def ^ (uint64_t)owner << 1) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = h >> 32 & (c_size - 1);
	while (c_table[i].def && !(c_table[i].def == def && c_table[i].owner == owner))
		i = (i + 1) & (c_size - 1);
	return &c_table[i];
}

static bool c_grow(void)
{
	size_t n = c_size;
	struct c_entry *old = c_table, *fresh = calloc(n ? n * 2 : 256, sizeof *fresh);
	if (!fresh)
		return false;
	c_table = fresh;
	c_size = n ? n * 2 : 256;
	for (size_t i = 0; i < n; i++)
		if (old[i].def)
			*c_find(old[i].def, old[i].owner) = old[i];
	free(old);
	return true;
}

/* Defines a region named as in cProfile: <built-in method math.sqrt>, <method 'append' of 'list' objects>. 0: it is
 * excluded, or belongs to Spartito. The end of region.__enter__(), which is a call from Python 3.14 on, would otherwise
 * end the region that it began. */
static uint32_t c_define(const PyMethodDef *def, const char *module, const PyTypeObject *type)
{
	char *full = NULL;
	if (sp_module_is_ours(type ? type->tp_name : module, ""))
		return 0;
	int n = type ? asprintf(&full, "<method '%s' of '%s' objects>", def->ml_name, type->tp_name)
	             : asprintf(&full, "<built-in method %s%s%s>", module, *module ? "." : "", def->ml_name);
	if (n < 0)
		return 0;
	struct sp_text m = {module, strlen(module)}, name = {full, (size_t)n}, file = {"", 0};
	uint32_t id = sp_filter_wants(sp_process.filter, module, def->ml_name, "")
	                  ? sp_define_region(m, name, file, 0, SP_RAW_REGION_C)
	                  : 0;
	free(full);
	return id;
}

/* Returns the entry of a definition and a type, which may be new; NULL if there is no memory. Needs c_lock. */
static struct c_entry *c_entry(const PyMethodDef *def, const void *owner)
{
	if (c_used * 2 >= c_size && !c_grow())
		return NULL;
	struct c_entry *e = c_find(def, owner);
	if (!e->def) {
		c_used++;
		*e = (struct c_entry){.def = def, .owner = owner};
	}
	return e;
}

static bool c_is_valid(const struct c_entry *e)
{
	return e->name == e->def->ml_name && e->generation == sp_slot_ok;
}

/* Gives the region that was stored for a call on an object of this type. */
static bool c_known(const PyMethodDef *def, const PyTypeObject *owner, uint32_t *region)
{
	pthread_mutex_lock(&c_lock);
	const struct c_entry *e = c_size ? c_find(def, owner) : NULL;
	const bool known = e && e->def && c_is_valid(e);
	if (known)
		*region = e->region;
	pthread_mutex_unlock(&c_lock);
	return known;
}

/* Returns the region of a function, and stores it for the type it was called on. All of these types share the region
 * of the type that defines the method. */
static uint32_t c_region(const PyMethodDef *def, const char *module, const PyTypeObject *type,
                         const PyTypeObject *owner)
{
	uint32_t id = 0;
	pthread_mutex_lock(&c_lock);
	struct c_entry *e = c_entry(def, type);
	if (e && !c_is_valid(e))
		*e = (struct c_entry){def, def->ml_name, type, c_define(def, module, type), sp_slot_ok};
	if (e)
		id = e->region;
	if (e && owner != type && (e = c_entry(def, owner)))
		*e = (struct c_entry){def, def->ml_name, owner, id, sp_slot_ok};
	pthread_mutex_unlock(&c_lock);
	return id;
}

/* Gives the identity of a C function: its definition and, for methods, the type. Returns false for other callables. */
static inline bool c_identity(PyObject *callable, const PyMethodDef **def, const PyTypeObject **owner)
{
	if (PyCFunction_Check(callable)) {
		const PyCFunctionObject *fn = (PyCFunctionObject *)callable;
		*def = fn->m_ml;
		*owner = NULL;
		if (!fn->m_module && fn->m_self && !PyModule_Check(fn->m_self))
			*owner = PyType_Check(fn->m_self) ? (PyTypeObject *)fn->m_self : Py_TYPE(fn->m_self);
		return true;
	}
	if (Py_TYPE(callable) != &PyMethodDescr_Type)
		return false;
	*def = ((PyMethodDescrObject *)callable)->d_method;
	*owner = PyDescr_TYPE(callable);
	return true;
}

/* Returns the definition of an entry of a type's dictionary: a method, class method, static method or __new__. */
static const PyMethodDef *definition_of(PyObject *entry)
{
	const PyMethodDef *def = NULL;
	if (Py_IS_TYPE(entry, &PyMethodDescr_Type) || Py_IS_TYPE(entry, &PyClassMethodDescr_Type))
		return ((PyMethodDescrObject *)entry)->d_method;
	PyObject *function = Py_IS_TYPE(entry, &PyStaticMethod_Type) ? PyObject_GetAttrString(entry, "__func__") : NULL;
	if (PyCFunction_Check(function ? function : entry))
		def = ((PyCFunctionObject *)(function ? function : entry))->m_ml;
	Py_XDECREF(function);
	return def;
}

/* Whether the type itself, not one that it inherits from, has this definition under its name. */
static bool has_definition(PyTypeObject *type, const PyMethodDef *def)
{
#if PY_VERSION_HEX >= 0x030C0000
	PyObject *dict = PyType_GetDict(type); /* a static type has a separate dictionary in each interpreter */
#else
	PyObject *dict = type->tp_dict;
	Py_XINCREF(dict);
#endif
	PyObject *found = dict ? PyDict_GetItemString(dict, def->ml_name) : NULL; /* borrowed */
	const bool has = found && definition_of(found) == def;
	Py_XDECREF(dict);
	return has;
}

/* Returns the type that defines a method, as cProfile names it: the receiver's type, or one that it inherits from. */
static const PyTypeObject *c_defined_by(PyTypeObject *type, const PyMethodDef *def)
{
	PyObject *mro = type->tp_mro;
	for (Py_ssize_t i = 0; mro && PyTuple_Check(mro) && i < PyTuple_GET_SIZE(mro); i++) {
		PyObject *base = PyTuple_GET_ITEM(mro, i);
		if (PyType_Check(base) && has_definition((PyTypeObject *)base, def))
			return (PyTypeObject *)base;
	}
	return NULL;
}

/* Returns the type that defines a function bound to an object; NULL if no type does: C code made it for that object. A
 * method bound to a class may belong to the class or to its metatype. */
static const PyTypeObject *c_defining(PyObject *self, const PyMethodDef *def)
{
	SP_SAVE_EXCEPTION;
	const PyTypeObject *found = PyType_Check(self) ? c_defined_by((PyTypeObject *)self, def) : NULL;
	if (!found)
		found = c_defined_by(Py_TYPE(self), def);
	SP_RESTORE_EXCEPTION;
	return found;
}

SP_COLD static uint32_t c_region_slow(PyObject *callable, const PyMethodDef *def, const PyTypeObject *owner)
{
	uint32_t id;
	if (c_known(def, owner, &id))
		return id;
	if (!PyCFunction_Check(callable))
		return c_region(def, "", owner, owner);
	const PyCFunctionObject *fn = (PyCFunctionObject *)callable;
	if (owner)
		return c_region(def, "", c_defining(fn->m_self, def), owner);
	struct sp_python_text m = sp_python_text(fn->m_module, "");
	id = c_region(def, m.p, NULL, NULL);
	Py_XDECREF(m.owner);
	return id;
}

uint64_t sp_names_c_key(PyObject *callable)
{
	const PyMethodDef *def;
	const PyTypeObject *owner;
	return c_identity(callable, &def, &owner) ? (uint64_t)def | 2 : 0;
}

uint32_t sp_names_c_function(struct sp_thread *t, PyObject *callable, uint64_t *key)
{
	const PyMethodDef *def;
	const PyTypeObject *owner;
	if (!c_identity(callable, &def, &owner))
		return 0;
	*key = (uint64_t)def | 2;
	struct sp_c_cache *c =
	    &t->c_cache[((uint64_t)def >> 5 ^ (uint64_t)def >> 11 ^ (uint64_t)owner >> 6) % SP_C_CACHE];
	if (SP_UNLIKELY(c->def != def || c->name != def->ml_name || c->owner != owner))
		*c = (struct sp_c_cache){def, def->ml_name, owner, c_region_slow(callable, def, owner)};
	return (uint32_t)c->region;
}
