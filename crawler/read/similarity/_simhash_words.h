/* Words, shingles, and the counts of their bits. */
#ifndef ONCEOVER_SIMHASH_WORDS_H
#define ONCEOVER_SIMHASH_WORDS_H

#include "../../../visited/bits/_extension.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef unsigned char byte;

enum { BITS = 64, SHINGLE = 3, PLANES = 48, MOST_NAME = 32 };

typedef enum { WORD, BREAK, SINGLE } kind;

typedef struct {
    uint32_t first, last;
} range;

static const range BREAKS[] = {
    {0x00, 0x2F},     {0x3A, 0x40},     {0x5B, 0x60},     {0x7B, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB9},
    {0xBB, 0xBF},     {0xD7, 0xD7},     {0xF7, 0xF7},     {0x37E, 0x37E},   {0x387, 0x387},   {0x55A, 0x55F},
    {0x589, 0x58A},   {0x5BE, 0x5BE},   {0x5C0, 0x5C0},   {0x5C3, 0x5C3},   {0x60C, 0x60D},   {0x61B, 0x61F},
    {0x66A, 0x66D},   {0x6D4, 0x6D4},   {0x964, 0x965},   {0xF0B, 0xF14},   {0x1360, 0x1368}, {0x2000, 0x2BFF},
    {0x2E00, 0x2E7F}, {0x3000, 0x3004}, {0x3008, 0x303F}, {0x30A0, 0x30A0}, {0x30FB, 0x30FB}, {0x3200, 0x33FF},
    {0xD800, 0xF8FF}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE6F}, {0xFF00, 0xFF0F}, {0xFF1A, 0xFF20}, {0xFF3B, 0xFF40},
    {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF}, {0x1F000, 0x1FAFF},
};
static const range SINGLES[] = {
    {0xE00, 0xEFF},   {0x1000, 0x109F}, {0x1780, 0x17FF}, {0x2E80, 0x2FDF}, {0x3005, 0x3007},   {0x3040, 0x309F},
    {0x30A1, 0x30FA}, {0x30FC, 0x312F}, {0x31A0, 0x31FF}, {0x3400, 0xA4CF}, {0xF900, 0xFAFF},   {0xFF66, 0xFF9F},
    {0x20000, 0x3FFFF},
};
#define COUNT(table) (sizeof(table) / sizeof(*(table)))

static byte kind_of_ascii[128];

typedef struct {
    uint64_t planes[PLANES]; /* bit b of plane p is bit p of the count of set bits b */
    uint64_t features;
    uint64_t last[SHINGLE]; /* the hashes of the last words, the oldest first */
    uint64_t words;
    uint64_t word; /* of the word that is being read */
    int is_open;
    PyObject *references;
} state;

static int
holds(const range *table, size_t count, uint32_t character)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > table[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && character >= table[low].first;
}

/* Of a character beyond ASCII. */
static kind
kind_of(uint32_t character)
{
    if (holds(BREAKS, COUNT(BREAKS), character))
        return BREAK;
    return holds(SINGLES, COUNT(SINGLES), character) ? SINGLE : WORD;
}

static uint64_t
mix(const uint64_t *words, int count)
{
    uint64_t found = 0;
    for (int i = 0; i < count; i++) {
        found = (found ^ words[i]) * UINT64_C(0x9E3779B97F4A7C15);
        found ^= found >> 32;
    }
    found = (found ^ found >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    found = (found ^ found >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return found ^ found >> 33;
}

/* Count the set bits of a hash, for all 64 at once: an adder for each plane. */
static void
count(state *self, uint64_t found)
{
    self->features++;
    for (int i = 0; found && i < PLANES; i++) {
        uint64_t carry = self->planes[i] & found;
        self->planes[i] ^= found;
        found = carry;
    }
}

static void
end_word(state *self)
{
    if (!self->is_open)
        return;
    self->is_open = 0;
    uint64_t at = self->words++;
    if (at < SHINGLE)
        self->last[at] = self->word;
    else {
        memmove(self->last, self->last + 1, (SHINGLE - 1) * sizeof(*self->last));
        self->last[SHINGLE - 1] = self->word;
    }
    if (self->words >= SHINGLE)
        count(self, mix(self->last, SHINGLE));
}

static inline void
hash_byte(state *self, byte next)
{
    self->word = (self->word ^ next) * UINT64_C(0x100000001B3);
}

static inline void
begin_word(state *self)
{
    if (!self->is_open) {
        self->is_open = 1;
        self->word = UINT64_C(0xCBF29CE484222325);
    }
}

static void
meet_character(state *self, uint32_t character, const byte *at, int length)
{
    kind found = kind_of(character);
    if (found != WORD)
        end_word(self);
    if (found == BREAK)
        return;
    begin_word(self);
    for (int i = 0; i < length; i++)
        hash_byte(self, at[i]);
    if (found == SINGLE)
        end_word(self);
}

/* Decode a character that is not ASCII. Returns its length, or 0 if it is not UTF-8. */
static int
decode(const byte *at, const byte *end, uint32_t *character)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = *at >= 0xF0 ? 4 : *at >= 0xE0 ? 3 : 2;
    if (*at < 0xC2 || *at > 0xF4 || end - at < length)
        return 0;
    uint32_t found = *at & (0xFF >> (length + 1));
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        found = found << 6 | (at[i] & 0x3F);
    }
    if (found < LEAST[length] || found > 0x10FFFF || (found >= 0xD800 && found <= 0xDFFF))
        return 0;
    *character = found;
    return length;
}

static const byte *
meet_utf8_until(state *self, const byte *at, const byte *stop, const byte *end)
{
    while (at < stop) {
        if (*at < 128) {
            byte next = *at++;
            if (kind_of_ascii[next] == BREAK)
                end_word(self);
            else {
                begin_word(self);
                hash_byte(self, next >= 'A' && next <= 'Z' ? next + 32 : next);
            }
            continue;
        }
        uint32_t character = 0;
        int length = decode(at, end, &character);
        if (length)
            meet_character(self, character, at, length);
        else
            end_word(self);
        at += length ? length : 1;
    }
    return at;
}

static void
meet_utf8(state *self, const byte *at, const byte *end)
{
    while (end - at > AT_ONCE_BYTES) {
        at = meet_utf8_until(self, at, at + AT_ONCE_BYTES, end);
        let_others_run();
    }
    meet_utf8_until(self, at, end, end);
}

#endif
