/* The kernel of the visited sets: batches of URLs in, verdicts out.
 *
 * What each function does is said in kernel.py, and written a second time, in NumPy, in numpy_*.py; the two agree bit
 * for bit and are tested against each other. All of it runs under the GIL, and calls no Python code between reading
 * and writing a structure. Only the limited API is used, so that one wheel serves all Python versions from 3.11 on.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "_kernel_sketch.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "written for little-endian machines; the NumPy kernel serves the others"
#endif

enum { TEST = 0, ADD = 1, FORGET = 2 };
enum { MOST_HASHES = 64, RUN = 32, BLOCK_BYTES = 64, SLOT = 16 };

__extension__ typedef unsigned __int128 wide;

typedef struct {
    uint64_t h1, h2;
} hash128;

/* ---- Batches ---------------------------------------------------------------------------------------------------- */

/* A tuple of str that nobody else can change, or NULL with TypeError. */
static PyObject *
batch_of(PyObject *urls)
{
    if (PyUnicode_Check(urls)) {
        PyErr_SetString(PyExc_TypeError, "expected a sequence of URLs, found one str; wrap it in a list");
        return NULL;
    }
    if (!PySequence_Check(urls)) {
        PyObject *name = PyType_GetName(Py_TYPE(urls));
        if (name != NULL)
            PyErr_Format(PyExc_TypeError, "expected a sequence of URLs, found %U; make a list of it", name);
        Py_XDECREF(name);
        return NULL;
    }
    PyObject *batch = PySequence_Tuple(urls);
    if (batch == NULL)
        return NULL;
    Py_ssize_t count = PyTuple_Size(batch);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *url = PyTuple_GetItem(batch, i);
        /* A str is met for the first time here, and its text lies behind its head. */
        __builtin_prefetch((const char *)url + 64, 0);
        if (i + 8 < count)
            __builtin_prefetch(PyTuple_GetItem(batch, i + 8), 0);
        if (!PyUnicode_Check(url)) {
            PyObject *name = PyType_GetName(Py_TYPE(url));
            if (name != NULL)
                PyErr_Format(PyExc_TypeError, "expected str for each URL, found %U at %zd", name, i);
            Py_XDECREF(name);
            Py_DECREF(batch);
            return NULL;
        }
    }
    return batch;
}

