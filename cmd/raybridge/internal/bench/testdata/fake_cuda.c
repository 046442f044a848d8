/*
 * A libcuda.so.1 whose device memory is the host's, for tests:
 *
 *     cc -shared -fPIC -o libcuda.so.1 fake_cuda.c
 *
 * FAKE_CUDA_FAIL=cuMemAlloc_v2:2:3 has that function return 2 from its third call on.
 * FAKE_CUDA_DEVICES=N is how many devices there are, 2 by default.
 * FAKE_CUDA_WRONG=1 has copies to the host change a byte.
 * FAKE_CUDA_LOG=FILE gets a line for each call that succeeded.
 * -DWITHOUT_STREAMS leaves cuStreamCreate out, as another driver might.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;

enum { CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NO_DEVICE = 100, CUDA_ERROR_INVALID_CONTEXT = 201 };

/* What exists. Nothing here is for more than one thread. */
static int contexts, streams;

/* called notes a call and returns what it is told to. */
static CUresult called(const char *name, int *calls)
{
	const char *fail = getenv("FAKE_CUDA_FAIL"), *log = getenv("FAKE_CUDA_LOG");
	size_t length = strlen(name);
	int result = 0, from = 1;

	++*calls;
	if (fail && !strncmp(fail, name, length) && fail[length] == ':') {
		sscanf(fail + length + 1, "%d:%d", &result, &from);
		if (*calls >= from)
			return result;
	}
	if (log) {
		FILE *f = fopen(log, "a");
		if (f) {
			fprintf(f, "%s\n", name);
			fclose(f);
		}
	}
	return 0;
}

#define CALLED                                                  \
	do {                                                    \
		static int calls;                               \
		CUresult result = called(__func__, &calls);     \
		if (result)                                     \
			return result;                          \
	} while (0)

#define NEEDS_CONTEXT                                           \
	if (!contexts)                                          \
		return CUDA_ERROR_INVALID_CONTEXT

static int devices(void)
{
	const char *n = getenv("FAKE_CUDA_DEVICES");
	return n ? atoi(n) : 2;
}

CUresult cuInit(unsigned flags)
{
	(void)flags;
	CALLED;
	return devices() < 0 ? CUDA_ERROR_NO_DEVICE : 0;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
	*name = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : NULL;
	return *name ? 0 : 1;
}

CUresult cuDeviceGetCount(int *count)
{
	CALLED;
	*count = devices();
	return 0;
}

CUresult cuDeviceGet(int *device, int ordinal)
{
	CALLED;
	*device = 40 + ordinal;
	return 0;
}

CUresult cuDeviceGetName(char *name, int size, int device)
{
	CALLED;
	snprintf(name, (size_t)size, "Abacus %d", device - 39);
	return 0;
}

CUresult cuCtxCreate_v2(void **context, unsigned flags, int device)
{
	(void)flags;
	CALLED;
	if (device < 40)
		return 101;
	contexts++;
	*context = malloc(1);
	return 0;
}

CUresult cuCtxDestroy_v2(void *context)
{
	CALLED;
	contexts--;
	free(context);
	return 0;
}

#ifndef WITHOUT_STREAMS
CUresult cuStreamCreate(void **stream, unsigned flags)
{
	(void)flags;
	NEEDS_CONTEXT;
	CALLED;
	streams++;
	*stream = malloc(1);
	return 0;
}
#endif

CUresult cuStreamSynchronize(void *stream)
{
	(void)stream;
	NEEDS_CONTEXT;
	CALLED;
	return 0;
}

CUresult cuStreamDestroy_v2(void *stream)
{
	NEEDS_CONTEXT;
	CALLED;
	streams--;
	free(stream);
	return 0;
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	NEEDS_CONTEXT;
	CALLED;
	*p = (CUdeviceptr)(size_t)malloc(n);
	return 0;
}

CUresult cuMemFree_v2(CUdeviceptr p)
{
	NEEDS_CONTEXT;
	CALLED;
	free((void *)(size_t)p);
	return 0;
}

CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
	(void)flags;
	NEEDS_CONTEXT;
	CALLED;
	*p = malloc(n);
	return 0;
}

CUresult cuMemFreeHost(void *p)
{
	NEEDS_CONTEXT;
	CALLED;
	free(p);
	return 0;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t n)
{
	NEEDS_CONTEXT;
	CALLED;
	memcpy((void *)(size_t)to, from, n);
	return 0;
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, void *stream)
{
	NEEDS_CONTEXT;
	CALLED;
	if (!streams || !stream)
		return CUDA_ERROR_INVALID_CONTEXT;
	memcpy(to, (void *)(size_t)from, n);
	if (getenv("FAKE_CUDA_WRONG"))
		((char *)to)[n / 2] ^= 1;
	return 0;
}
