/* Groups the links of a page whose hrefs differ only in their fragments, as a loop in bulk.py does. */
#ifndef ONCEOVER_BULK_GROUPS_H
#define ONCEOVER_BULK_GROUPS_H

#include "../../page/_groups.h"
#include "_bulk_attributes.h"

/* Reads an href up to the `#`. 0 if its link stays alone, because the href is long or no text; -1 with an exception. */
static int
read_href(PyObject *href, group *made)
{
    Py_ssize_t size;
    made->may_have_fragment = 1;
    if (!PyUnicode_CheckExact(href)) {
        PyErr_SetString(PyExc_TypeError, "an href must be str");
        return -1;
    }
    if (PyUnicode_GetLength(href) > LONGEST_GROUPED)
        return 0;
    made->href = utf8_of(href, &size);
    if (made->href == NULL)
        return PyErr_Occurred() ? -1 : 0;
    take_href(made, made->href, size);
    return 1;
}

/* Whether two links are of one kind; -1 with an exception. */
static int
are_alike(reader *from, PyObject *one, PyObject *other)
{
    PyObject *kind = read_attribute(from, one, KIND);
    PyObject *other_kind = kind == NULL ? NULL : read_attribute(from, other, KIND);
    int are_equal = other_kind == NULL ? -1 : kind == other_kind;
    Py_XDECREF(kind);
    Py_XDECREF(other_kind);
    return are_equal;
}

/* Fills `groups`, and returns their number; -1 with an exception. A table of that many places is empty. */
static Py_ssize_t
fill(group *groups, Py_ssize_t *table, Py_ssize_t places, reader *from, PyObject *links, PyObject *hrefs)
{
    Py_ssize_t filled = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(hrefs); i++) {
        group *made = &groups[filled];
        int is_read = read_href(PyTuple_GetItem(hrefs, i), made);
        if (is_read < 0)
            return -1;
        made->first = i;
        made->count = 1;
        Py_ssize_t *place = is_read ? place_of(table, places, groups, made) : NULL;
        if (place != NULL) {
            if (*place > 0) {
                group *there = &groups[*place - 1];
                int joins = are_alike(from, PyTuple_GetItem(links, there->first), PyTuple_GetItem(links, i));
                if (joins < 0)
                    return -1;
                if (joins) {
                    there->count++;
                    continue;
                }
            }
            *place = filled + 1;
        }
        filled++;
    }
    return filled;
}

static PyObject *
without_fragment(const group *made, PyObject *hrefs)
{
    PyObject *href = PyTuple_GetItem(hrefs, made->first);
    if (!made->may_have_fragment)
        return Py_NewRef(href);
    Py_ssize_t end = PyUnicode_FindChar(href, '#', 0, PyUnicode_GetLength(href), 1);
    if (end < 0)
        return end == -2 ? NULL : Py_NewRef(href);
    if (end > 0 && PyUnicode_ReadChar(href, end - 1) <= ' ')
        end++;
    return PyUnicode_Substring(href, 0, end);
}

/* The href of each link; NULL with an exception. */
static PyObject *
hrefs_of(reader *from, PyObject *links)
{
    Py_ssize_t count = PyTuple_Size(links);
    PyObject *hrefs = PyTuple_New(count);
    for (Py_ssize_t i = 0; hrefs != NULL && i < count; i++) {
        PyObject *href = read_attribute(from, PyTuple_GetItem(links, i), HREF);
        if (href == NULL || PyTuple_SetItem(hrefs, i, href) < 0)
            Py_CLEAR(hrefs);
    }
    return hrefs;
}

static PyObject *
group_links(PyObject *module, PyObject *args)
{
    PyObject *links, *result = NULL;
    reader from = {.state = PyModule_GetState(module)};
    if (!PyArg_ParseTuple(args, "O!", &PyList_Type, &links))
        return NULL;
    links = PyList_AsTuple(links); /* Other code that runs meanwhile may change the list. */
    PyObject *hrefs = links == NULL ? NULL : hrefs_of(&from, links);
    Py_ssize_t count = hrefs == NULL ? 0 : PyTuple_Size(links), places = places_for(count);
    group *groups = PyMem_Malloc(((size_t)count + 1) * sizeof(group));
    Py_ssize_t *table = PyMem_Calloc((size_t)places, sizeof(Py_ssize_t));
    if (groups == NULL || table == NULL)
        PyErr_NoMemory();
    else if (hrefs != NULL) {
        Py_ssize_t filled = fill(groups, table, places, &from, links, hrefs);
        result = filled < 0 ? NULL : lists_of(groups, filled, without_fragment, hrefs);
    }
    clear_reader(&from);
    PyMem_Free(groups);
    PyMem_Free(table);
    Py_XDECREF(links);
    Py_XDECREF(hrefs);
    return result;
}

#endif
