#include "gl.h"

#define FUNCTION(result, name, parameters, arguments) result(*gl##name##At) parameters;
#include "functions.h"
#undef FUNCTION

static const struct {
	const char *name;
	void **pointer;
} functions[] = {
#define FUNCTION(result, name, parameters, arguments) {"gl" #name, (void **)&gl##name##At},
#include "functions.h"
#undef FUNCTION
};

const char *rbFunctionName(int i) {
	return i < (int)(sizeof functions / sizeof functions[0]) ? functions[i].name : NULL;
}

void rbSetFunction(int i, void *address) {
	*functions[i].pointer = address;
}
