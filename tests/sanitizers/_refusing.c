/* Refuses memory that Python asks for, as `_testcapi` does, which not every Python has. */
#include <Python.h>

enum { DOMAINS = 3 };
static const PyMemAllocatorDomain domains[DOMAINS] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
static PyMemAllocatorEx usual[DOMAINS];
static Py_ssize_t left; /* how many requests are granted before the one that is refused */

static int
refuses(void)
{
    return left-- == 0;
}

static void *
allocate(void *of, size_t size)
{
    PyMemAllocatorEx *by = of;
    return refuses() ? NULL : by->malloc(by->ctx, size);
}

static void *
allocate_zeros(void *of, size_t count, size_t size)
{
    PyMemAllocatorEx *by = of;
    return refuses() ? NULL : by->calloc(by->ctx, count, size);
}

static void *
reallocate(void *of, void *memory, size_t size)
{
    PyMemAllocatorEx *by = of;
    return refuses() ? NULL : by->realloc(by->ctx, memory, size);
}

static void
release(void *of, void *memory)
{
    PyMemAllocatorEx *by = of;
    by->free(by->ctx, memory);
}

/* Refuse one request: the first one after that many. */
static PyObject *
refuse(PyObject *Py_UNUSED(module), PyObject *granted)
{
    Py_ssize_t count = PyLong_AsSsize_t(granted);
    if (count == -1 && PyErr_Occurred())
        return NULL;
    left = count;
    for (int i = 0; i < DOMAINS; i++) {
        PyMemAllocatorEx refusing = {&usual[i], allocate, allocate_zeros, reallocate, release};
        PyMem_SetAllocator(domains[i], &refusing);
    }
    return Py_NewRef(Py_None);
}

static PyObject *
grant(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    for (int i = 0; i < DOMAINS; i++)
        PyMem_SetAllocator(domains[i], &usual[i]);
    return Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"refuse", refuse, METH_O, NULL},
    {"grant", grant, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "tests.sanitizers._refusing", NULL, -1, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit__refusing(void)
{
    for (int i = 0; i < DOMAINS; i++)
        PyMem_GetAllocator(domains[i], &usual[i]);
    return PyModule_Create(&module);
}
