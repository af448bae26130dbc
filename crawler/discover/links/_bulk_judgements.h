/* Judges hrefs that no page had lately, as loops in bulk.py do, and tells where their judgements are remembered. */
#ifndef ONCEOVER_BULK_JUDGEMENTS_H
#define ONCEOVER_BULK_JUDGEMENTS_H

#include "_bulk_attributes.h"

/* By what hrefs are judged. */
typedef struct {
    PyObject *judge, *trap_of, *make, *out_of_scope, *any_depth;
    reader from;
    int by_site;
} judging;

/* Whether the canonical URL of a target is ASCII; -1 with an exception. */
static int
is_plain(judging *by, PyObject *target)
{
    Py_ssize_t size = -1;
    PyObject *canonical = read_attribute(&by->from, target, CANONICAL);
    if (canonical == NULL)
        return -1;
    const char *utf8 = utf8_of(canonical, &size);
    int is_ascii = utf8 == NULL ? -(PyErr_Occurred() != NULL) : size == PyUnicode_GetLength(canonical);
    Py_DECREF(canonical);
    return is_ascii;
}

/* The judgement on an href that means that target, which is a string if it is none; NULL with an exception. */
static PyObject *
judgement_of(judging *by, PyObject *href, PyObject *target)
{
    if (PyUnicode_Check(target))
        return PyObject_CallFunctionObjArgs(by->make, target, NULL);
    PyObject *asked = by->by_site ? read_attribute(&by->from, target, SITE) : Py_NewRef(target);
    PyObject *told = asked == NULL ? NULL : PyObject_CallFunctionObjArgs(by->judge, asked, NULL), *made = NULL;
    Py_XDECREF(asked);
    if (told != NULL && (!PyTuple_Check(told) || PyTuple_Size(told) != 2)) {
        PyErr_SetString(PyExc_TypeError, "a scope must tell a reason and a depth");
        Py_CLEAR(told);
    }
    if (told == NULL)
        return NULL;
    PyObject *reason = PyTuple_GetItem(told, 0), *most = PyTuple_GetItem(told, 1);
    PyObject *refusal = reason == Py_None ? PyObject_CallFunctionObjArgs(by->trap_of, target, NULL) : Py_NewRef(reason);
    int has_href = PyUnicode_GetLength(href) > 0;
    int is_allowed = refusal == NULL ? -1 : refusal == Py_None && has_href ? is_plain(by, target) : 0;
    if (is_allowed >= 0)
        made = PyObject_CallFunctionObjArgs(by->make, target, refusal, most == Py_None ? by->any_depth : most,
                                            is_allowed ? target : Py_None,
                                            has_href && reason == by->out_of_scope ? target : Py_None, NULL);
    Py_XDECREF(refusal);
    Py_DECREF(told);
    return made;
}

static PyObject *
judge(PyObject *module, PyObject *args)
{
    PyObject *hrefs, *targets;
    judging by = {.from.state = PyModule_GetState(module)};
    if (!PyArg_ParseTuple(args, "OOOO!O!OpO", &by.make, &by.out_of_scope, &by.any_depth, &PyList_Type, &hrefs,
                          &PyList_Type, &targets, &by.judge, &by.by_site, &by.trap_of))
        return NULL;
    if (PyList_Size(hrefs) != PyList_Size(targets))
        return PyErr_Format(PyExc_ValueError, "each href must have a target");
    hrefs = PyList_AsTuple(hrefs); /* Other code that runs meanwhile may change the lists. */
    targets = hrefs == NULL ? NULL : PyList_AsTuple(targets);
    PyObject *judged = targets == NULL ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; judged != NULL && i < PyTuple_Size(hrefs) && i < PyTuple_Size(targets); i++) {
        PyObject *href = PyTuple_GetItem(hrefs, i), *made = NULL;
        if (PyUnicode_Check(href))
            made = judgement_of(&by, href, PyTuple_GetItem(targets, i));
        else
            PyErr_SetString(PyExc_TypeError, "an href must be str");
        if (made == NULL || PyList_Append(judged, made) < 0)
            Py_CLEAR(judged);
        Py_XDECREF(made);
    }
    clear_reader(&by.from);
    Py_XDECREF(hrefs);
    Py_XDECREF(targets);
    return judged;
}

enum { ABSOLUTE, ROOTED, RELATIVE, BEGINNINGS };

/* How an href begins; `BEGINNINGS` if only a closer look can tell. */
static int
beginning_of(PyObject *href, Py_ssize_t length)
{
    Py_UCS4 first = length > 0 ? PyUnicode_ReadChar(href, 0) : 0;
    if (first == '/')
        return ROOTED;
    if (first <= '?')
        return BEGINNINGS;
    if ((first != 'h' && first != 'H') || PyUnicode_FindChar(href, ':', 0, length, 1) < 0)
        return RELATIVE;
    if (first == 'H')
        return BEGINNINGS;
    Py_ssize_t at = 1, scheme = length > 4 && PyUnicode_ReadChar(href, 4) == 's' ? 5 : 4;
    if (length < scheme + 3)
        return BEGINNINGS;
    while (at < scheme + 3 && PyUnicode_ReadChar(href, at) == (Py_UCS4)(at < scheme ? "https"[at] : "://"[at - scheme]))
        at++;
    return at == scheme + 3 ? ABSOLUTE : BEGINNINGS;
}

static PyObject *
divide(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *hrefs, *judgements, *result = NULL;
    Py_ssize_t longest;
    if (!PyArg_ParseTuple(args, "O!O!n", &PyList_Type, &hrefs, &PyList_Type, &judgements, &longest))
        return NULL;
    hrefs = PyList_AsTuple(hrefs); /* Other code that runs meanwhile may change the lists. */
    judgements = hrefs == NULL ? NULL : PyList_AsTuple(judgements);
    PyObject *parts = judgements == NULL ? NULL : Py_BuildValue("({}{}{}[])");
    int failed = parts == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(hrefs) && i < PyTuple_Size(judgements); i++) {
        PyObject *href = PyTuple_GetItem(hrefs, i);
        if (!PyUnicode_Check(href)) {
            PyErr_SetString(PyExc_TypeError, "an href must be str");
            failed = 1;
            break;
        }
        Py_ssize_t length = PyUnicode_GetLength(href);
        if (length > longest)
            continue;
        int begins = beginning_of(href, length);
        PyObject *part = PyTuple_GetItem(parts, begins);
        failed = begins == BEGINNINGS ? PyList_Append(part, href)
                                      : PyDict_SetItem(part, href, PyTuple_GetItem(judgements, i));
    }
    if (!failed)
        result = Py_NewRef(parts);
    Py_XDECREF(parts);
    Py_XDECREF(hrefs);
    Py_XDECREF(judgements);
    return result;
}

#endif
