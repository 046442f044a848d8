//go:build cgo && ros2dds

#include "sertype.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dds/ddsi/q_radmin.h"

// A pool keeps the blocks that the writer of one topic needs in turn: one that is filled,
// one that is sent, one that waits for its acknowledgement.
#define POOL_IDLE 3

// Messages are padded to four bytes on the wire (DDSI-RTPS 2.3, section 9.4.2.12), so
// the library may read up to three bytes behind one.
#define PADDING 4

struct rb_pool {
  pthread_mutex_t lock;
  unsigned references; // guarded by lock
  unsigned idle;       // guarded by lock
  bool closed;         // guarded by lock: the owner has let go
  struct rb_sample *first; // guarded by lock
};

// blocks counts samples and pools, atomically.
static int64_t blocks;

static void *block_new(size_t size) {
  void *block = calloc(1, size);
  if (block != NULL) __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);
  return block;
}

static void block_free(void *block) {
  __atomic_sub_fetch(&blocks, 1, __ATOMIC_RELAXED);
  free(block);
}

int64_t rb_blocks(void) { return __atomic_load_n(&blocks, __ATOMIC_RELAXED); }

static void sample_free(struct rb_sample *s) {
  free(s->data);
  block_free(s);
}

struct rb_pool *rb_pool_new(void) {
  struct rb_pool *pool = block_new(sizeof(*pool));
  if (pool == NULL) return NULL;
  pthread_mutex_init(&pool->lock, NULL);
  pool->references = 1;
  return pool;
}

// pool_leave drops one reference; the lock must be held, and is released.
static void pool_leave(struct rb_pool *pool) {
  bool last = --pool->references == 0;
  pthread_mutex_unlock(&pool->lock);
  if (last) {
    pthread_mutex_destroy(&pool->lock);
    block_free(pool);
  }
}

void rb_pool_unref(struct rb_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  struct rb_sample *s = pool->first;
  pool->first = NULL;
  pool->idle = 0;
  pool->closed = true;
  pool_leave(pool);
  while (s != NULL) {
    struct rb_sample *next = s->next;
    sample_free(s);
    s = next;
  }
}

// pool_take returns the smallest idle block that is large enough, else any, else NULL.
static struct rb_sample *pool_take(struct rb_pool *pool, size_t capacity) {
  pthread_mutex_lock(&pool->lock);
  struct rb_sample **best = NULL;
  for (struct rb_sample **at = &pool->first; *at != NULL; at = &(*at)->next) {
    bool fits = (*at)->capacity >= capacity;
    if (best == NULL || (fits && ((*best)->capacity < capacity || (*at)->capacity < (*best)->capacity))) best = at;
  }
  struct rb_sample *s = NULL;
  if (best != NULL) {
    s = *best;
    *best = s->next;
    pool->idle--;
  }
  pool->references++;
  pthread_mutex_unlock(&pool->lock);
  return s;
}

// pool_put takes a block back, or frees it if there are enough.
static void pool_put(struct rb_pool *pool, struct rb_sample *s) {
  pthread_mutex_lock(&pool->lock);
  bool keep = !pool->closed && pool->idle < POOL_IDLE;
  if (keep) {
    s->next = pool->first;
    pool->first = s;
    pool->idle++;
  }
  pool_leave(pool);
  if (!keep) sample_free(s);
}

struct rb_sample *rb_sample_new(struct rb_pool *pool, size_t capacity) {
  if (capacity < 4) capacity = 4;
  struct rb_sample *s = pool != NULL ? pool_take(pool, capacity) : NULL;
  if (s == NULL && (s = block_new(sizeof(*s))) != NULL) s->pool = pool;
  if (s != NULL && s->capacity < capacity) {
    free(s->data); // its content is of no use, so no realloc
    s->data = malloc(capacity + PADDING);
    s->capacity = s->data != NULL ? capacity : 0;
    if (s->data == NULL) {
      rb_sample_unref(s);
      return NULL;
    }
  } else if (s == NULL && pool != NULL) {
    pthread_mutex_lock(&pool->lock);
    pool_leave(pool);
  }
  if (s != NULL) s->size = 0;
  return s;
}

