/* What is done for each of some hundred links of a page, in one call, compiled.
 *
 * It uses only the limited API, so that one wheel serves all Python versions from 3.11 on.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_bulk_groups.h"

/* Raised with each change of the arguments or results. */
#define VERSION 5

/* Where links are taken, and the names of the attributes that say whether they may be. */
typedef struct {
    PyObject *found, *refused, *sources, *refusals, *allowed, *max_depth, *canonical, *outside, *refusal, *url;
    long long depth;
} page;

/* The target of the judgement, if ordinary links to it may be followed from a page of that depth. NULL otherwise, or
 * with an exception. */
static PyObject *
target_of(const page *of, PyObject *judgement)
{
    PyObject *target = PyObject_GetAttr(judgement, of->allowed);
    if (target == NULL || target == Py_None) {
        Py_XDECREF(target);
        return NULL;
    }
    PyObject *most = PyObject_GetAttr(judgement, of->max_depth);
    long long max_depth = most == NULL ? -1 : PyLong_AsLongLong(most);
    Py_XDECREF(most);
    if (of->depth >= max_depth || PyErr_Occurred())
        Py_CLEAR(target);
    return target;
}

/* Whether a link that is not allowed was refused, because it leads out of scope; -1 with an exception. */
static int
refuse(const page *of, PyObject *judgement)
{
    if (of->refusals == Py_None)
        return 0;
    PyObject *target = PyObject_GetAttr(judgement, of->outside);
    if (target == NULL || target == Py_None) {
        Py_XDECREF(target);
        return target == NULL ? -1 : 0;
    }
    int taken = -1;
    /* One after the other: a look-up that finds an exception set may clear it. */
    PyObject *canonical = PyObject_GetAttr(target, of->canonical);
    PyObject *url = canonical == NULL ? NULL : PyObject_GetAttr(target, of->url);
    PyObject *refusal = url == NULL ? NULL : PyObject_GetAttr(judgement, of->refusal);
    PyObject *told = refusal == NULL ? NULL : PyTuple_Pack(2, url, refusal);
    if (told != NULL) {
        int is_met = PyDict_Contains(of->found, canonical);
        if (is_met == 0)
            is_met = PySet_Contains(of->refused, canonical);
        if (is_met > 0)
            taken = 0;
        else if (is_met == 0 && PySet_Add(of->refused, canonical) == 0 && PyList_Append(of->refusals, told) == 0)
            taken = 1;
    }
    Py_XDECREF(told);
    Py_XDECREF(refusal);
    Py_XDECREF(url);
    Py_XDECREF(canonical);
    Py_DECREF(target);
    return taken;
}

/* Whether the link was taken; -1 with an exception. */
static int
take(const page *of, PyObject *link, PyObject *count, PyObject *judgement)
{
    int taken = -1;
    PyObject *target = target_of(of, judgement);
    if (target == NULL)
        return PyErr_Occurred() ? -1 : refuse(of, judgement);
    PyObject *canonical = PyObject_GetAttr(target, of->canonical);
    PyObject *before = canonical == NULL ? NULL : PyDict_GetItemWithError(of->found, canonical);
    if (before != NULL) {
        Py_INCREF(before); /* To add may run code that changes the dict. */
        PyObject *all = PyNumber_Add(before, count);
        if (all != NULL && PyDict_SetItem(of->found, canonical, all) == 0)
            taken = 1;
        Py_XDECREF(all);
        Py_DECREF(before);
    }
    else if (!PyErr_Occurred()) {
        int is_refused = PySet_Contains(of->refused, canonical);
        PyObject *source = is_refused == 0 ? PyTuple_Pack(2, link, target) : NULL;
        if (is_refused > 0)
            taken = 0;
        else if (source != NULL && PyDict_SetItem(of->found, canonical, count) == 0 &&
                 PyList_Append(of->sources, source) == 0)
            taken = 1;
        Py_XDECREF(source);
    }
    Py_XDECREF(canonical);
    Py_DECREF(target);
    return taken;
}

static PyObject *
follow(PyObject *self, PyObject *args)
{
    PyObject *links, *counts, *judgements, *collected;
    Py_ssize_t at;
    page of = {0};
    int taken = 1;
    (void)self;
    /* A tuple holds its items for as long as the call takes, other sequences may not. */
    if (!PyArg_ParseTuple(args, "O!O!O!nLO!", &PyList_Type, &links, &PyList_Type, &counts, &PyList_Type, &judgements,
                          &at, &of.depth, &PyTuple_Type, &collected) ||
        !PyArg_ParseTuple(collected, "O!O!O!O", &PyDict_Type, &of.found, &PySet_Type, &of.refused, &PyList_Type,
                          &of.sources, &of.refusals))
        return NULL;
    if (of.refusals != Py_None && !PyList_Check(of.refusals))
        return PyErr_Format(PyExc_TypeError, "the refusals must be a list or None");
    if (at < 0)
        return PyErr_Format(PyExc_ValueError, "the first link must not be below 0");
    of.allowed = PyUnicode_InternFromString("allowed");
    of.max_depth = PyUnicode_InternFromString("max_depth");
    of.canonical = PyUnicode_InternFromString("canonical");
    of.outside = PyUnicode_InternFromString("outside");
    of.refusal = PyUnicode_InternFromString("refusal");
    of.url = PyUnicode_InternFromString("url");
    if (of.allowed == NULL || of.max_depth == NULL || of.canonical == NULL || of.outside == NULL ||
        of.refusal == NULL || of.url == NULL)
        taken = -1;
    /* Other code that runs meanwhile may change the lists. */
    while (taken > 0 && at < PyList_Size(links) && at < PyList_Size(counts) && at < PyList_Size(judgements)) {
        PyObject *link = Py_NewRef(PyList_GetItem(links, at)), *count = Py_NewRef(PyList_GetItem(counts, at));
        PyObject *judgement = Py_NewRef(PyList_GetItem(judgements, at));
        taken = take(&of, link, count, judgement);
        Py_DECREF(link);
        Py_DECREF(count);
        Py_DECREF(judgement);
        at += taken > 0;
    }
    Py_XDECREF(of.allowed);
    Py_XDECREF(of.max_depth);
    Py_XDECREF(of.canonical);
    Py_XDECREF(of.outside);
    Py_XDECREF(of.refusal);
    Py_XDECREF(of.url);
    return taken < 0 ? NULL : PyLong_FromSsize_t(at);
}

static PyMethodDef methods[] = {
    {"group_links", group_links, METH_VARARGS, NULL},
    {"follow", follow, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int
prepare(PyObject *module)
{
    return PyModule_AddIntConstant(module, "VERSION", VERSION);
}

static struct PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "crawler.discover.links._bulk",
    .m_doc = "Groups and follows the links of a page; bulk.py does the same in Python.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__bulk(void)
{
    return PyModuleDef_Init(&module);
}
