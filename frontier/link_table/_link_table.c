/* Link counts of URLs by their digests, compiled. table.py documents the type.
 *
 * The slots are ordered by digest, as far as open addressing allows: so a round takes the digests in almost the order
 * of the store's keys, and a larger table is filled from front to back. The code runs under the GIL, and calls no
 * Python code between reading and writing the slots; where it makes objects meanwhile, the garbage collector rests, which
 * would call some.
 */
#include "../../visited/bits/_kernel_hash.h"

/* Raised with each change of a method's parameters or results. */
#define VERSION 3

enum { FIRST_BITS = 6, DIGEST = 16 };

/* A digest so far from its home stands in a crowd. By chance there is none: at 7/8 full, a run of so many slots has a
 * probability of e^-35. But whoever chooses URLs by their digests can make one, in which each search takes long. */
enum { FAR = 4096 };

typedef struct {
    hash128 hash;
    uint64_t links; /* 0 if the slot is empty */
} slot;

typedef struct {
    PyObject_HEAD
    slot *slots;
    Py_ssize_t used, cursor; /* the cursor is where a round goes on */
    Py_ssize_t crowd;        /* where a crowd begins that is to be taken first; -1 if there is none */
    int bits;
} table;

static inline Py_ssize_t
size_of(const table *in)
{
    return (Py_ssize_t)1 << in->bits;
}

static inline Py_ssize_t
home_of(const table *in, hash128 hash)
{
    return (Py_ssize_t)(hash.h1 >> (64 - in->bits));
}

static inline Py_ssize_t
next_of(const table *in, Py_ssize_t at)
{
    return (at + 1) & (size_of(in) - 1);
}

/* Return the slot of a hash, or the empty one where it belongs. */
static slot *
find(const table *in, hash128 hash)
{
    Py_ssize_t at = home_of(in, hash);
    while (in->slots[at].links != 0 && (in->slots[at].hash.h1 != hash.h1 || in->slots[at].hash.h2 != hash.h2))
        at = next_of(in, at);
    return &in->slots[at];
}

/* Add links to a hash. There must be room. The sum stops at the largest number: 0 would be an empty slot. */
static inline void
count_links(table *in, hash128 hash, uint64_t links)
{
    slot *there = find(in, hash);
    Py_ssize_t home = home_of(in, hash);
    if (((there - in->slots - home) & (size_of(in) - 1)) > FAR)
        in->crowd = home;
    in->used += there->links == 0;
    there->hash = hash;
    there->links = links > UINT64_MAX - there->links ? UINT64_MAX : there->links + links;
}

/* Empty a slot. The ones behind it move up, as far as that brings them no farther from their homes. */
static void
erase(table *in, slot *there)
{
    Py_ssize_t hole = there - in->slots, mask = size_of(in) - 1;
    for (Py_ssize_t at = next_of(in, hole); in->slots[at].links != 0; at = next_of(in, at)) {
        Py_ssize_t from_home = (at - home_of(in, in->slots[at].hash)) & mask, from_hole = (at - hole) & mask;
        if (from_home >= from_hole) {
            in->slots[hole] = in->slots[at];
            hole = at;
        }
    }
    in->slots[hole].links = 0;
    in->used--;
}

