/* Reads links and metadata of a page without building a tree, if the result is certain to be the same.
 *
 * scan.py states the promise. The scan goes through a page once, tag by tag. It tracks only the open elements that
 * matter for the result: special elements and, within an anchor, all. Where tree construction would do more, such as
 * open elements again or move them, the scan gives up, and a parser must read the page.
 */
#include "_scan_start_tags.h"

/* Raised with each change of the arguments or results of the scan. */
#define VERSION 27

static quirks
quirks_of(span doctype)
{
    const byte *end = doctype.at + doctype.length, *name = skip(doctype.at, end, SPACE);
    const byte *behind = skip_to(name, end, SPACE);
    if (skip(behind, end, SPACE) == end && equals_lower((span){name, behind - name}, "html"))
        return NO_QUIRKS;
    return QUIRKS_UNKNOWN;
}

/* A declaration: it begins with `<!` or `<?`, or is an end tag without a name. */
static outcome
meet_declaration(scan *self)
{
    const byte *at = self->at, *end = self->end;
    if (end - at >= 4 && memcmp(at, "<!--", 4) == 0) {
        self->at = comment_end(at, end);
        return GOES_ON;
    }
    if (self->foreign_depth && end - at >= 3 && at[1] == '!' && at[2] == '[')
        return GIVES_UP;
    const byte *close = memchr(at, '>', end - at);
    if (close == NULL)
        close = end;
    if (!self->has_begun && at[1] == '!' && close - at >= 9 && equals_lower((span){at + 2, 7}, "doctype")) {
        self->has_begun = 1;
        self->quirks = close - at > 9 ? quirks_of((span){at + 9, close - at - 9}) : QUIRKS;
    }
    self->at = close == end ? end : close + 1;
    return GOES_ON;
}

/* Whether a tag needs no further look: it belongs to an element without rules or links of its own, which is tracked only
 * within an anchor. Of a manual, that is every third tag. */
static inline int
is_untracked(const scan *self, const tag *given)
{
    return !(given->kind->properties & ~(FORMATTING | BREAKS_OUT)) && given->kind->element == OTHER &&
           self->anchor < 0 && self->place == IN_BODY && !in_table_itself(self) &&
           !(self->templates | self->foreign_depth | self->in_select | self->has_styles | given->has_background);
}

static outcome
meet_tag(scan *self, int is_end)
{
    tag *given = &self->tag;
    const byte *name = self->at + 1 + is_end;
    const byte *behind = read_name(name, self->end, &given->kind);
    given->name = (span){name, behind - name};
    self->at = read_attributes(behind, self->end, given);
    if (self->at == NULL) {
        self->at = self->end;
        return GOES_ON;
    }
    self->has_begun = 1;
    if (is_untracked(self, given))
        return GOES_ON;
    return is_end ? end_tag(self, given) : start_tag(self, given);
}

/* The next `<` that begins a tag or a declaration, or the end; another `<` is text. */
static inline const byte *
next_markup(const byte *at, const byte *end)
{
    for (; at < end; at++) {
        if (*at != '<' && (at = memchr(at, '<', end - at)) == NULL)
            break;
        if (end - at > 1 && is(at[1], BEGINS_MARKUP) && (at[1] != '/' || end - at > 2))
            return at;
    }
    return end;
}

static outcome
walk(scan *self)
{
    const byte *rested = self->at, *end = self->end;
    while (self->at < end) {
        if (self->at - rested >= AT_ONCE_BYTES) {
            rested = self->at;
            let_others_run();
        }
        const byte *mark = next_markup(self->at, end);
        if (mark > self->at)
            TRY(meet_text(self, self->at, mark));
        if (mark == end)
            break;
        self->at = mark;
        if (is(mark[1], LETTER))
            TRY(meet_tag(self, 0));
        else if (mark[1] == '/' && is(mark[2], LETTER))
            TRY(meet_tag(self, 1));
        else
            TRY(meet_declaration(self));
    }
    if (self->foreign_depth && self->foreign[self->foreign_depth - 1].kind->element == STYLE)
        TRY(end_style_in_svg(self, &self->foreign[self->foreign_depth - 1]));
    if (self->anchor >= 0)
        TRY(end_anchor(self));
    return self->paragraph >= 0 ? end_paragraph(self) : GOES_ON;
}

