/* The table of digests of the exact set. */
#ifndef ONCEOVER_KERNEL_TABLE_H
#define ONCEOVER_KERNEL_TABLE_H

#include "_kernel_md5.h"
#include "_kernel_positions.h"

enum { SLOT = DIGEST_BYTES };

/* A shard of more would be larger than any memory, also after it was made larger. */
#define MOST_SLOTS (PY_SSIZE_T_MAX / SLOT / 2)

/* A table in use. The buffer of a shard is taken when the first digest needs it, and released at the end of the call. */
typedef struct {
    PyObject *shards, *allocate;
    Py_buffer *buffers;
    uint64_t *counts;
    unsigned long long factor;
    Py_ssize_t shard_count;
    int shard_bits;
} table;

typedef struct {
    uint8_t *slots;
    Py_ssize_t count;
} shard;

static inline uint64_t
load64_big(const uint8_t *at)
{
    return __builtin_bswap64(load64(at));
}

static inline int
is_empty(const uint8_t *slot)
{
    return (load64(slot) | load64(slot + 8)) == 0;
}

static inline int
compare(const uint8_t *a, const uint8_t *b)
{
    uint64_t x = load64_big(a), y = load64_big(b);
    if (x == y) {
        x = load64_big(a + 8);
        y = load64_big(b + 8);
    }
    return (x > y) - (x < y);
}

static inline Py_ssize_t
homes_of(Py_ssize_t slots)
{
    Py_ssize_t homes = slots - slots / 64 - 4;
    return homes < 1 ? 1 : homes;
}

/* A fifth more; from 16 KiB on in whole pages, because such memory is mapped. */
static inline Py_ssize_t
larger(Py_ssize_t slots)
{
    Py_ssize_t wanted = slots + slots / 5 + 4;
    return wanted < 1024 ? wanted : (wanted + 255) / 256 * 256;
}

static inline Py_ssize_t
home_of(const uint8_t *digest, Py_ssize_t slots, int shard_bits)
{
    return (Py_ssize_t)(((load64_big(digest) << shard_bits >> 32) * (uint64_t)homes_of(slots)) >> 32);
}

/* Returns -1 with an exception. */
static inline int
shard_at(const table *in, Py_ssize_t index, shard *out)
{
    Py_buffer *buffer = &in->buffers[index];
    if (buffer->obj == NULL && get_item_buffer(in->shards, index, buffer) < 0)
        return -1;
    out->slots = buffer->buf;
    out->count = buffer->len / SLOT;
    return 0;
}

/* Return the digest's slot, or the slot where it belongs, which may be behind the end. */
static Py_ssize_t
find(const shard *in, const uint8_t *digest, int shard_bits, int *found)
{
    Py_ssize_t slot = in->count ? home_of(digest, in->count, shard_bits) : 0;
    *found = 0;
    for (; slot < in->count; slot++) {
        const uint8_t *there = in->slots + slot * SLOT;
        if (is_empty(there))
            break;
        int order = compare(there, digest);
        if (order >= 0) {
            *found = order == 0;
            break;
        }
    }
    return slot;
}

/* Copy digests in their order to `slots` slots, of which `room` exist. Returns 0 where they do not fit. */
static int
copy_digests(const shard *from, uint8_t *to, Py_ssize_t slots, Py_ssize_t room, int shard_bits)
{
    Py_ssize_t next = 0;
    for (Py_ssize_t i = 0; i < from->count; i++) {
        const uint8_t *digest = from->slots + i * SLOT;
        if (is_empty(digest))
            continue;
        Py_ssize_t home = home_of(digest, slots, shard_bits);
        if (home > next)
            next = home;
        if (next >= room)
            return 0;
        memcpy(to + next * SLOT, digest, SLOT);
        next++;
    }
    return 1;
}