/* Make room for more hashes. From 7/8 full on searches would take long. Returns -1 with an exception. */
static int
reserve(table *in, Py_ssize_t more)
{
    int bits = in->bits ? in->bits : FIRST_BITS;
    while (in->used + more > ((Py_ssize_t)1 << bits) / 8 * 7)
        bits++;
    if (bits == in->bits)
        return 0;
    table from = *in;
    slot *slots = PyMem_Calloc((size_t)1 << bits, sizeof(slot));
    if (slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    in->slots = slots;
    in->used = 0;
    in->cursor = from.cursor << (bits - from.bits);
    in->crowd = -1;
    in->bits = bits;
    for (Py_ssize_t at = 0; from.slots != NULL && at < size_of(&from); at++)
        if (from.slots[at].links != 0)
            count_links(in, from.slots[at].hash, from.slots[at].links);
    PyMem_Free(from.slots);
    return 0;
}

/* Read the numbers of a list of ints that are not negative. Returns -1 with an exception. */
static int
read_numbers(PyObject *list, Py_ssize_t count, uint64_t *out)
{
    if (PyList_Size(list) != count) {
        PyErr_Format(PyExc_ValueError, "expected %zd numbers of links, found %zd", count, PyList_Size(list));
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *number = PyList_GetItem(list, i);
        if (!PyLong_Check(number)) {
            PyErr_SetString(PyExc_TypeError, "expected an int for each number of links");
            return -1;
        }
        long long links = PyLong_AsLongLong(number);
        if (links == -1 && PyErr_Occurred())
            return -1;
        if (links < 0) {
            PyErr_Format(PyExc_ValueError, "expected a number of links from 0 on, found %lld", links);
            return -1;
        }
        out[i] = (uint64_t)links;
    }
    return 0;
}

static PyObject *
add(PyObject *self, PyObject *args)
{
    table *in = (table *)self;
    PyObject *urls, *list, *batch, *result = NULL;
    uint64_t *numbers = NULL;
    hash128 hashes[RUN];
    if (!PyArg_ParseTuple(args, "OO!", &urls, &PyList_Type, &list) || (batch = batch_of(urls)) == NULL)
        return NULL;
    Py_ssize_t count = PyTuple_Size(batch);
    int collects = PyGC_Disable();
    if ((numbers = PyMem_Calloc((size_t)count + 1, sizeof(uint64_t))) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if (read_numbers(list, count, numbers) < 0 || reserve(in, count) < 0)
        goto done;
    for (Py_ssize_t at = 0; at < count; at += RUN) {
        int run = run_length(at, count);
        if (hash_run(batch, at, run, 0, hashes) < 0)
            goto done;
        for (int i = 0; i < run; i++)
            __builtin_prefetch(&in->slots[home_of(in, hashes[i])], 1);
        for (int i = 0; i < run; i++)
            if (numbers[at + i] != 0)
                count_links(in, hashes[i], numbers[at + i]);
    }
    result = Py_NewRef(Py_None);
done:
    if (collects)
        PyGC_Enable();
    PyMem_Free(numbers);
    Py_DECREF(batch);
    return result;
}

/* Hash one URL. Returns -1 with an exception. */
static int
hash_one(PyObject *url, hash128 *out)
{
    PyObject *batch = PyTuple_Pack(1, url);
    int failed = batch == NULL || !PyUnicode_Check(url);
    if (failed && batch != NULL)
        PyErr_SetString(PyExc_TypeError, "expected a URL as str");
    if (!failed)
        failed = hash_run(batch, 0, 1, 0, out) < 0;
    Py_XDECREF(batch);
    return failed ? -1 : 0;
}

/* Find the slot of a URL; NULL if it has none. Returns -1 with an exception. */
static int
find_url(const table *in, PyObject *url, slot **there)
{
    hash128 hash;
    if (hash_one(url, &hash) < 0)
        return -1;
    *there = in->used ? find(in, hash) : NULL;
    if (*there != NULL && (*there)->links == 0)
        *there = NULL;
    return 0;
}

static PyObject *
get(PyObject *self, PyObject *url)
{
    slot *there;
    if (find_url((table *)self, url, &there) < 0)
        return NULL;
    return PyLong_FromUnsignedLongLong(there == NULL ? 0 : there->links);
}

static PyObject *
pop(PyObject *self, PyObject *url)
{
    slot *there;
    if (find_url((table *)self, url, &there) < 0)
        return NULL;
    PyObject *links = PyLong_FromUnsignedLongLong(there == NULL ? 0 : there->links);
    if (there != NULL && links != NULL)
        erase((table *)self, there);
    return links;
}

/* Return the digest of a hash: big-endian, so that digests are in the order of the slots. */
static PyObject *
digest_from(hash128 hash)
{
    uint64_t words[2] = {__builtin_bswap64(hash.h1), __builtin_bswap64(hash.h2)};
    return PyBytes_FromStringAndSize((const char *)words, DIGEST);
}

static PyObject *
digest(PyObject *Py_UNUSED(module), PyObject *url)
{
    hash128 hash;
    return hash_one(url, &hash) < 0 ? NULL : digest_from(hash);
}

/* Append a slot's digest and number to a list. Returns -1 with an exception. */
static int
append(PyObject *list, const slot *there)
{
    PyObject *name = digest_from(there->hash), *links = PyLong_FromUnsignedLongLong(there->links), *pair = NULL;
    if (name != NULL && links != NULL)
        pair = PyTuple_Pack(2, name, links);
    int failed = pair == NULL || PyList_Append(list, pair) < 0;
    Py_XDECREF(name);
    Py_XDECREF(links);
    Py_XDECREF(pair);
    return failed ? -1 : 0;
}

/* Count the pairs of digest and number in a list. There must be room. Returns -1 with an exception. */
static int
count_pairs(table *in, PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
        PyObject *pair = PyList_GetItem(list, i);
        if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2 || !PyBytes_Check(PyTuple_GetItem(pair, 0)) ||
            PyBytes_Size(PyTuple_GetItem(pair, 0)) != DIGEST || !PyLong_Check(PyTuple_GetItem(pair, 1))) {
            PyErr_SetString(PyExc_TypeError, "expected pairs of a digest of 16 bytes and an int");
            return -1;
        }
        const uint8_t *name = (const uint8_t *)PyBytes_AsString(PyTuple_GetItem(pair, 0));
        unsigned long long links = PyLong_AsUnsignedLongLong(PyTuple_GetItem(pair, 1));
        if (links == (unsigned long long)-1 && PyErr_Occurred())
            return -1;
        if (links != 0)
            count_links(in, (hash128){__builtin_bswap64(load64(name)), __builtin_bswap64(load64(name + 8))}, links);
    }
    return 0;
}