/* The UTF-8 of a str. Where it has lone surrogates, `*owner` holds the bytes, and is to be released. */
static const char *
text_of(PyObject *url, Py_ssize_t *size, PyObject **owner)
{
    const char *text = PyUnicode_AsUTF8AndSize(url, size);
    *owner = NULL;
    if (text != NULL || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return text;
    PyErr_Clear();
    *owner = PyUnicode_AsEncodedString(url, "utf-8", "surrogatepass");
    if (*owner == NULL)
        return NULL;
    *size = PyBytes_Size(*owner);
    return PyBytes_AsString(*owner);
}

static void
set_verdict(PyObject *verdicts, Py_ssize_t i, int absent)
{
    PyObject *verdict = absent ? Py_True : Py_False;
    Py_INCREF(verdict);
    PyList_SetItem(verdicts, i, verdict);
}

/* ---- Memory in lists ---------------------------------------------------------------------------------------------- */

/* What a list holds at `index`, held until it is released; `obj` is NULL before and after. Returns -1 with an exception. */
static int
hold(PyObject *list, Py_ssize_t index, Py_buffer *held)
{
    PyObject *memory = PyList_GetItem(list, index);
    return memory == NULL ? -1 : PyObject_GetBuffer(memory, held, PyBUF_WRITABLE);
}

/* The same for the bits of a leaf. */
static int
hold_leaf(PyObject *leaves, Py_ssize_t leaf, Py_buffer *held)
{
    if (leaf < 0 || leaf >= PyList_Size(leaves)) {
        PyErr_Format(PyExc_ValueError, "expected bits for leaf %zd", leaf);
        return -1;
    }
    if (hold(leaves, leaf, held) < 0)
        return -1;
    if (held->len > 0)
        return 0;
    PyBuffer_Release(held);
    PyErr_Format(PyExc_ValueError, "expected bits for leaf %zd, found none", leaf);
    return -1;
}

static void
release_all(Py_buffer *held, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (held[i].obj != NULL)
            PyBuffer_Release(&held[i]);
}

/* ---- MurmurHash3 x64 128, by Austin Appleby, public domain -------------------------------------------------------- */

static inline uint64_t
load64(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

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

/* Hash URLs `from` to `from + count` of a batch. Returns -1 with an exception. */
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

/* ---- MD5, RFC 1321 ------------------------------------------------------------------------------------------------ */

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
md5(const uint8_t *data, size_t size, uint8_t out[SLOT])
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
    memcpy(out, state, SLOT);
}

/* Digest URLs `from` to `from + count` of a batch. Returns -1 with an exception. */
static int
digest_run(PyObject *batch, Py_ssize_t from, int count, uint8_t (*out)[SLOT])
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

/* ---- Positions ---------------------------------------------------------------------------------------------------- */

/* x mod m for x < 2^63, by multiplication: `inverse` is (2^64 - 1) / m, and the quotient at most one too small. */
static inline uint64_t
reduce(uint64_t x, uint64_t m, uint64_t inverse)
{
    uint64_t quotient = (uint64_t)(((wide)x * inverse) >> 64);
    uint64_t rest = x - quotient * m;
    return rest >= m ? rest - m : rest;
}

/* Where x lies in 0..n-1 when all of 0..2^64-1 is mapped to it evenly. */
static inline uint64_t
scale(uint64_t x, uint64_t n)
{
    return (uint64_t)(((wide)x * n) >> 64);
}

/* Guava's MURMUR128_MITZ_64. */
static inline void
guava_positions(hash128 hash, uint64_t m, uint64_t inverse, int hashes, uint64_t *out)
{
    uint64_t combined = hash.h1;
    for (int i = 0; i < hashes; i++) {
        out[i] = reduce(combined & 0x7fffffffffffffffULL, m, inverse);
        combined += hash.h2;
    }
}

/* Nine independent bits for each position within a block, seven positions from a word. */
static inline void
block_positions(uint64_t h2, int hashes, uint64_t *out)
{
    uint64_t word = h2;
    for (int i = 0; i < hashes; i++) {
        if (i && i % 7 == 0)
            word = mix64(h2 + (uint64_t)i / 7 * UINT64_C(0x9e3779b97f4a7c15));
        out[i] = word & 511;
        word >>= 9;
    }
}

/* Positions in a leaf, from bits that are independent of those that chose the leaf; m <= 2^32. The steps change by a
 * number that is as random as they are: of even steps one in m·k is so short that all k positions are one or two bits,
 * and leaves would err that often at least, whatever their fill. */
static inline void
leaf_positions(uint64_t fingerprint, uint64_t m, int hashes, uint64_t *out)
{
    uint64_t mixed = mix64(fingerprint ^ 0x6a09e667f3bcc909ULL);
    uint32_t at = (uint32_t)(mixed >> 32), step = (uint32_t)mixed;
    uint32_t change = (uint32_t)((mixed * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
    for (int i = 0; i < hashes; i++) {
        out[i] = (at * m) >> 32;
        at += step;
        step += change;
    }
}

/* Set bits, and return how many were clear. */
static inline int
set_bits(uint8_t *bits, const uint64_t *positions, int hashes)
{
    int ones = 0;
    for (int i = 0; i < hashes; i++) {
        uint8_t *byte = bits + (positions[i] >> 3);
        int bit = positions[i] & 7;
        ones += !(*byte >> bit & 1);
        *byte |= (uint8_t)(1u << bit);
    }
    return ones;
}

static inline int
any_clear(const uint8_t *bits, const uint64_t *positions, int hashes)
{
    for (int i = 0; i < hashes; i++)
        if (!(bits[positions[i] >> 3] >> (positions[i] & 7) & 1))
            return 1;
    return 0;
}

static int
check_hashes(int hashes)
{
    if (hashes >= 1 && hashes <= MOST_HASHES)
        return 0;
    PyErr_Format(PyExc_ValueError, "expected 1 to %d hash functions, found %d", MOST_HASHES, hashes);
    return -1;
}

static int
check_mode(int mode, int most)
{
    if (mode >= TEST && mode <= most)
        return 0;
    PyErr_Format(PyExc_ValueError, "expected a mode from 0 to %d, found %d", most, mode);
    return -1;
}

static inline int
run_length(Py_ssize_t done, Py_ssize_t count)
{
    return count - done < RUN ? (int)(count - done) : RUN;
}

/* ---- Hashes alone ------------------------------------------------------------------------------------------------- */

static PyObject *
hash_many(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *batch, *result = NULL;
    unsigned int seed;
    Py_buffer out;
    if (!PyArg_ParseTuple(args, "OIw*", &urls, &seed, &out))
        return NULL;
    batch = batch_of(urls);
    if (batch == NULL)
        goto done;
    Py_ssize_t count = PyTuple_Size(batch);
    if (out.len != count * (Py_ssize_t)sizeof(hash128)) {
        PyErr_Format(PyExc_ValueError, "expected room for %zd hashes of 16 bytes, found %zd bytes", count, out.len);
        goto done;
    }
    hash128 hashes[RUN];
    for (Py_ssize_t at = 0; at < count; at += RUN) {
        int run = run_length(at, count);
        if (hash_run(batch, at, run, seed, hashes) < 0)
            goto done;
        memcpy((uint8_t *)out.buf + at * (Py_ssize_t)sizeof(hash128), hashes, (size_t)run * sizeof(hash128));
    }
    result = Py_NewRef(Py_None);
done:
    Py_XDECREF(batch);
    PyBuffer_Release(&out);
    return result;
}

static PyObject *
digest_many(PyObject *Py_UNUSED(module), PyObject *urls)
{
    PyObject *batch = batch_of(urls);
    if (batch == NULL)
        return NULL;
    Py_ssize_t count = PyTuple_Size(batch);
    PyObject *result = PyBytes_FromStringAndSize(NULL, count * SLOT);
    if (result != NULL) {
        uint8_t(*out)[SLOT] = (uint8_t(*)[SLOT])PyBytes_AsString(result);
        for (Py_ssize_t at = 0; at < count; at += RUN) {
            if (digest_run(batch, at, run_length(at, count), out + at) < 0) {
                Py_CLEAR(result);
                break;
            }
        }
    }
    Py_DECREF(batch);
    return result;
}

/* ---- Bloom -------------------------------------------------------------------------------------------------------- */

static PyObject *
bloom_probe(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *memory = NULL, *batch = NULL, *verdicts = NULL, *result = NULL;
    Py_buffer buffer;
    sketch counted = {0};
    int hashes, mode;
    unsigned int seed;
    if (!PyArg_ParseTuple(args, "Ow*iIi|O", &urls, &buffer, &hashes, &seed, &mode, &memory))
        return NULL;
    uint8_t *bits = buffer.buf;
    uint64_t m = (uint64_t)buffer.len * 8;
    if (check_hashes(hashes) < 0 || check_mode(mode, ADD) < 0)
        goto done;
    if (m == 0) {
        PyErr_SetString(PyExc_ValueError, "expected bits, found none");
        goto done;
    }
    if (open_sketch(memory, &counted) < 0 || (batch = batch_of(urls)) == NULL)
        goto done;
    Py_ssize_t count = PyTuple_Size(batch), fresh = 0, ones = 0;
    if ((verdicts = PyList_New(count)) == NULL)
        goto done;
    uint64_t inverse = UINT64_MAX / m, positions[RUN][MOST_HASHES];
    hash128 run_hashes[RUN];
    for (Py_ssize_t at = 0; at < count; at += RUN) {
        int run = run_length(at, count);
        if (hash_run(batch, at, run, seed, run_hashes) < 0)
            goto done;
        /* All addresses of the run are asked for before the first is needed. */
        for (int i = 0; i < run; i++) {
            guava_positions(run_hashes[i], m, inverse, hashes, positions[i]);
            for (int j = 0; j < hashes; j++)
                __builtin_prefetch(bits + (positions[i][j] >> 3), 1);
        }
        for (int i = 0; i < run; i++) {
            int absent;
            if (mode == ADD) {
                int set = set_bits(bits, positions[i], hashes);
                ones += set;
                absent = set > 0;
                observe(&counted, run_hashes[i].h2, absent);
            }
            else
                absent = any_clear(bits, positions[i], hashes);
            fresh += absent;
            set_verdict(verdicts, at + i, absent);
        }
    }
    result = Py_BuildValue("Onn", verdicts, fresh, ones);
done:
    close_sketch(&counted);
    Py_XDECREF(verdicts);
    Py_XDECREF(batch);
    PyBuffer_Release(&buffer);
    return result;
}

/* ---- Blocked Bloom ------------------------------------------------------------------------------------------------ */

static inline int
ones_of_block(const uint8_t *block)
{
    uint64_t ones = 0;
    for (int i = 0; i < BLOCK_BYTES; i += 8) {
        uint64_t word = load64(block + i);
        word -= word >> 1 & 0x5555555555555555ULL;
        word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
        word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
        ones += word * 0x0101010101010101ULL >> 56;
    }
    return (int)ones;
}

static PyObject *
blocked_probe(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *memory = NULL, *batch = NULL, *verdicts = NULL, *result = NULL;
    Py_buffer buffer, table;
    sketch counted = {0};
    int hashes, mode;
    unsigned int seed;
    if (!PyArg_ParseTuple(args, "Ow*w*iIi|O", &urls, &buffer, &table, &hashes, &seed, &mode, &memory))
        return NULL;
    uint8_t *bits = buffer.buf;
    int64_t *blocks_by_ones = table.buf;
    uint64_t blocks = (uint64_t)buffer.len / BLOCK_BYTES;
    if (check_hashes(hashes) < 0 || check_mode(mode, ADD) < 0)
        goto done;
    if (blocks == 0 || blocks > UINT32_MAX || table.len != 513 * 8) {
        PyErr_SetString(PyExc_ValueError, "expected 1 to 2^32 - 1 blocks of 64 bytes and a table of 513 counts");
        goto done;
    }
    if (open_sketch(memory, &counted) < 0 || (batch = batch_of(urls)) == NULL)
        goto done;
    Py_ssize_t count = PyTuple_Size(batch), fresh = 0, ones = 0;
    if ((verdicts = PyList_New(count)) == NULL)
        goto done;
    hash128 run_hashes[RUN];
    uint8_t *run_blocks[RUN];
    uint64_t positions[MOST_HASHES];
    for (Py_ssize_t at = 0; at < count; at += RUN) {
        int run = run_length(at, count);
        if (hash_run(batch, at, run, seed, run_hashes) < 0)
            goto done;
        for (int i = 0; i < run; i++) {
            run_blocks[i] = bits + scale(run_hashes[i].h1, blocks) * BLOCK_BYTES;
            __builtin_prefetch(run_blocks[i], 1);
        }
        for (int i = 0; i < run; i++) {
            block_positions(run_hashes[i].h2, hashes, positions);
            int absent = any_clear(run_blocks[i], positions, hashes);
            if (absent && mode == ADD) {
                int before = ones_of_block(run_blocks[i]);
                int set = set_bits(run_blocks[i], positions, hashes);
                blocks_by_ones[before]--;
                blocks_by_ones[before + set]++;
                ones += set;
            }
            if (mode == ADD)
                observe(&counted, run_hashes[i].h2, absent);
            fresh += absent;
            set_verdict(verdicts, at + i, absent);
        }
    }
    result = Py_BuildValue("Onn", verdicts, fresh, ones);
done:
    close_sketch(&counted);
    Py_XDECREF(verdicts);
    Py_XDECREF(batch);
    PyBuffer_Release(&buffer);
    PyBuffer_Release(&table);
    return result;
}

/* ---- Counting Bloom ----------------------------------------------------------------------------------------------- */

static inline uint32_t
counter_at(const uint8_t *counters, int width, uint64_t i)
{
    if (width == 4)
        return counters[i >> 1] >> ((i & 1) * 4) & 15;
    if (width == 8)
        return counters[i];
    uint32_t value;
    memcpy(&value, counters + i * 4, 4);
    return value;
}

static inline void
set_counter(uint8_t *counters, int width, uint64_t i, uint32_t value)
{
    if (width == 4) {
        int shift = (int)(i & 1) * 4;
        counters[i >> 1] = (uint8_t)((counters[i >> 1] & ~(15u << shift)) | value << shift);
    }
    else if (width == 8)
        counters[i] = (uint8_t)value;
    else
        memcpy(counters + i * 4, &value, 4);
}

/* Step each counter up or down; a full one stays full for ever, as nobody knows how often it was meant to rise. */
static void
step_counters(uint8_t *counters, int width, uint32_t full, const uint64_t *positions, int hashes, int mode,
              Py_ssize_t *ones, Py_ssize_t *saturated)
{
    for (int i = 0; i < hashes; i++) {
        uint32_t value = counter_at(counters, width, positions[i]);
        if (value == full)
            continue;
        if (mode == ADD) {
            *ones += value == 0;
            *saturated += value + 1 == full;
            set_counter(counters, width, positions[i], value + 1);
        }
        else if (value > 0) {
            *ones -= value == 1;
            set_counter(counters, width, positions[i], value - 1);
        }
    }
}

static PyObject *
counting_probe(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *memory = NULL, *batch = NULL, *verdicts = NULL, *result = NULL;
    Py_buffer buffer;
    sketch counted = {0};
    int width, hashes, mode;
    unsigned int seed;
    if (!PyArg_ParseTuple(args, "Ow*iiIi|O", &urls, &buffer, &width, &hashes, &seed, &mode, &memory))
        return NULL;
    uint8_t *counters = buffer.buf;
    if (check_hashes(hashes) < 0 || check_mode(mode, FORGET) < 0)
        goto done;
    if ((width != 4 && width != 8 && width != 32) || buffer.len < 4 || buffer.len % 4) {
        PyErr_SetString(PyExc_ValueError, "expected counters of 4, 8 or 32 bits in whole words of 32 bits");
        goto done;
    }
    uint32_t full = width == 32 ? 0x7fffffffu : (1u << width) - 1;
    uint64_t m = (uint64_t)buffer.len * 8 / (uint64_t)width, inverse = UINT64_MAX / m;
    if (open_sketch(memory, &counted) < 0 || (batch = batch_of(urls)) == NULL)
        goto done;
    Py_ssize_t count = PyTuple_Size(batch), absentees = 0, ones = 0, saturated = 0;
    if ((verdicts = PyList_New(count)) == NULL)
        goto done;
    hash128 run_hashes[RUN];
    uint64_t positions[RUN][MOST_HASHES];
    for (Py_ssize_t at = 0; at < count; at += RUN) {
        int run = run_length(at, count);
        if (hash_run(batch, at, run, seed, run_hashes) < 0)
            goto done;
        for (int i = 0; i < run; i++) {
            guava_positions(run_hashes[i], m, inverse, hashes, positions[i]);
            for (int j = 0; j < hashes; j++)
                __builtin_prefetch(counters + positions[i][j] * (uint64_t)width / 8, 1);
        }
        for (int i = 0; i < run; i++) {
            int absent = 0;
            for (int j = 0; j < hashes && !absent; j++)
                absent = counter_at(counters, width, positions[i][j]) == 0;
            if ((mode == ADD && absent) || (mode == FORGET && !absent))
                step_counters(counters, width, full, positions[i], hashes, mode, &ones, &saturated);
            if (mode == ADD)
                observe(&counted, run_hashes[i].h2, absent);
            absentees += absent;
            set_verdict(verdicts, at + i, absent);
        }
    }
    result = Py_BuildValue("Onnn", verdicts, absentees, ones, saturated);
done:
    close_sketch(&counted);
    Py_XDECREF(verdicts);
    Py_XDECREF(batch);
    PyBuffer_Release(&buffer);
    return result;
}

/* ---- Leaves of the splitting filter ------------------------------------------------------------------------------- */

static PyObject *
leaf_probe(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *leaves, *batch = NULL, *verdicts = NULL, *result = NULL;
    Py_buffer routes, counts, out, bits[RUN] = {{0}};
    int hashes, mode;
    unsigned int seed;
    if (!PyArg_ParseTuple(args, "Ow*O!w*iIw*i", &urls, &routes, &PyList_Type, &leaves, &counts, &hashes, &seed, &out,
                          &mode))
        return NULL;
    const int32_t *leaf_of = routes.buf;
    int64_t *ones = counts.buf;
    uint64_t *fingerprints = out.buf;
    uint64_t route_count = (uint64_t)routes.len / 4;
    Py_ssize_t leaf_count = PyList_Size(leaves), fresh = 0;
    if (check_hashes(hashes) < 0 || check_mode(mode, ADD) < 0)
        goto done;
    if ((batch = batch_of(urls)) == NULL)
        goto done;
    Py_ssize_t count = PyTuple_Size(batch);
    if (route_count == 0 || counts.len / 8 < leaf_count || (mode == ADD && out.len / 8 < count)) {
        PyErr_SetString(PyExc_ValueError, "expected routes, a count for each leaf, and room for a fingerprint per URL");
        goto done;
    }
    if ((verdicts = PyList_New(count)) == NULL)
        goto done;
    hash128 run_hashes[RUN];
    uint64_t positions[RUN][MOST_HASHES];
    int32_t run_leaves[RUN];
    for (Py_ssize_t at = 0; at < count; at += RUN) {
        int run = run_length(at, count);
        if (hash_run(batch, at, run, seed, run_hashes) < 0)
            goto done;
        for (int i = 0; i < run; i++) {
            run_leaves[i] = leaf_of[scale(run_hashes[i].h1, route_count)];
            if (hold_leaf(leaves, run_leaves[i], &bits[i]) < 0)
                goto done;
            leaf_positions(run_hashes[i].h1, (uint64_t)bits[i].len * 8, hashes, positions[i]);
            for (int j = 0; j < hashes; j++)
                __builtin_prefetch((uint8_t *)bits[i].buf + (positions[i][j] >> 3), 1);
        }
        for (int i = 0; i < run; i++) {
            int absent;
            if (mode == ADD) {
                int set = set_bits(bits[i].buf, positions[i], hashes);
                ones[run_leaves[i]] += set;
                absent = set > 0;
                fingerprints[absent ? fresh : count - 1 - (at + i - fresh)] = run_hashes[i].h1;
            }
            else
                absent = any_clear(bits[i].buf, positions[i], hashes);
            fresh += absent;
            set_verdict(verdicts, at + i, absent);
            PyBuffer_Release(&bits[i]);
        }
    }
    result = Py_BuildValue("On", verdicts, fresh);
done:
    release_all(bits, RUN);
    Py_XDECREF(verdicts);
    Py_XDECREF(batch);
    PyBuffer_Release(&routes);
    PyBuffer_Release(&counts);
    PyBuffer_Release(&out);
    return result;
}

static PyObject *
leaves_fill(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *leaves, *result = NULL;
    Py_buffer list, starts, counts, bits = {0};
    unsigned long long last;
    int hashes;
    if (!PyArg_ParseTuple(args, "y*y*KO!w*i", &list, &starts, &last, &PyList_Type, &leaves, &counts, &hashes))
        return NULL;
    const uint8_t *fingerprints = list.buf, *lows = starts.buf;
    int64_t *ones = counts.buf;
    Py_ssize_t count = list.len / 8, leaf_count = PyList_Size(leaves), leaf = -1;
    if (check_hashes(hashes) < 0)
        goto done;
    if (leaf_count == 0 || starts.len / 8 != leaf_count || counts.len / 8 != leaf_count) {
        PyErr_SetString(PyExc_ValueError, "expected leaves, and a lowest fingerprint and a count for each");
        goto done;
    }
    uint64_t positions[MOST_HASHES];
    for (Py_ssize_t i = 0; i < count; i++) {
        uint64_t fingerprint = load64(fingerprints + i * 8);
        if (fingerprint > last)
            break;
        /* Both ascend: a leaf once left is done. */
        while (leaf + 1 < leaf_count && fingerprint >= load64(lows + (leaf + 1) * 8)) {
            release_all(&bits, 1);
            if (hold_leaf(leaves, ++leaf, &bits) < 0)
                goto done;
        }
        if (leaf < 0)
            continue;
        leaf_positions(fingerprint, (uint64_t)bits.len * 8, hashes, positions);
        ones[leaf] += set_bits(bits.buf, positions, hashes);
    }
    result = Py_NewRef(Py_None);
done:
    release_all(&bits, 1);
    PyBuffer_Release(&list);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&counts);
    return result;
}

/* ---- The exact table ---------------------------------------------------------------------------------------------- */

/* A table in use: its shards are held from when the first digest asks for one to the end of the call. */
typedef struct {
    PyObject *shards, *allocate;
    Py_buffer *held;
    int64_t *counts;
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

/* A fifth more; from 16 KiB on in whole pages, as memory comes. */
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
    Py_buffer *held = &in->held[index];
    if (held->obj == NULL && hold(in->shards, index, held) < 0)
        return -1;
    out->slots = held->buf;
    out->count = held->len / SLOT;
    return 0;
}

/* The digest's slot, or the one where it belongs, which may be behind the end. */
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

/* Put a shard's digests over at least that many slots, and put the result in its place. Returns -1 with an exception. */
static int
spread(const table *in, Py_ssize_t index, Py_ssize_t slots)
{
    shard from;
    if (shard_at(in, index, &from) < 0)
        return -1;
    for (;; slots = larger(slots)) {
        Py_buffer held = {0};
        PyObject *memory = PyObject_CallFunction(in->allocate, "n", slots * SLOT);
        if (memory == NULL)
            return -1;
        if (PyObject_GetBuffer(memory, &held, PyBUF_WRITABLE) < 0) {
            Py_DECREF(memory);
            return -1;
        }
        uint8_t *to = held.buf;
        Py_ssize_t next = 0, i = 0, room = held.len / SLOT < slots ? held.len / SLOT : slots;
        for (; i < from.count; i++) {
            const uint8_t *digest = from.slots + i * SLOT;
            if (is_empty(digest))
                continue;
            Py_ssize_t home = home_of(digest, slots, in->shard_bits);
            if (home > next)
                next = home;
            if (next >= room)
                break;
            memcpy(to + next * SLOT, digest, SLOT);
            next++;
        }
        if (i == from.count && room == slots) {
            PyBuffer_Release(&in->held[index]);
            in->held[index] = held;
            return PyList_SetItem(in->shards, index, memory);
        }
        PyBuffer_Release(&held);
        Py_DECREF(memory);
        if (room < slots) {
            PyErr_Format(PyExc_ValueError, "expected %zd bytes of memory, found less", slots * SLOT);
            return -1;
        }
    }
}

/* Put in a digest that is absent. Returns -1 with an exception. */
static int
insert(const table *in, Py_ssize_t index, const uint8_t *digest)
{
    for (;;) {
        shard into;
        int found;
        if (shard_at(in, index, &into) < 0)
            return -1;
        /* 7/8 full: beyond it the clusters, and the time to move them, grow fast. */
        if ((in->counts[index] + 1) * 8 <= (int64_t)into.count * 7) {
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

/* Close the gap: what stands behind moves up, as far as it is not at home. */
static void
take_out(const shard *in, Py_ssize_t slot, int shard_bits)
{
    Py_ssize_t end = slot + 1;
    while (end < in->count && !is_empty(in->slots + end * SLOT) &&
           home_of(in->slots + end * SLOT, in->count, shard_bits) != end)
        end++;
    uint8_t *place = in->slots + slot * SLOT;
    memmove(place, place + SLOT, (size_t)(end - slot - 1) * SLOT);
    memset(in->slots + (end - 1) * SLOT, 0, SLOT);
}

/* Where a digest of the batch belongs, asked for before it is needed. Returns -1 with an exception. */
static inline Py_ssize_t
approach(const table *in, uint8_t *digest)
{
    shard at;
    /* The digest that can't be told from an empty slot takes the next one's place. */
    if (is_empty(digest))
        digest[SLOT - 1] = 1;
    Py_ssize_t index = in->shard_bits ? (Py_ssize_t)(load64_big(digest) >> (64 - in->shard_bits)) : 0;
    if (shard_at(in, index, &at) < 0)
        return -1;
    if (at.count)
        __builtin_prefetch(at.slots + home_of(digest, at.count, in->shard_bits) * SLOT, 1);
    return index;
}

static PyObject *
table_probe(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *batch = NULL, *verdicts = NULL, *result = NULL;
    Py_buffer buffer;
    table in = {0};
    int mode;
    if (!PyArg_ParseTuple(args, "OOO!w*i", &in.allocate, &urls, &PyList_Type, &in.shards, &buffer, &mode))
        return NULL;
    in.counts = buffer.buf;
    in.shard_count = PyList_Size(in.shards);
    while (in.shard_bits < 16 && (Py_ssize_t)1 << in.shard_bits < in.shard_count)
        in.shard_bits++;
    if (check_mode(mode, FORGET) < 0)
        goto done;
    if ((Py_ssize_t)1 << in.shard_bits != in.shard_count || buffer.len != in.shard_count * 8) {
        PyErr_SetString(PyExc_ValueError, "expected 1, 2, 4 ... 65,536 shards and a count for each");
        goto done;
    }
    if ((in.held = PyMem_Calloc((size_t)in.shard_count, sizeof(Py_buffer))) == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    if ((batch = batch_of(urls)) == NULL)
        goto done;
    Py_ssize_t count = PyTuple_Size(batch), change = 0;
    if ((verdicts = PyList_New(count)) == NULL)
        goto done;
    uint8_t digests[RUN][SLOT];
    Py_ssize_t indices[RUN];
    for (Py_ssize_t at = 0; at < count; at += RUN) {
        int run = run_length(at, count);
        if (digest_run(batch, at, run, digests) < 0)
            goto done;
        for (int i = 0; i < run; i++)
            if ((indices[i] = approach(&in, digests[i])) < 0)
                goto done;
        for (int i = 0; i < run; i++) {
            shard one;
            int found;
            if (shard_at(&in, indices[i], &one) < 0)
                goto done;
            Py_ssize_t slot = find(&one, digests[i], in.shard_bits, &found);
            if (found && mode == FORGET) {
                take_out(&one, slot, in.shard_bits);
                in.counts[indices[i]]--;
                change--;
            }
            else if (!found && mode == ADD) {
                if (insert(&in, indices[i], digests[i]) < 0)
                    goto done;
                change++;
            }
            set_verdict(verdicts, at + i, !found);
        }
    }
    result = Py_BuildValue("On", verdicts, change);
done:
    if (in.held != NULL)
        release_all(in.held, in.shard_count);
    PyMem_Free(in.held);
    Py_XDECREF(verdicts);
    Py_XDECREF(batch);
    PyBuffer_Release(&buffer);
    return result;
}

/* ---- The module --------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"hash_many", hash_many, METH_VARARGS, NULL},
    {"digest_many", digest_many, METH_O, NULL},
    {"bloom_probe", bloom_probe, METH_VARARGS, NULL},
    {"blocked_probe", blocked_probe, METH_VARARGS, NULL},
    {"counting_probe", counting_probe, METH_VARARGS, NULL},
    {"leaf_probe", leaf_probe, METH_VARARGS, NULL},
    {"leaves_fill", leaves_fill, METH_VARARGS, NULL},
    {"table_probe", table_probe, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "visited.bits._kernel",
    .m_doc = "The kernel of the visited sets, compiled; kernel.py says what its functions do.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__kernel(void)
{
    return PyModuleDef_Init(&module);
}
