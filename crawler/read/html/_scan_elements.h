/* The names of elements, and what the HTML standard's parser does with each.
 *
 * Section 13.2.4.2 of the standard says which are special, 13.2.6.4.7 what a start tag closes, 13.2.5 whose content is
 * text only.
 */
#ifndef ONCEOVER_SCAN_ELEMENTS_H
#define ONCEOVER_SCAN_ELEMENTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum property {
    SPECIAL = 1 << 0,
    VOID = 1 << 1,        /* has no content */
    RAW = 1 << 2,         /* its content is text, without references */
    REFERENCES = 1 << 3,  /* its content is text, with references */
    FORMATTING = 1 << 4,  /* the parser may open it again after it was closed */
    BLOCK = 1 << 5,       /* its start tag closes a paragraph */
    SCOPED_END = 1 << 6,  /* its end tag closes the open elements within it */
    MARKER = 1 << 7,      /* an element opened before it can't be closed within it */
    TABLE_PART = 1 << 8,  /* has no meaning outside of a table */
    HEAD = 1 << 9,        /* may stand in the head */
    IMPLIED_END = 1 << 10, /* is closed together with its parent */
    NEEDS_TREE = 1 << 11, /* the effect depends on more than the scan knows */
    BREAKS_OUT = 1 << 12, /* can't be within SVG */
    READ = 1 << 13,       /* its attributes may hold links or metadata */
    READ_ALWAYS = 1 << 14, /* or its content may */
    SVG_PARENT = 1 << 15, /* a title within it is not that of the page */
    HEADING = 1 << 16,
    BESIDE = 1 << 17, /* stands beside the content, so its paragraphs are no abstract */
    HOLDS_PARTS = 1 << 18, /* a table, or a part of one that holds others */
};

enum element {
    OTHER, A, BODY, BUTTON, CAPTION, COL, COLGROUP, DD, DESC, DIALOG, DT, FEIMAGE, FORM, HEAD_ELEMENT, HTML, IMAGE,
    INPUT, LI, NOBR, NOSCRIPT, OL, OPTGROUP, OPTION, P, SCRIPT, SEARCH, SELECT, STYLE, SVG, TABLE, TBODY, TD, TEMPLATE,
    TFOOT, TH, THEAD, TITLE, TR, UL, USE, DIV, ADDRESS, BR, RUBY_PART, PRE, TEXTAREA, IMG, META, BASE, LINK,
};

typedef struct {
    const char *name;
    int element;
    int properties;
} element_kind;

#define CLOSING_BLOCK (SPECIAL | BLOCK | SCOPED_END)