void rb_sample_unref(struct rb_sample *s) {
  if (s->pool != NULL)
    pool_put(s->pool, s);
  else
    sample_free(s);
}

static bool serdata_eqkey(const struct ddsi_serdata *a, const struct ddsi_serdata *b) {
  (void)a, (void)b;
  return true; // ROS messages have no keys: a topic is one instance
}

static uint32_t serdata_size(const struct ddsi_serdata *d) { return ((const struct rb_sample *)d)->size; }

static void serdata_free(struct ddsi_serdata *d) { rb_sample_unref((struct rb_sample *)d); }

// received returns a sample for so many bytes from the network.
static struct rb_sample *received(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, size_t size) {
  if (size > UINT32_MAX) return NULL;
  struct rb_sample *s = rb_sample_new(NULL, size);
  if (s == NULL) return NULL;
  ddsi_serdata_init(&s->c, type, kind);
  s->c.hash = type->serdata_basehash;
  s->size = (uint32_t)size;
  return s;
}

// Fragments are in order and may overlap.
static struct ddsi_serdata *serdata_from_ser(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, const struct nn_rdata *fragment, size_t size) {
  struct rb_sample *s = received(type, kind, size);
  if (s == NULL) return NULL;
  size_t at = 0;
  for (; fragment != NULL; fragment = fragment->nextfrag) {
    if (fragment->maxp1 <= at) continue;
    if (fragment->min > at || fragment->maxp1 > size) break;
    const unsigned char *payload = NN_RMSG_PAYLOADOFF(fragment->rmsg, NN_RDATA_PAYLOAD_OFF(fragment));
    memcpy(s->data + at, payload + (at - fragment->min), fragment->maxp1 - at);
    at = fragment->maxp1;
  }
  if (at == size) return &s->c;
  rb_sample_unref(s);
  return NULL;
}

static struct ddsi_serdata *serdata_from_ser_iov(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, ddsrt_msg_iovlen_t n, const ddsrt_iovec_t *iov, size_t size) {
  struct rb_sample *s = received(type, kind, size);
  if (s == NULL) return NULL;
  size_t at = 0;
  for (ddsrt_msg_iovlen_t i = 0; i < n && at < size; i++) {
    size_t length = iov[i].iov_len < size - at ? iov[i].iov_len : size - at;
    memcpy(s->data + at, iov[i].iov_base, length);
    at += length;
  }
  return &s->c;
}

// key returns the key of every message, which is empty.
static struct ddsi_serdata *key(const struct ddsi_sertype *type) {
  static const unsigned char header[4] = {0, 1, 0, 0};
  struct rb_sample *s = received(type, SDK_KEY, sizeof(header));
  if (s == NULL) return NULL;
  memcpy(s->data, header, sizeof(header));
  return &s->c;
}

static struct ddsi_serdata *serdata_from_keyhash(const struct ddsi_sertype *type, const struct ddsi_keyhash *hash) {
  (void)hash;
  return key(type);
}

// Disposing of the instance when a writer goes asks for its key.
static struct ddsi_serdata *serdata_from_sample(const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, const void *sample) {
  (void)sample;
  return kind == SDK_KEY ? key(type) : NULL; // data comes serialized alone
}

static void serdata_to_ser(const struct ddsi_serdata *d, size_t offset, size_t size, void *to) {
  memcpy(to, ((const struct rb_sample *)d)->data + offset, size);
}

static struct ddsi_serdata *serdata_to_ser_ref(const struct ddsi_serdata *d, size_t offset, size_t size, ddsrt_iovec_t *ref) {
  ref->iov_base = ((const struct rb_sample *)d)->data + offset;
  ref->iov_len = (ddsrt_iov_len_t)size;
  return ddsi_serdata_ref(d);
}

