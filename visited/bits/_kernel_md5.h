/* MD5, RFC 1321. */
#ifndef ONCEOVER_KERNEL_MD5_H
#define ONCEOVER_KERNEL_MD5_H

#include "_kernel_batch.h"

enum { DIGEST_BYTES = 16 };

static const uint32_t SINES[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

#define STEP(f, a, b, c, d, word, shift, i)                                                                            \
    a += (f) + (word) + SINES[i];                                                                                      \
    a = ((a << (shift)) | (a >> (32 - (shift)))) + (b)

#define FOUR(F, w0, w1, w2, w3, s0, s1, s2, s3, i)                                                                     \
    STEP(F(b, c, d), a, b, c, d, x[w0], s0, (i));                                                                      \
    STEP(F(a, b, c), d, a, b, c, x[w1], s1, (i) + 1);                                                                  \
    STEP(F(d, a, b), c, d, a, b, x[w2], s2, (i) + 2);                                                                  \
    STEP(F(c, d, a), b, c, d, a, x[w3], s3, (i) + 3)

#define F1(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define F2(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define F3(x, y, z) ((x) ^ (y) ^ (z))
#define F4(x, y, z) ((y) ^ ((x) | ~(z)))

static void
md5_block(uint32_t state[4], const uint8_t *data)
{
    uint32_t x[16], a = state[0], b = state[1], c = state[2], d = state[3];
    memcpy(x, data, 64);
    FOUR(F1, 0, 1, 2, 3, 7, 12, 17, 22, 0);
    FOUR(F1, 4, 5, 6, 7, 7, 12, 17, 22, 4);
    FOUR(F1, 8, 9, 10, 11, 7, 12, 17, 22, 8);
    FOUR(F1, 12, 13, 14, 15, 7, 12, 17, 22, 12);
    FOUR(F2, 1, 6, 11, 0, 5, 9, 14, 20, 16);
    FOUR(F2, 5, 10, 15, 4, 5, 9, 14, 20, 20);
    FOUR(F2, 9, 14, 3, 8, 5, 9, 14, 20, 24);
    FOUR(F2, 13, 2, 7, 12, 5, 9, 14, 20, 28);
    FOUR(F3, 5, 8, 11, 14, 4, 11, 16, 23, 32);
    FOUR(F3, 1, 4, 7, 10, 4, 11, 16, 23, 36);
    FOUR(F3, 13, 0, 3, 6, 4, 11, 16, 23, 40);
    FOUR(F3, 9, 12, 15, 2, 4, 11, 16, 23, 44);
    FOUR(F4, 0, 7, 14, 5, 6, 10, 15, 21, 48);
    FOUR(F4, 12, 3, 10, 1, 6, 10, 15, 21, 52);
    FOUR(F4, 8, 15, 6, 13, 6, 10, 15, 21, 56);
    FOUR(F4, 4, 11, 2, 9, 6, 10, 15, 21, 60);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

static void
md5(const uint8_t *data, size_t size, uint8_t out[DIGEST_BYTES])
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    size_t whole = size / 64 * 64, rest = size - whole;
    for (size_t at = 0; at < whole; at += 64)
        md5_block(state, data + at);
    uint8_t tail[128] = {0};
    memcpy(tail, data + whole, rest);
    tail[rest] = 0x80;
    size_t end = rest < 56 ? 64 : 128;
    uint64_t bits = (uint64_t)size * 8;
    memcpy(tail + end - 8, &bits, 8);
    md5_block(state, tail);
    if (end == 128)
        md5_block(state, tail + 64);
    memcpy(out, state, DIGEST_BYTES);
}

/* Digest the URLs from `from` to `from + count` of a batch. Returns -1 with an exception. */
static int
digest_run(PyObject *batch, Py_ssize_t from, int count, uint8_t (*out)[DIGEST_BYTES])
{
    for (int i = 0; i < count; i++) {
        Py_ssize_t size;
        PyObject *owner;
        const char *text = text_of(PyTuple_GetItem(batch, from + i), &size, &owner);
        if (text == NULL)
            return -1;
        md5((const uint8_t *)text, (size_t)size, out[i]);
        Py_XDECREF(owner);
    }
    return 0;
}

#endif
