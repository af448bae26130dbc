/* Finds the groups of links whose hrefs differ only in their fragments. */
#ifndef ONCEOVER_GROUPS_H
#define ONCEOVER_GROUPS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* The table is at most half full, so the places of hrefs that nobody chose are much nearer. A page could choose hrefs
 * whose places are all the same: 100,000 of them took 85 s. */
enum { LONGEST_GROUPED = 2048, MOST_STEPS = 256 };

/* Links of one kind whose hrefs are equal before the `#`. */
typedef struct {
    const char *href;
    Py_ssize_t length, first, count;
    int may_have_fragment;
} group;

static uint64_t
hash_of(const char *at, Py_ssize_t length)
{
    uint64_t hash = (uint64_t)length;
    while (length > 0) {
        uint64_t word = 0;
        memcpy(&word, at, length < 8 ? (size_t)length : 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
        at += 8;
        length -= 8;
    }
    return hash;
}

/* The places of a table for so many links. */
static Py_ssize_t
places_for(Py_ssize_t links)
{
    Py_ssize_t places = 16;
    while (places < 2 * links)
        places *= 2;
    return places;
}

/* Takes an href up to the `#`. White space before the `#` counts, which it would not at the end of an href: then the `#`
 * stays. */
static void
take_href(group *made, const char *href, Py_ssize_t size)
{
    const char *mark = size == 0 ? NULL : memchr(href, '#', (size_t)size);
    int is_behind_space = mark != NULL && mark > href && (unsigned char)mark[-1] <= ' ';
    made->href = href;
    made->length = mark == NULL ? size : mark - href + is_behind_space;
    made->may_have_fragment = mark != NULL;
}

/* Where the last group with that href stands in the table, or where it belongs; NULL if that is too far away. */
static Py_ssize_t *
place_of(Py_ssize_t *table, Py_ssize_t places, const group *groups, const group *made)
{
    uint64_t first = hash_of(made->href, made->length);
    for (uint64_t at = first; at - first < MOST_STEPS; at++) {
        Py_ssize_t *place = &table[at & (uint64_t)(places - 1)];
        if (*place == 0)
            return place;
        const group *there = &groups[*place - 1];
        if (there->length == made->length && memcmp(there->href, made->href, (size_t)made->length) == 0)
            return place;
    }
    return NULL;
}

/* The groups as three lists: the place of each group's first link, its href without fragment, its number of links.
 * `href_of` makes the href of a group, or returns NULL with an exception; it gets `hrefs`, too. */
static PyObject *
lists_of(const group *groups, Py_ssize_t filled, PyObject *(*href_of)(const group *, PyObject *), PyObject *hrefs)
{
    PyObject *firsts = PyList_New(filled), *bare = PyList_New(filled), *counts = PyList_New(filled), *result = NULL;
    int failed = firsts == NULL || bare == NULL || counts == NULL;
    for (Py_ssize_t i = 0; i < filled && !failed; i++) {
        PyObject *first = PyLong_FromSsize_t(groups[i].first), *count = PyLong_FromSsize_t(groups[i].count);
        PyObject *href = href_of(&groups[i], hrefs);
        failed = first == NULL || count == NULL || href == NULL;
        PyList_SetItem(firsts, i, first);
        PyList_SetItem(bare, i, href);
        PyList_SetItem(counts, i, count);
    }
    if (!failed)
        result = PyTuple_Pack(3, firsts, bare, counts);
    Py_XDECREF(firsts);
    Py_XDECREF(bare);
    Py_XDECREF(counts);
    return result;
}

#endif
