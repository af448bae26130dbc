/* An index of fingerprints that finds those that differ in few bits, compiled. similar.py documents the type, and is the
 * reference.
 *
 * Entries lie in chunks, so that growing never copies them. Each entry is in four chains, one for each block of 16 bits;
 * the heads of the chains and the links between entries are places from 1 on, and 0 ends a chain. The code runs under
 * the GIL, and calls no Python code between reading and writing entries.
 */
#include "../../visited/bits/_extension.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Raised with each change of a method's parameters or results. */
#define VERSION 2

enum { BLOCKS = 4, BLOCK_BITS = 16, HEADS = 1 << BLOCK_BITS, MAX_DISTANCE = 8, CHUNK_BITS = 14 };

/* With the largest distance: one block within 2 bits, three within 1. */
enum { MOST_CHAINS = 1 + 16 + 120 + 3 * (1 + 16) };
/* Entries of one chain that a look-up reads, the newest first; and so many more for each that a chain has on average. */
#define MOST_READ 10000
#define MOST_READ_OF_EACH 32
#define CHUNK ((Py_ssize_t)1 << CHUNK_BITS)
#define MOST ((Py_ssize_t)UINT32_MAX - 1)

typedef struct {
    uint64_t fingerprint;
    uint32_t next[BLOCKS];
} entry;

typedef struct {
    PyObject_HEAD
    entry **chunks;
    uint32_t *heads; /* of each block, one after the other */
    Py_ssize_t used, chunk_count, chunk_room;
} similar;

typedef struct {
    uint32_t distance, place;
} match;

typedef struct {
    match *at;
    size_t count, room;
} matches;

typedef struct {
    uint32_t place;
    int block;
} chain; /* where a look-up is in it */

typedef struct {
    chain at[MOST_CHAINS];
    int count;
} chains;

static inline entry *
entry_at(const similar *in, Py_ssize_t place)
{
    return &in->chunks[place >> CHUNK_BITS][place & (CHUNK - 1)];
}

static inline uint32_t
block_of(uint64_t fingerprint, int block)
{
    return (uint32_t)(fingerprint >> BLOCK_BITS * block) & (HEADS - 1);
}

/* Make room for one more entry. Returns -1 with an exception. */
static int
reserve(similar *in)
{
    if (in->used >= MOST) {
        PyErr_SetString(PyExc_OverflowError, "an index holds at most 2^32 - 2 fingerprints");
        return -1;
    }
    if (in->heads == NULL && (in->heads = PyMem_Calloc(BLOCKS * (size_t)HEADS, sizeof(uint32_t))) == NULL)
        goto no_memory;
    if (in->used < in->chunk_count * CHUNK)
        return 0;
    if (in->chunk_count == in->chunk_room) {
        Py_ssize_t room = in->chunk_room ? 2 * in->chunk_room : 16;
        entry **chunks = PyMem_Realloc(in->chunks, (size_t)room * sizeof(entry *));
        if (chunks == NULL)
            goto no_memory;
        in->chunks = chunks;
        in->chunk_room = room;
    }
    if ((in->chunks[in->chunk_count] = PyMem_Malloc((size_t)CHUNK * sizeof(entry))) == NULL)
        goto no_memory;
    in->chunk_count++;
    return 0;
no_memory:
    PyErr_NoMemory();
    return -1;
}

/* Add a fingerprint. Returns -1 with an exception. */
static int
insert(similar *in, uint64_t fingerprint)
{
    if (reserve(in) < 0)
        return -1;
    entry *added = entry_at(in, in->used);
    added->fingerprint = fingerprint;
    in->used++;
    for (int block = 0; block < BLOCKS; block++) {
        uint32_t *head = &in->heads[block * HEADS + block_of(fingerprint, block)];
        added->next[block] = *head;
        *head = (uint32_t)in->used;
    }
    return 0;
}

/* Read an int of 64 bits. Returns -1 with an exception. */
static int
read_fingerprint(PyObject *given, uint64_t *out)
{
    if (!PyLong_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "expected a fingerprint as int");
        return -1;
    }
    *out = PyLong_AsUnsignedLongLong(given);
    return *out == UINT64_MAX && PyErr_Occurred() ? -1 : 0;
}

static PyObject *
add(PyObject *self, PyObject *given)
{
    uint64_t fingerprint;
    if (read_fingerprint(given, &fingerprint) < 0 || insert((similar *)self, fingerprint) < 0)
        return NULL;
    return Py_NewRef(Py_None);
}