static const element_kind ELEMENTS[] = {
    {"a", A, FORMATTING | READ},
    {"address", ADDRESS, CLOSING_BLOCK},
    {"applet", OTHER, SPECIAL | SCOPED_END | MARKER},
    {"area", OTHER, SPECIAL | VOID | READ},
    {"article", OTHER, CLOSING_BLOCK},
    {"aside", OTHER, CLOSING_BLOCK | BESIDE},
    {"audio", OTHER, READ},
    {"b", OTHER, FORMATTING | BREAKS_OUT},
    {"base", BASE, SPECIAL | VOID | HEAD | READ},
    {"basefont", OTHER, SPECIAL | VOID | HEAD},
    {"bgsound", OTHER, SPECIAL | VOID | HEAD},
    {"big", OTHER, FORMATTING | BREAKS_OUT},
    {"blockquote", OTHER, CLOSING_BLOCK | BREAKS_OUT},
    {"body", BODY, SPECIAL | BREAKS_OUT | READ},
    {"br", BR, SPECIAL | VOID | BREAKS_OUT},
    {"button", BUTTON, SPECIAL | SCOPED_END | READ},
    {"caption", CAPTION, SPECIAL | MARKER | TABLE_PART},
    {"center", OTHER, CLOSING_BLOCK | BREAKS_OUT},
    {"circle", OTHER, SVG_PARENT},
    {"clippath", OTHER, SVG_PARENT},
    {"code", OTHER, FORMATTING | BREAKS_OUT},
    {"col", COL, SPECIAL | VOID | TABLE_PART},
    {"colgroup", COLGROUP, SPECIAL | TABLE_PART | HOLDS_PARTS},
    {"dd", DD, SPECIAL | BLOCK | SCOPED_END | IMPLIED_END | BREAKS_OUT},
    {"defs", OTHER, SVG_PARENT},
    {"desc", DESC, 0},
    {"details", OTHER, CLOSING_BLOCK},
    {"dialog", DIALOG, CLOSING_BLOCK},
    {"dir", OTHER, CLOSING_BLOCK},
    {"div", DIV, CLOSING_BLOCK | BREAKS_OUT},
    {"dl", OTHER, CLOSING_BLOCK | BREAKS_OUT},
    {"dt", DT, SPECIAL | BLOCK | SCOPED_END | IMPLIED_END | BREAKS_OUT},
    {"ellipse", OTHER, SVG_PARENT},
    {"em", OTHER, FORMATTING | BREAKS_OUT},
    {"embed", OTHER, SPECIAL | VOID | BREAKS_OUT | READ},
    {"feimage", FEIMAGE, NEEDS_TREE | READ},
    {"fieldset", OTHER, CLOSING_BLOCK},
    {"figcaption", OTHER, CLOSING_BLOCK},
    {"figure", OTHER, CLOSING_BLOCK},
    {"filter", OTHER, SVG_PARENT},
    {"font", OTHER, FORMATTING | BREAKS_OUT},
    {"footer", OTHER, CLOSING_BLOCK | BESIDE},
    {"foreignobject", OTHER, BREAKS_OUT},
    {"form", FORM, SPECIAL | BLOCK | READ},
    {"frame", OTHER, VOID | NEEDS_TREE},
    {"frameset", OTHER, NEEDS_TREE},
    {"g", OTHER, SVG_PARENT},
    {"h1", OTHER, CLOSING_BLOCK | HEADING | BREAKS_OUT},
    {"h2", OTHER, CLOSING_BLOCK | HEADING | BREAKS_OUT},
    {"h3", OTHER, CLOSING_BLOCK | HEADING | BREAKS_OUT},
    {"h4", OTHER, CLOSING_BLOCK | HEADING | BREAKS_OUT},
    {"h5", OTHER, CLOSING_BLOCK | HEADING | BREAKS_OUT},
    {"h6", OTHER, CLOSING_BLOCK | HEADING | BREAKS_OUT},
    {"head", HEAD_ELEMENT, SPECIAL | BREAKS_OUT},
    {"header", OTHER, CLOSING_BLOCK | BESIDE},
    {"hgroup", OTHER, CLOSING_BLOCK},
    {"hr", OTHER, SPECIAL | BLOCK | VOID | BREAKS_OUT},
    {"html", HTML, SPECIAL | READ | READ_ALWAYS},
    {"i", OTHER, FORMATTING | BREAKS_OUT},
    {"iframe", OTHER, SPECIAL | RAW | READ},
    {"image", IMAGE, NEEDS_TREE | READ | SVG_PARENT},
    {"img", IMG, SPECIAL | VOID | BREAKS_OUT | READ},
    {"input", INPUT, SPECIAL | VOID | READ},
    {"keygen", OTHER, SPECIAL | VOID},
    {"li", LI, SPECIAL | BLOCK | SCOPED_END | IMPLIED_END | BREAKS_OUT},
    {"line", OTHER, SVG_PARENT},
    {"lineargradient", OTHER, SVG_PARENT},
    {"link", LINK, SPECIAL | VOID | HEAD | READ},
    {"listing", PRE, CLOSING_BLOCK | BREAKS_OUT},
    {"main", OTHER, CLOSING_BLOCK},
    {"marker", OTHER, SVG_PARENT},
    {"marquee", OTHER, SPECIAL | SCOPED_END | MARKER},
    {"mask", OTHER, SVG_PARENT},
    {"math", OTHER, NEEDS_TREE},
    {"menu", OTHER, CLOSING_BLOCK | BREAKS_OUT},
    {"meta", META, SPECIAL | VOID | HEAD | BREAKS_OUT | READ},
    {"nav", OTHER, CLOSING_BLOCK | BESIDE},
    {"nobr", NOBR, FORMATTING | BREAKS_OUT},
    {"noembed", OTHER, SPECIAL | RAW},
    {"noframes", OTHER, SPECIAL | RAW | HEAD | NEEDS_TREE | READ},
    {"noscript", NOSCRIPT, SPECIAL},
    {"object", OTHER, SPECIAL | SCOPED_END | MARKER | READ},
    {"ol", OL, CLOSING_BLOCK | BREAKS_OUT},
    {"optgroup", OPTGROUP, IMPLIED_END},
    {"option", OPTION, IMPLIED_END},
    {"p", P, SPECIAL | BLOCK | IMPLIED_END | BREAKS_OUT},
    {"param", OTHER, SPECIAL | VOID},
    {"path", OTHER, SVG_PARENT},
    {"pattern", OTHER, SVG_PARENT},
    {"plaintext", OTHER, NEEDS_TREE},
    {"polygon", OTHER, SVG_PARENT},
    {"polyline", OTHER, SVG_PARENT},
    {"pre", PRE, CLOSING_BLOCK | BREAKS_OUT},
    {"radialgradient", OTHER, SVG_PARENT},
    {"rb", RUBY_PART, IMPLIED_END},
    {"rect", OTHER, SVG_PARENT},
    {"rp", RUBY_PART, IMPLIED_END},
    {"rt", RUBY_PART, IMPLIED_END},
    {"rtc", RUBY_PART, IMPLIED_END},
    {"ruby", OTHER, BREAKS_OUT},
    {"s", OTHER, FORMATTING | BREAKS_OUT},
    {"script", SCRIPT, SPECIAL | RAW | HEAD | READ},
    {"search", SEARCH, CLOSING_BLOCK},
    {"section", OTHER, CLOSING_BLOCK},
    {"select", SELECT, SPECIAL},
    {"small", OTHER, FORMATTING | BREAKS_OUT},
    {"source", IMG, SPECIAL | VOID | READ},
    {"span", OTHER, BREAKS_OUT},
    {"strike", OTHER, FORMATTING | BREAKS_OUT},
    {"strong", OTHER, FORMATTING | BREAKS_OUT},
    {"style", STYLE, SPECIAL | RAW | HEAD | READ | READ_ALWAYS},
    {"sub", OTHER, BREAKS_OUT},
    {"summary", OTHER, CLOSING_BLOCK},
    {"sup", OTHER, BREAKS_OUT},
    {"svg", SVG, SVG_PARENT},
    {"switch", OTHER, SVG_PARENT},
    {"symbol", OTHER, SVG_PARENT},
    {"table", TABLE, SPECIAL | BREAKS_OUT | READ | HOLDS_PARTS},
    {"tbody", TBODY, SPECIAL | TABLE_PART | READ | HOLDS_PARTS},
    {"td", TD, SPECIAL | MARKER | TABLE_PART | READ},
    {"template", TEMPLATE, SPECIAL | HEAD},
    {"text", OTHER, SVG_PARENT},
    {"textarea", TEXTAREA, SPECIAL | REFERENCES},
    {"textpath", OTHER, SVG_PARENT},
    {"tfoot", TFOOT, SPECIAL | TABLE_PART | READ | HOLDS_PARTS},
    {"th", TH, SPECIAL | MARKER | TABLE_PART | READ},
    {"thead", THEAD, SPECIAL | TABLE_PART | READ | HOLDS_PARTS},
    {"title", TITLE, SPECIAL | REFERENCES | HEAD | READ | READ_ALWAYS},
    {"tr", TR, SPECIAL | TABLE_PART | READ | HOLDS_PARTS},
    {"track", OTHER, SPECIAL | VOID | READ},
    {"tspan", OTHER, SVG_PARENT},
    {"tt", OTHER, FORMATTING | BREAKS_OUT},
    {"u", OTHER, FORMATTING | BREAKS_OUT},
    {"ul", UL, CLOSING_BLOCK | BREAKS_OUT},
    {"use", USE, READ | SVG_PARENT},
    {"var", OTHER, BREAKS_OUT},
    {"video", OTHER, READ},
    {"wbr", OTHER, SPECIAL | VOID},
    {"xmp", OTHER, SPECIAL | BLOCK | RAW},
};

