/* MurmurHash3 x64 128, by Austin Appleby, public domain. */
#ifndef ONCEOVER_KERNEL_HASH_H
#define ONCEOVER_KERNEL_HASH_H

#include "_kernel_urls.h"

typedef struct {
    uint64_t h1, h2;
} hash128;

static inline uint64_t
rotate64(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

static inline uint64_t
mix64(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    x ^= x >> 33;
    return x;
}

static hash128
murmur(const uint8_t *data, size_t size, uint32_t seed)
{
    const uint64_t c1 = 0x87c37b91114253d5ULL, c2 = 0x4cf5ad432745937fULL;
    uint64_t h1 = seed, h2 = seed, k1 = 0, k2 = 0;
    size_t whole = size / 16 * 16;
    for (size_t at = 0; at < whole; at += 16) {
        k1 = load64(data + at);
        k2 = load64(data + at + 8);
        h1 ^= rotate64(k1 * c1, 31) * c2;
        h1 = (rotate64(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= rotate64(k2 * c2, 33) * c1;
        h2 = (rotate64(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    uint8_t tail[16] = {0};
    memcpy(tail, data + whole, size - whole);
    h2 ^= rotate64(load64(tail + 8) * c2, 33) * c1;
    h1 ^= rotate64(load64(tail) * c1, 31) * c2;
    h1 ^= size;
    h2 ^= size;
    h1 += h2;
    h2 += h1;
    h1 = mix64(h1);
    h2 = mix64(h2);
    h1 += h2;
    h2 += h1;
    return (hash128){h1, h2};
}

/* Hash the URLs from `from` to `from + count` of a batch. Returns -1 with an exception. */
static int
hash_run(PyObject *batch, Py_ssize_t from, int count, uint32_t seed, hash128 *out)
{
    for (int i = 0; i < count; i++) {
        Py_ssize_t size;
        PyObject *owner;
        const char *text = text_of(PyTuple_GetItem(batch, from + i), &size, &owner);
        if (text == NULL)
            return -1;
        out[i] = murmur((const uint8_t *)text, (size_t)size, seed);
        Py_XDECREF(owner);
    }
    return 0;
}

#endif