static PyObject *
put_back(PyObject *self, PyObject *list)
{
    table *in = (table *)self;
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "expected a list of pairs");
        return NULL;
    }
    if (reserve(in, PyList_Size(list)) < 0 || count_pairs(in, list) < 0)
        return NULL;
    return Py_NewRef(Py_None);
}

/* Move up to `most` counts to a list. Returns whether that ended a round, or -1 with an exception. */
static int
move_counts(table *in, Py_ssize_t most, uint64_t below, PyObject *list)
{
    Py_ssize_t size = in->slots == NULL ? 0 : size_of(in);
    int is_crowd = in->slots != NULL && in->crowd >= 0;
    Py_ssize_t *cursor = is_crowd ? &in->crowd : &in->cursor;
    while (PyList_Size(list) < most && *cursor < size) {
        slot *there = &in->slots[*cursor];
        if (there->links == 0 || (!is_crowd && below != 0 && there->links >= below)) {
            ++*cursor;
            continue;
        }
        if (append(list, there) < 0) {
            if (PyList_Size(list) == 0)
                return -1;
            /* What has been taken must not be lost. The next call goes on here. */
            PyErr_Clear();
            break;
        }
        erase(in, there); /* another may have moved here, so the cursor stays */
    }
    int at_end = !is_crowd && in->cursor >= size;
    if (at_end)
        in->cursor = 0;
    in->crowd = -1;
    return at_end;
}

static PyObject *
take(PyObject *self, PyObject *args)
{
    Py_ssize_t most;
    unsigned long long below;
    if (!PyArg_ParseTuple(args, "nK", &most, &below))
        return NULL;
    /* Made before anything is taken, which would be lost if there were no memory for it. */
    PyObject *list = PyList_New(0), *result = list == NULL ? NULL : PyTuple_Pack(2, list, Py_False);
    if (result != NULL) {
        int collects = PyGC_Disable();
        int at_end = move_counts((table *)self, most, below, list);
        if (at_end < 0)
            Py_CLEAR(result);
        else
            PyTuple_SetItem(result, 1, Py_NewRef(at_end ? Py_True : Py_False));
        if (collects)
            PyGC_Enable();
    }
    Py_XDECREF(list);
    return result;
}

static PyObject *
is_crowded(PyObject *self, PyObject *Py_UNUSED(nothing))
{
    table *in = (table *)self;
    return PyBool_FromLong(in->slots != NULL && in->crowd >= 0);
}

static PyObject *
rewind_round(PyObject *self, PyObject *Py_UNUSED(nothing))
{
    ((table *)self)->cursor = 0;
    return Py_NewRef(Py_None);
}

static Py_ssize_t
length(PyObject *self)
{
    return ((table *)self)->used;
}

static void
deallocate(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyMem_Free(((table *)self)->slots);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef table_methods[] = {
    {"add", add, METH_VARARGS, NULL},           {"get", get, METH_O, NULL},
    {"pop", pop, METH_O, NULL},                 {"take", take, METH_VARARGS, NULL},
    {"put_back", put_back, METH_O, NULL},       {"rewind", rewind_round, METH_NOARGS, NULL},
    {"is_crowded", is_crowded, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_dealloc, deallocate},
    {Py_tp_methods, table_methods},
    {Py_sq_length, length},
    {0, NULL},
};

static PyType_Spec table_spec = {
    .name = "frontier.link_table._link_table.LinkTable",
    .basicsize = sizeof(table),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = table_slots,
};

static PyMethodDef methods[] = {
    {"digest", digest, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int
add_members(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &table_spec, NULL);
    int failed = type == NULL || PyModule_AddObjectRef(module, "LinkTable", type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

EXTENSION("frontier.link_table", _link_table, add_members,
          .m_doc = "Link counts of URLs, compiled; table.py documents them.", .m_methods = methods)
