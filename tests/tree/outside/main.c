/* A user's C program: it knows the installed header and library alone.
   usage: main VERSION; exits 0 if the header is of that version and the library works. */

#include <basalt/basalt.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
    basalt_runtime* runtime = NULL;
    double a[] = {2, 1, 1, 3}, b[] = {5, 10};
    int64_t info = -1;
    if (argc != 2 || strcmp(argv[1], basalt_version_text()) != 0) return 2;
    if (basalt_runtime_create(NULL, &runtime) != BASALT_OK ||
        basalt_dgesv(runtime, 2, 1, a, 2, NULL, b, 2, &info) != BASALT_OK) {
        printf("%s\n", basalt_error_message());
        return 1;
    }
    basalt_runtime_destroy(runtime);
    return info == 0 && b[0] == 1 && b[1] == 3 ? 0 : 1;
}