/* Replace a shard by one of at least that many slots, with the same digests. Returns -1 with an exception. */
static int
spread(const table *in, Py_ssize_t index, Py_ssize_t slots)
{
    shard from;
    if (shard_at(in, index, &from) < 0)
        return -1;
    for (;; slots = larger(slots)) {
        Py_buffer buffer = {0};
        PyObject *memory = PyObject_CallFunction(in->allocate, "n", slots * SLOT);
        if (memory == NULL)
            return -1;
        if (PyObject_GetBuffer(memory, &buffer, PyBUF_WRITABLE) < 0) {
            Py_DECREF(memory);
            return -1;
        }
        Py_ssize_t room = buffer.len / SLOT < slots ? buffer.len / SLOT : slots;
        if (copy_digests(&from, buffer.buf, slots, room, in->shard_bits) && room == slots) {
            PyBuffer_Release(&in->buffers[index]);
            in->buffers[index] = buffer;
            return PyList_SetItem(in->shards, index, memory);
        }
        PyBuffer_Release(&buffer);
        Py_DECREF(memory);
        if (room < slots) {
            PyErr_Format(PyExc_ValueError, "expected %zd bytes of memory, found less", slots * SLOT);
            return -1;
        }
    }
}

/* Insert a digest that is absent. Returns -1 with an exception. */
static int
insert(const table *in, Py_ssize_t index, const uint8_t *digest)
{
    for (;;) {
        shard into;
        int found;
        if (shard_at(in, index, &into) < 0)
            return -1;
        if (in->counts[index] > (uint64_t)into.count) {
            PyErr_Format(PyExc_ValueError, "expected a count of at most %zd digests, found another", into.count);
            return -1;
        }
        /* 7/8 full: beyond it the clusters, and the time to move them, grow fast. */
        if (in->counts[index] < (uint64_t)into.count * 7 / 8) {
            Py_ssize_t slot = find(&into, digest, in->shard_bits, &found), end = slot;
            while (end < into.count && !is_empty(into.slots + end * SLOT))
                end++;
            if (end < into.count) {
                uint8_t *place = into.slots + slot * SLOT;
                memmove(place + SLOT, place, (size_t)(end - slot) * SLOT);
                memcpy(place, digest, SLOT);
                in->counts[index]++;
                return 0;
            }
        }
        if (spread(in, index, larger(into.count)) < 0)
            return -1;
    }
}

/* Remove a digest. The digests behind it move up, as far as they are not in their home slots. */
static void
erase(const shard *in, Py_ssize_t slot, int shard_bits)
{
    Py_ssize_t end = slot + 1;
    while (end < in->count && !is_empty(in->slots + end * SLOT) &&
           home_of(in->slots + end * SLOT, in->count, shard_bits) != end)
        end++;
    uint8_t *place = in->slots + slot * SLOT;
    memmove(place, place + SLOT, (size_t)(end - slot - 1) * SLOT);
    memset(in->slots + (end - 1) * SLOT, 0, SLOT);
}

/* The table is in an order that nobody can foresee who does not know the factor. */
static inline void
multiply(uint8_t *digest, uint64_t factor)
{
    uint64_t product = __builtin_bswap64(load64_big(digest) * factor);
    memcpy(digest, &product, sizeof(product));
}

/* Return the shard of a digest, and prefetch its home slot. Returns -1 with an exception. */
static inline Py_ssize_t
prefetch_home(const table *in, uint8_t *digest)
{
    shard at;
    /* A digest of zeros would look like an empty slot, so it is stored as the next larger one. */
    if (is_empty(digest))
        digest[SLOT - 1] = 1;
    Py_ssize_t index = in->shard_bits ? (Py_ssize_t)(load64_big(digest) >> (64 - in->shard_bits)) : 0;
    if (shard_at(in, index, &at) < 0)
        return -1;
    if (at.count)
        __builtin_prefetch(at.slots + home_of(digest, at.count, in->shard_bits) * SLOT, 1);
    return index;
}