enum { KNOWN = sizeof(ELEMENTS) / sizeof(ELEMENTS[0]), LONGEST_NAME = 16, SLOTS = 1024 };

static const element_kind UNKNOWN = {"", OTHER, 0};

/* The index of a name in ELEMENTS, plus one; 0 for none. */
static unsigned char slots[SLOTS];

/* A name of up to 16 bytes, in lower case: its first eight bytes, and the others. So it is read and compared at once: to
 * gather its bytes one by one takes twice as long, and a page has thousands of names. */
typedef struct {
    uint64_t first, others;
} packed_name;

#define FROM_40 UINT64_C(0x4040404040404040)

/* Eight bytes, the first one the lowest. */
static inline uint64_t
word_at(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The names that we know are of letters, digits, `-` and `:`. No other byte becomes one of these. */
static inline uint64_t
lower_letters(uint64_t bytes)
{
    return bytes | (bytes & FROM_40) >> 1;
}

static int
pack(const unsigned char *name, ptrdiff_t length, packed_name *packed)
{
    unsigned char bytes[LONGEST_NAME] = {0};
    if (length > LONGEST_NAME)
        return 0;
    memcpy(bytes, name, length);
    *packed = (packed_name){lower_letters(word_at(bytes)), lower_letters(word_at(bytes + 8))};
    return 1;
}

static inline int
is_same(const packed_name *one, const packed_name *other)
{
    return one->first == other->first && one->others == other->others;
}

static inline unsigned
slot_of(const packed_name *packed)
{
    uint64_t mixed = (packed->first ^ (packed->others * 0x9E3779B97F4A7C15u)) * 0xFF51AFD7ED558CCDu;
    return (unsigned)(mixed >> 54) % SLOTS;
}

static packed_name packed_names[KNOWN];

static void
prepare_elements(void)
{
    memset(slots, 0, sizeof(slots));
    for (int i = 0; i < KNOWN; i++) {
        pack((const unsigned char *)ELEMENTS[i].name, (ptrdiff_t)strlen(ELEMENTS[i].name), &packed_names[i]);
        unsigned slot = slot_of(&packed_names[i]);
        while (slots[slot])
            slot = (slot + 1) % SLOTS;
        slots[slot] = (unsigned char)(i + 1);
    }
}

static inline const element_kind *
kind_named(packed_name packed)
{
    for (unsigned slot = slot_of(&packed); slots[slot]; slot = (slot + 1) % SLOTS) {
        int i = slots[slot] - 1;
        if (is_same(&packed_names[i], &packed))
            return &ELEMENTS[i];
    }
    return &UNKNOWN;
}

static const element_kind *
kind_of(const unsigned char *name, ptrdiff_t length)
{
    packed_name packed;
    return pack(name, length, &packed) ? kind_named(packed) : &UNKNOWN;
}

#endif