static void serdata_to_ser_unref(struct ddsi_serdata *d, const ddsrt_iovec_t *ref) {
  (void)ref;
  ddsi_serdata_unref(d);
}

static bool serdata_to_sample(const struct ddsi_serdata *d, void *sample, void **at, void *limit) {
  (void)d, (void)sample, (void)at, (void)limit;
  return false; // only serialized data is read
}

static struct ddsi_serdata *serdata_to_untyped(const struct ddsi_serdata *d) {
  struct ddsi_serdata *k = key(d->type);
  if (k != NULL) k->type = NULL;
  return k;
}

static bool serdata_untyped_to_sample(const struct ddsi_sertype *type, const struct ddsi_serdata *d, void *sample, void **at, void *limit) {
  (void)type, (void)d, (void)sample, (void)at, (void)limit;
  return true;
}

static size_t serdata_print(const struct ddsi_sertype *type, const struct ddsi_serdata *d, char *to, size_t size) {
  (void)type;
  return (size_t)snprintf(to, size, "(%u bytes)", ((const struct rb_sample *)d)->size);
}

static void serdata_get_keyhash(const struct ddsi_serdata *d, struct ddsi_keyhash *hash, bool force_md5) {
  (void)d, (void)force_md5;
  memset(hash, 0, sizeof(*hash));
}

static const struct ddsi_serdata_ops serdata_ops = {
    .eqkey = serdata_eqkey,
    .get_size = serdata_size,
    .from_ser = serdata_from_ser,
    .from_ser_iov = serdata_from_ser_iov,
    .from_keyhash = serdata_from_keyhash,
    .from_sample = serdata_from_sample,
    .to_ser = serdata_to_ser,
    .to_ser_ref = serdata_to_ser_ref,
    .to_ser_unref = serdata_to_ser_unref,
    .to_sample = serdata_to_sample,
    .to_untyped = serdata_to_untyped,
    .untyped_to_sample = serdata_untyped_to_sample,
    .free = serdata_free,
    .print = serdata_print,
    .get_keyhash = serdata_get_keyhash,
};

static void sertype_free(struct ddsi_sertype *type) {
  ddsi_sertype_fini(type);
  free(type);
}

static bool sertype_equal(const struct ddsi_sertype *a, const struct ddsi_sertype *b) {
  (void)a, (void)b;
  return true; // the library has compared names
}

static uint32_t sertype_hash(const struct ddsi_sertype *type) {
  (void)type;
  return 0; // the library has hashed the name
}

// There are no samples but serialized ones, so none to allocate.
static void sertype_zero_samples(const struct ddsi_sertype *type, void *samples, size_t n) { (void)type, (void)samples, (void)n; }

static void sertype_realloc_samples(void **ptrs, const struct ddsi_sertype *type, void *old, size_t old_n, size_t n) {
  (void)type, (void)old, (void)old_n;
  for (size_t i = 0; i < n; i++) ptrs[i] = NULL;
}

static void sertype_free_samples(const struct ddsi_sertype *type, void **ptrs, size_t n, dds_free_op_t op) {
  (void)type, (void)ptrs, (void)n, (void)op;
}

static const struct ddsi_sertype_ops sertype_ops = {
    .version = ddsi_sertype_v0,
    .free = sertype_free,
    .zero_samples = sertype_zero_samples,
    .realloc_samples = sertype_realloc_samples,
    .free_samples = sertype_free_samples,
    .equal = sertype_equal,
    .hash = sertype_hash,
};

struct ddsi_sertype *rb_sertype_new(const char *type_name) {
  struct ddsi_sertype *type = calloc(1, sizeof(*type));
  if (type == NULL) return NULL;
  ddsi_sertype_init(type, type_name, &sertype_ops, &serdata_ops, true);
  type->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
  return type;
}
