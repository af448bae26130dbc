/* What all extension modules share. They use only the limited API, so that one wheel serves all Python versions from 3.11
 * on.
 */
#ifndef ONCEOVER_EXTENSION_H
#define ONCEOVER_EXTENSION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Defines the module `package.name`, at the end of its file. Its constant is the file's VERSION. `prepare` does what else
 * there is to do when the module is made; it may be NULL. Members of the PyModuleDef follow. */
#define EXTENSION(package, name, prepare, ...)                                                                         \
    static int execute(PyObject *module)                                                                               \
    {                                                                                                                  \
        int (*first)(PyObject *) = prepare;                                                                            \
        return first != NULL && first(module) < 0 ? -1 : PyModule_AddIntConstant(module, "VERSION", VERSION);          \
    }                                                                                                                  \
    static struct PyModuleDef_Slot slots_of_module[] = {{Py_mod_exec, execute}, {0, NULL}};                            \
    static struct PyModuleDef definition = {                                                                           \
        PyModuleDef_HEAD_INIT, .m_name = package "." #name, .m_slots = slots_of_module, __VA_ARGS__};                  \
    PyMODINIT_FUNC PyInit_##name(void)                                                                                 \
    {                                                                                                                  \
        return PyModuleDef_Init(&definition);                                                                          \
    }

/* The UTF-8 of a str. NULL with an exception, or without one for a lone surrogate. */
static inline const char *
utf8_of(PyObject *text, Py_ssize_t *size)
{
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, size);
    if (utf8 == NULL && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        PyErr_Clear();
    return utf8;
}

/* The GIL is held for so many bytes of a page, because the event loop must not wait longer. */
enum { AT_ONCE_BYTES = 64 * 1024 };

static inline void
let_others_run(void)
{
    PyEval_RestoreThread(PyEval_SaveThread());
}

#endif
