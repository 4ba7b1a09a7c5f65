/* Loads DLLs in the order of its arguments, in one process, and tells what happened.
 *
 *   loader.exe [-d FOLDER] [-f HEX] DLL ...
 *
 * -d gives a folder to AddDllDirectory, -f sets the flags of the loads that follow (0x1100 at first). Every other
 * argument goes to LoadLibraryExW as it stands. Prints, as UTF-8:
 *
 *   LOAD dll             before each load, so that a log on the same file descriptor can be told apart
 *   DONE code            after it; 0 is success
 *   FOLDER code folder   when AddDllDirectory failed
 *   MODULE path          at the end, for every module of the process
 *   END                  last of all
 *
 * There is no C runtime behind it: kernel32 is the only import, and nothing here takes a variable number of arguments
 * (some ARM64 builds of Wine fault on those).
 */
typedef unsigned int DWORD;
typedef unsigned short WCHAR;
typedef void *HANDLE;

#ifdef __i386__
#define API __declspec(dllimport) __stdcall
#else
#define API __declspec(dllimport)
#endif

API HANDLE GetStdHandle(DWORD which);
API int WriteFile(HANDLE file, const void *data, DWORD length, DWORD *written, void *overlapped);
API DWORD GetLastError(void);
API void SetLastError(DWORD code);
API DWORD SetErrorMode(DWORD mode);
API WCHAR *GetCommandLineW(void);
API int WideCharToMultiByte(DWORD page, DWORD flags, const WCHAR *from, int length, char *to, int room, void *, void *);
API void *AddDllDirectory(const WCHAR *folder);
API HANDLE LoadLibraryExW(const WCHAR *name, HANDLE file, DWORD flags);
API HANDLE GetCurrentProcess(void);
API int K32EnumProcessModules(HANDLE process, HANDLE *modules, DWORD room, DWORD *needed);
API DWORD GetModuleFileNameW(HANDLE module, WCHAR *path, DWORD room);
API void ExitProcess(DWORD code);

#define STANDARD_OUTPUT ((DWORD)-11)
#define FAIL_CRITICAL_ERRORS 1
#define UTF8 65001
#define LENGTH 4096

static HANDLE output;
static WCHAR argument[LENGTH], path[LENGTH];
static char line[3 * LENGTH + 64];
static DWORD used;
static HANDLE modules[1024];

static void add(const char *text)
{
    while (*text) line[used++] = *text++;
}

static void add_number(DWORD value)
{
    char digits[12];
    int at = sizeof digits;
    digits[--at] = 0;
    do digits[--at] = (char)('0' + value % 10); while (value /= 10);
    add(digits + at);
}

static void add_wide(const WCHAR *text)
{
    int length = WideCharToMultiByte(UTF8, 0, text, -1, line + used, (int)(sizeof line - used), 0, 0);
    if (length > 0) used += (DWORD)length - 1;
}

/* One write per line: the log of the loader goes to the same place. */
static void end_line(void)
{
    DWORD written;
    line[used++] = '\n';
    WriteFile(output, line, used, &written, 0);
    used = 0;
}

/* Copies the next argument and returns what follows it, or 0 at the end. Quotes group; nothing escapes them. */
static const WCHAR *next(const WCHAR *rest)
{
    int quoted = 0, length = 0;
    while (*rest == ' ') rest++;
    if (!*rest) return 0;
    for (; *rest && (quoted || *rest != ' '); rest++) {
        if (*rest == '"') quoted = !quoted;
        else if (length < LENGTH - 1) argument[length++] = *rest;
    }
    argument[length] = 0;
    return rest;
}

static int is_option(char letter)
{
    return argument[0] == '-' && argument[1] == (WCHAR)letter && !argument[2];
}

static DWORD hexadecimal(const WCHAR *digits)
{
    DWORD value = 0;
    for (; *digits; digits++) value = value * 16 + (*digits <= '9' ? *digits - '0' : (*digits | 32) - 'a' + 10);
    return value;
}

static void add_folder(void)
{
    if (AddDllDirectory(argument)) return;
    DWORD code = GetLastError();
    add("FOLDER "); add_number(code); add(" "); add_wide(argument); end_line();
}

static void load(DWORD flags)
{
    add("LOAD "); add_wide(argument); end_line();
    SetLastError(0);
    HANDLE module = LoadLibraryExW(argument, 0, flags);
    DWORD code = GetLastError();
    add("DONE "); add_number(module ? 0 : code); end_line();
}

static void list_modules(void)
{
    DWORD needed = 0, index;
    if (!K32EnumProcessModules(GetCurrentProcess(), modules, sizeof modules, &needed)) return;
    for (index = 0; index < needed / sizeof modules[0] && index < sizeof modules / sizeof modules[0]; index++)
        if (GetModuleFileNameW(modules[index], path, LENGTH)) {
            add("MODULE "); add_wide(path); end_line();
        }
}

void start(void)
{
    DWORD flags = 0x1100;
    const WCHAR *rest = next(GetCommandLineW());
    output = GetStdHandle(STANDARD_OUTPUT);
    SetErrorMode(FAIL_CRITICAL_ERRORS);
    while (rest && (rest = next(rest))) {
        if (is_option('d')) { if ((rest = next(rest))) add_folder(); }
        else if (is_option('f')) { if ((rest = next(rest))) flags = hexadecimal(argument); }
        else load(flags);
    }
    list_modules();
    add("END"); end_line();
    ExitProcess(0);
}
