/* The init function of every stand-in extension module: the module is made by wheelfix_standin.py.
   Python's own headers are not needed for it; the layout of PyModuleDef is part of the stable ABI. */

typedef void *object;
__declspec(dllimport) object PyModuleDef_Init(void *);
__declspec(dllimport) object PyImport_ImportModule(const char *);
__declspec(dllimport) object PyObject_CallMethod(object, const char *, const char *, ...);

struct slot { int kind; void *value; };
struct definition {
    long long references; void *type; void *init; long long index; void *copy;
    const char *name; const char *doc; long long size; void *methods; struct slot *slots;
    void *traverse; void *clear; void *release;
};

static object create(object spec, void *definition) {
    object maker = PyImport_ImportModule("wheelfix_standin");
    return maker ? PyObject_CallMethod(maker, "module_for", "O", spec) : 0;
}

static struct slot slots[] = {{1, (void *)create}, {0, 0}};
static struct definition definition = {1, 0, 0, 0, 0, "standin", 0, 0, 0, slots, 0, 0, 0};

__declspec(dllexport) object PyInit_standin(void) { return PyModuleDef_Init(&definition); }

int start(void *handle, unsigned reason, void *reserved) { return 1; }
