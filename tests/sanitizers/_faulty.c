/* Faults on purpose: the tests check that the sanitizers find each. */
#include <Python.h>

static PyObject *
overrun(PyObject *Py_UNUSED(module), PyObject *size)
{
    Py_ssize_t count = PyLong_AsSsize_t(size);
    char *memory = count < 0 ? NULL : PyMem_Malloc((size_t)count);
    if (memory == NULL)
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    memory[count] = 1;
    PyMem_Free(memory);
    Py_RETURN_NONE;
}

static PyObject *
overflow(PyObject *Py_UNUSED(module), PyObject *number)
{
    int sum = (int)PyLong_AsLong(number);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(sum + INT_MAX);
}

static PyObject *
leak(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(number))
{
    return PyList_New(1) == NULL ? NULL : Py_NewRef(Py_None);
}

static PyObject *
fail_silently(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(number))
{
    return NULL;
}

static PyObject *
trust_memory(PyObject *Py_UNUSED(module), PyObject *number)
{
    char *memory = PyMem_Malloc(1000);
    memory[0] = 1;
    PyMem_Free(memory);
    return Py_NewRef(number);
}

/* Another call, which the garbage collector makes, frees the memory that this one uses. */
static PyObject *
trust_collector(PyObject *Py_UNUSED(module), PyObject *number)
{
    static char *kept;
    PyMem_Free(kept);
    char *memory = kept = PyMem_Malloc(8);
    PyObject *made = memory == NULL ? PyErr_NoMemory() : PyList_New(0);
    for (int i = 0; made != NULL && i < 50; i++) {
        PyObject *pair = PyTuple_Pack(1, number);
        if (pair == NULL || PyList_Append(made, pair) < 0)
            Py_CLEAR(made);
        Py_XDECREF(pair);
    }
    if (made != NULL)
        memory[0] = 1;
    return made;
}

/* No fault. */
static PyObject *
obey(PyObject *Py_UNUSED(module), PyObject *number)
{
    return Py_NewRef(number);
}

static PyMethodDef methods[] = {
    {"overrun", overrun, METH_O, NULL},
    {"overflow", overflow, METH_O, NULL},
    {"leak", leak, METH_O, NULL},
    {"fail_silently", fail_silently, METH_O, NULL},
    {"trust_memory", trust_memory, METH_O, NULL},
    {"trust_collector", trust_collector, METH_O, NULL},
    {"obey", obey, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "tests.sanitizers._faulty", NULL, 0, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC
PyInit__faulty(void)
{
    return PyModule_Create(&module);
}