/* Test, add or forget one digest. Returns whether it was absent, or -1 with an exception. */
static int
probe_digest(table *in, int mode, Py_ssize_t index, const uint8_t *digest, Py_ssize_t *change)
{
    shard one;
    int found;
    if (shard_at(in, index, &one) < 0)
        return -1;
    Py_ssize_t slot = find(&one, digest, in->shard_bits, &found);
    if (found && mode == FORGET) {
        erase(&one, slot, in->shard_bits);
        in->counts[index]--;
        --*change;
    }
    else if (!found && mode == ADD) {
        if (insert(in, index, digest) < 0)
            return -1;
        ++*change;
    }
    return !found;
}

/* Returns -1 with an exception. */
static int
table_run(table *in, probe *call, Py_ssize_t at, int run, Py_ssize_t *change)
{
    uint8_t digests[RUN][DIGEST_BYTES];
    Py_ssize_t indices[RUN];
    if (digest_run(call->batch, at, run, digests) < 0)
        return -1;
    for (int i = 0; i < run; i++) {
        multiply(digests[i], in->factor);
        if ((indices[i] = prefetch_home(in, digests[i])) < 0)
            return -1;
    }
    for (int i = 0; i < run; i++) {
        int absent = probe_digest(in, call->mode, indices[i], digests[i], change);
        if (absent < 0)
            return -1;
        set_verdict(call, at + i, absent);
    }
    return 0;
}

/* Find out how many shards there are. Returns -1 with an exception. */
static int
open_table(table *in)
{
    in->shard_count = PyList_Size(in->shards);
    while (in->shard_bits < 16 && (Py_ssize_t)1 << in->shard_bits < in->shard_count)
        in->shard_bits++;
    if ((Py_ssize_t)1 << in->shard_bits != in->shard_count) {
        PyErr_Format(PyExc_ValueError, "expected 1, 2, 4 ... 65,536 shards, found %zd", in->shard_count);
        return -1;
    }
    if ((in->buffers = PyMem_Calloc((size_t)in->shard_count, sizeof(Py_buffer))) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static void
close_table(table *in)
{
    if (in->buffers != NULL)
        release_all(in->buffers, in->shard_count);
    PyMem_Free(in->buffers);
}

static PyObject *
table_spread(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *result = NULL;
    Py_ssize_t index, slots;
    table in = {0};
    if (!PyArg_ParseTuple(args, "OO!nn", &in.allocate, &PyList_Type, &in.shards, &index, &slots))
        return NULL;
    if (open_table(&in) < 0)
        goto done;
    if (index < 0 || index >= in.shard_count || slots < 1 || slots > MOST_SLOTS) {
        PyErr_Format(PyExc_ValueError, "expected one of %zd shards and 1 to %zd slots", in.shard_count, MOST_SLOTS);
        goto done;
    }
    if (spread(&in, index, slots) == 0)
        result = Py_NewRef(Py_None);
done:
    close_table(&in);
    return result;
}

static PyObject *
table_probe(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *result = NULL;
    Py_buffer counts;
    Py_ssize_t change = 0;
    table in = {.factor = 1};
    probe call = {0};
    if (!PyArg_ParseTuple(args, "OOO!w*i|K", &in.allocate, &urls, &PyList_Type, &in.shards, &counts, &call.mode,
                          &in.factor))
        return NULL;
    in.counts = counts.buf;
    if (in.factor % 2 == 0) {
        PyErr_Format(PyExc_ValueError, "expected an odd factor, found %llu", in.factor);
        goto done;
    }
    if (check_mode(call.mode, FORGET) < 0 || check_aligned(&counts, 8) < 0 || open_table(&in) < 0)
        goto done;
    if (counts.len != in.shard_count * 8) {
        PyErr_Format(PyExc_ValueError, "expected %zd counts, found %zd bytes", in.shard_count, counts.len);
        goto done;
    }
    if (begin_probe(&call, urls) < 0)
        goto done;
    for (Py_ssize_t at = 0; at < call.count; at += RUN)
        if (table_run(&in, &call, at, run_length(at, call.count), &change) < 0)
            goto done;
    result = Py_BuildValue("On", call.verdicts, change);
done:
    close_table(&in);
    end_probe(&call);
    PyBuffer_Release(&counts);
    return result;
}

#endif