static PyObject *
scan_page(PyObject *module, PyObject *args)
{
    Py_buffer page;
    scan *self = PyMem_Calloc(1, sizeof(scan));
    PyObject *make, *result = NULL;
    if (self == NULL)
        return PyErr_NoMemory();
    if (!PyArg_ParseTuple(args, "y*O!OOOOO!Op", &page, &PyDict_Type, &self->references, &make, &self->anchored,
                          &self->embedded, &self->styled, &PyDict_Type, &self->kind_of_rel, &self->meta_names,
                          &self->all_scripts)) {
        PyMem_Free(self);
        return NULL;
    }
    if (!PyAnySet_Check(self->meta_names)) {
        PyErr_SetString(PyExc_TypeError, "the names of <meta> must be a set");
        PyMem_Free(self);
        PyBuffer_Release(&page);
        return NULL;
    }
    self->names = PyModule_GetState(module);
    self->at = page.buf;
    self->end = self->at + page.len;
    self->is_empty = 1;
    self->anchor = self->paragraph = -1;
    self->found = new_table(self->names->table_type, make);
    self->elements = PyList_New(0);
    self->paragraphs = PyList_New(0);
    self->styles = PyList_New(0);
    outcome walked = FAILED;
    if (self->found != NULL && self->elements != NULL && self->paragraphs != NULL && self->styles != NULL) {
        self->has_styles = holds_url(self->at, self->end);
        walked = page.len && memchr(page.buf, 0, page.len) != NULL ? GIVES_UP : walk(self);
    }
    if (walked == GOES_ON)
        result = PyTuple_Pack(5, (PyObject *)self->found, self->elements, self->paragraphs, self->styles,
                              self->canonical == NULL ? Py_None : self->canonical);
    else if (walked == GIVES_UP)
        result = Py_NewRef(Py_None);
    Py_XDECREF((PyObject *)self->found);
    Py_XDECREF(self->elements);
    Py_XDECREF(self->paragraphs);
    Py_XDECREF(self->styles);
    Py_XDECREF(self->canonical);
    PyMem_Free(self->anchor_text.at);
    PyMem_Free(self->paragraph_text.at);
    PyMem_Free(self->style_text.at);
    PyMem_Free(self->lines.at);
    PyMem_Free(self->scratch.at);
    PyMem_Free(self);
    PyBuffer_Release(&page);
    return result;
}

static PyMethodDef methods[] = {
    {"scan", scan_page, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int
prepare(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    prepare_tokens();
    prepare_elements();
    for (int i = 0; i < KNOWN_ATTRIBUTES; i++) {
        pack((const byte *)ATTRIBUTES[i], (ptrdiff_t)strlen(ATTRIBUTES[i]), &packed_attributes[i]);
        if ((state->attributes[i] = PyUnicode_InternFromString(ATTRIBUTES[i])) == NULL)
            return -1;
    }
    for (int i = 0; i < KNOWN; i++)
        if ((state->elements[i] = PyUnicode_InternFromString(ELEMENTS[i].name)) == NULL)
            return -1;
    if ((state->table_type = PyType_FromModuleAndSpec(module, &table_spec, NULL)) == NULL ||
        PyModule_AddObjectRef(module, "Links", state->table_type) < 0)
        return -1;
    state->nothing = PyUnicode_InternFromString("");
    state->blank = PyUnicode_InternFromString(" ");
    if (state->nothing == NULL || state->blank == NULL)
        return -1;
    return 0;
}

/* The type of links refers to the module. It breaks the cycle when it is cleared. */
static int
traverse(PyObject *module, visitproc visit, void *arg)
{
    module_state *state = PyModule_GetState(module);
    Py_VISIT(state->table_type);
    return 0;
}

static void
release(void *module)
{
    module_state *state = PyModule_GetState(module);
    for (int i = 0; i < KNOWN_ATTRIBUTES; i++)
        Py_CLEAR(state->attributes[i]);
    for (int i = 0; i < KNOWN; i++)
        Py_CLEAR(state->elements[i]);
    Py_CLEAR(state->nothing);
    Py_CLEAR(state->blank);
    Py_CLEAR(state->table_type);
}

EXTENSION("crawler.read.html", _scan, prepare,
          .m_doc = "Links and metadata of a page without a tree; scan.py states the promise.",
          .m_size = sizeof(module_state), .m_methods = methods, .m_traverse = traverse, .m_free = release)