static PyObject *
extend(PyObject *self, PyObject *args)
{
    Py_buffer given;
    if (!PyArg_ParseTuple(args, "y*", &given))
        return NULL;
    int failed = given.len % 8 != 0;
    if (failed)
        PyErr_Format(PyExc_ValueError, "expected 8 bytes for each fingerprint, found %zd bytes", given.len);
    const uint8_t *at = given.buf;
    for (Py_ssize_t i = 0; !failed && i < given.len; i += 8) {
        uint64_t fingerprint = 0;
        for (int j = 0; j < 8; j++)
            fingerprint |= (uint64_t)at[i + j] << 8 * j;
        failed = insert((similar *)self, fingerprint) < 0;
    }
    PyBuffer_Release(&given);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* Within how many bits a block must be looked up; -1 if it need not be. */
static int
radius_of(int block, int distance)
{
    return distance / BLOCKS - (block > distance % BLOCKS);
}

/* Take down a fingerprint that is near. Returns -1 if there is no memory. */
static int
take_down(matches *found, uint32_t distance, uint32_t place)
{
    if (found->count == found->room) {
        size_t room = found->room ? 2 * found->room : 16;
        match *at = PyMem_Realloc(found->at, room * sizeof(match));
        if (at == NULL)
            return -1;
        found->at = at;
        found->room = room;
    }
    found->at[found->count++] = (match){distance, place};
    return 0;
}

/* Begin the chains of all values of a block that differ in at most `radius` bits, those in bits from `bit` on. */
static void
begin_chains(const similar *in, uint32_t value, int bit, int radius, int block, chains *open)
{
    if (radius < 0)
        return;
    uint32_t place = in->heads[block * HEADS + value];
    if (place != 0) {
        __builtin_prefetch(entry_at(in, (Py_ssize_t)place - 1));
        open->at[open->count++] = (chain){place, block};
    }
    for (; radius > 0 && bit < BLOCK_BITS; bit++)
        begin_chains(in, value ^ (uint32_t)1 << bit, bit + 1, radius - 1, block, open);
}

/* Look through all chains, each up to a limit: pages that are made for it may all be in the same one. An entry may be
 * met in several. They take turns, so that the next entry of one is fetched while others are looked at; alone,
 * each step would wait for the memory. Returns -1 if there is no memory. */
static int
follow(const similar *in, chains *open, uint64_t fingerprint, int distance, matches *found)
{
    Py_ssize_t most = MOST_READ + MOST_READ_OF_EACH * (in->used >> BLOCK_BITS);
    for (Py_ssize_t turn = 0; open->count > 0 && turn < most; turn++) {
        int left = 0;
        for (int i = 0; i < open->count; i++) {
            chain each = open->at[i];
            const entry *there = entry_at(in, (Py_ssize_t)each.place - 1);
            uint64_t differing = there->fingerprint ^ fingerprint;
            int bits = __builtin_popcountll(differing);
            if (bits <= distance && take_down(found, (uint32_t)bits, each.place - 1) < 0)
                return -1;
            each.place = there->next[each.block];
            if (each.place != 0) {
                __builtin_prefetch(entry_at(in, (Py_ssize_t)each.place - 1));
                open->at[left++] = each;
            }
        }
        open->count = left;
    }
    return 0;
}

static int
compare(const void *one, const void *other)
{
    const match *a = one, *b = other;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static PyObject *
list_of(const matches *found)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < found->count; i++) {
        if (i > 0 && found->at[i].place == found->at[i - 1].place)
            continue; /* it was met twice; they are sorted */
        PyObject *pair = Py_BuildValue("(II)", found->at[i].distance, found->at[i].place);
        if (pair == NULL || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static PyObject *
near(PyObject *self, PyObject *args)
{
    const similar *in = (similar *)self;
    PyObject *given, *result = NULL;
    uint64_t fingerprint;
    int distance;
    matches found = {NULL, 0, 0};
    chains open;
    open.count = 0;
    if (!PyArg_ParseTuple(args, "Oi", &given, &distance) || read_fingerprint(given, &fingerprint) < 0)
        return NULL;
    if (distance < 0 || distance > MAX_DISTANCE) {
        PyErr_Format(PyExc_ValueError, "expected a distance of 0 to %d bits, found %d", MAX_DISTANCE, distance);
        return NULL;
    }
    for (int block = 0; in->heads != NULL && block < BLOCKS; block++)
        begin_chains(in, block_of(fingerprint, block), 0, radius_of(block, distance), block, &open);
    if (follow(in, &open, fingerprint, distance, &found) < 0)
        PyErr_NoMemory();
    else {
        if (found.count > 1)
            qsort(found.at, found.count, sizeof(match), compare);
        result = list_of(&found);
    }
    PyMem_Free(found.at);
    return result;
}

static Py_ssize_t
length(PyObject *self)
{
    return ((similar *)self)->used;
}

static void
deallocate(PyObject *self)
{
    similar *in = (similar *)self;
    PyTypeObject *type = Py_TYPE(self);
    for (Py_ssize_t i = 0; i < in->chunk_count; i++)
        PyMem_Free(in->chunks[i]);
    PyMem_Free(in->chunks);
    PyMem_Free(in->heads);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef index_methods[] = {
    {"add", add, METH_O, NULL},
    {"extend", extend, METH_VARARGS, NULL},
    {"near", near, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot index_slots[] = {
    {Py_tp_dealloc, deallocate},
    {Py_tp_methods, index_methods},
    {Py_sq_length, length},
    {0, NULL},
};

static PyType_Spec index_spec = {
    .name = "crawler.repeats._similar.SimilarIndex",
    .basicsize = sizeof(similar),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = index_slots,
};

static int
add_members(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &index_spec, NULL);
    int failed = type == NULL || PyModule_AddObjectRef(module, "SimilarIndex", type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

EXTENSION("crawler.repeats", _similar, add_members,
          .m_doc = "An index of fingerprints, compiled; similar.py documents it.")
