/* What is done for each of some hundred links of a page, in one call, compiled. */
#include "_bulk_attributes.h"
#include "_bulk_groups.h"
#include "_bulk_judgements.h"

/* Raised with each change of the arguments or results. */
#define VERSION 11

/* Where links are taken, and how it is read whether they may be. */
typedef struct {
    PyObject *found, *refused, *firsts, *targets, *refusals;
    reader from;
    long long depth;
} page;

/* The target of the judgement, if ordinary links to it may be followed from a page of that depth. NULL otherwise, or
 * with an exception. */
static PyObject *
target_of(page *of, PyObject *judgement)
{
    PyObject *target = read_attribute(&of->from, judgement, ALLOWED);
    if (target == NULL || target == Py_None) {
        Py_XDECREF(target);
        return NULL;
    }
    PyObject *most = read_attribute(&of->from, judgement, MAX_DEPTH);
    long long max_depth = most == NULL ? -1 : PyLong_AsLongLong(most);
    Py_XDECREF(most);
    if (of->depth >= max_depth || (max_depth == -1 && PyErr_Occurred()))
        Py_CLEAR(target);
    return target;
}

/* Whether a link that is not allowed was refused, because it leads out of scope; -1 with an exception. */
static int
refuse(page *of, PyObject *judgement)
{
    if (of->refusals == Py_None)
        return 0;
    PyObject *target = read_attribute(&of->from, judgement, OUTSIDE);
    if (target == NULL || target == Py_None) {
        Py_XDECREF(target);
        return target == NULL ? -1 : 0;
    }
    int taken = -1;
    /* One after the other: a look-up that finds an exception set may clear it. */
    PyObject *canonical = read_attribute(&of->from, target, CANONICAL);
    PyObject *url = canonical == NULL ? NULL : read_attribute(&of->from, target, URL);
    PyObject *refusal = url == NULL ? NULL : read_attribute(&of->from, judgement, REFUSAL);
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
take(page *of, PyObject *place, PyObject *count, PyObject *judgement)
{
    int taken = -1;
    PyObject *target = target_of(of, judgement);
    if (target == NULL)
        return PyErr_Occurred() ? -1 : refuse(of, judgement);
    PyObject *canonical = read_attribute(&of->from, target, CANONICAL);
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
        if (is_refused > 0)
            taken = 0;
        else if (is_refused == 0 && PyDict_SetItem(of->found, canonical, count) == 0 &&
                 PyList_Append(of->firsts, place) == 0 && PyList_Append(of->targets, target) == 0)
            taken = 1;
    }
    Py_XDECREF(canonical);
    Py_DECREF(target);
    return taken;
}

static PyObject *
follow(PyObject *module, PyObject *args)
{
    PyObject *places, *counts, *judgements, *collected;
    Py_ssize_t at;
    page of = {.from.state = PyModule_GetState(module)};
    int taken = 1;
    /* A tuple holds its items for as long as the call takes, other sequences may not. */
    if (!PyArg_ParseTuple(args, "O!O!O!nLO!", &PyList_Type, &places, &PyList_Type, &counts, &PyList_Type, &judgements,
                          &at, &of.depth, &PyTuple_Type, &collected) ||
        !PyArg_ParseTuple(collected, "O!O!O!O!O", &PyDict_Type, &of.found, &PySet_Type, &of.refused, &PyList_Type,
                          &of.firsts, &PyList_Type, &of.targets, &of.refusals))
        return NULL;
    if (of.refusals != Py_None && !PyList_Check(of.refusals))
        return PyErr_Format(PyExc_TypeError, "the refusals must be a list or None");
    if (at < 0)
        return PyErr_Format(PyExc_ValueError, "the first link must not be below 0");
    /* Other code that runs meanwhile may change the lists. */
    while (taken > 0 && at < PyList_Size(places) && at < PyList_Size(counts) && at < PyList_Size(judgements)) {
        PyObject *place = Py_NewRef(PyList_GetItem(places, at)), *count = Py_NewRef(PyList_GetItem(counts, at));
        PyObject *judgement = Py_NewRef(PyList_GetItem(judgements, at));
        taken = take(&of, place, count, judgement);
        Py_DECREF(place);
        Py_DECREF(count);
        Py_DECREF(judgement);
        at += taken > 0;
    }
    clear_reader(&of.from);
    return taken < 0 ? NULL : PyLong_FromSsize_t(at);
}

/* What the first of several dicts has for each href, None where none has it; and the places of these. */
static PyObject *
look_up(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *hrefs, *dicts;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &hrefs, &PyTuple_Type, &dicts))
        return NULL;
    Py_ssize_t dict_count = PyTuple_Size(dicts);
    for (Py_ssize_t j = 0; j < dict_count; j++)
        if (!PyDict_Check(PyTuple_GetItem(dicts, j)))
            return PyErr_Format(PyExc_TypeError, "hrefs are looked up in dicts");
    hrefs = PyList_AsTuple(hrefs); /* Other code that runs meanwhile may change the list. */
    Py_ssize_t count = hrefs == NULL ? 0 : PyTuple_Size(hrefs);
    PyObject *all = hrefs == NULL ? NULL : PyList_New(count), *missing = all == NULL ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; missing != NULL && i < count; i++) {
        PyObject *found = NULL, *place = NULL;
        for (Py_ssize_t j = 0; found == NULL && j < dict_count && !PyErr_Occurred(); j++)
            found = PyDict_GetItemWithError(PyTuple_GetItem(dicts, j), PyTuple_GetItem(hrefs, i));
        PyList_SetItem(all, i, Py_NewRef(found == NULL ? Py_None : found));
        if (found == NULL && (PyErr_Occurred() || (place = PyLong_FromSsize_t(i)) == NULL ||
                              PyList_Append(missing, place) < 0))
            Py_CLEAR(missing);
        Py_XDECREF(place);
    }
    PyObject *result = missing == NULL ? NULL : PyTuple_Pack(2, all, missing);
    Py_XDECREF(hrefs);
    Py_XDECREF(all);
    Py_XDECREF(missing);
    return result;
}

static PyMethodDef methods[] = {
    {"group_links", group_links, METH_VARARGS, NULL},
    {"look_up", look_up, METH_VARARGS, NULL},
    {"judge", judge, METH_VARARGS, NULL},
    {"divide", divide, METH_VARARGS, NULL},
    {"follow", follow, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int
prepare(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    for (int i = 0; i < NAMES; i++)
        if ((state->names[i] = PyUnicode_InternFromString(NAME_TEXTS[i])) == NULL)
            return -1;
    return 0;
}

static void
release(void *module)
{
    module_state *state = PyModule_GetState(module);
    for (int i = 0; i < NAMES; i++)
        Py_CLEAR(state->names[i]);
}

EXTENSION("crawler.discover.links", _bulk, prepare,
          .m_doc = "Groups, judges and follows the links of a page; bulk.py does the same in Python.",
          .m_size = sizeof(module_state), .m_methods = methods, .m_free = release)
