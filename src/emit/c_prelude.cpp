// The C functions that kernels call, of which each kernel gets those that it needs.
#include "emit/c_prelude.h"

#include "base/error.h"

#include <functional>
#include <map>
#include <vector>

namespace twill {

namespace {

struct Helper {
  const char* name;
  const char* text;               // T: the C type, U: its unsigned version, S: the suffix of the type
  std::vector<const char*> uses;  // with S at the end for members of the same family
};

/// In an order in which every helper comes after those it uses.
const std::vector<Helper>& helpers() {
  static const std::vector<Helper> list = {
      {"twill_note",
       R"c(/* Remembers the failure with the highest number. */
static inline int32_t twill_note(int32_t bad, bool fine, int32_t failure) {
  return fine || bad > failure ? bad : failure;
}
)c",
       {}},
      {"twill_extent",
       R"c(/* Extents below zero count as zero. */
static inline int64_t twill_extent(int64_t n) { return n > 0 ? n : 0; }
)c",
       {}},
      {"twill_unknown",
       R"c(/* Hides what is in an array: GCC 12 takes {-2, -2, -2, -1} for four equal numbers when it copies them at once. */
static inline const void *twill_unknown(const void *memory) {
  __asm__("" : "+r"(memory));
  return memory;
}
)c",
       {}},
      {"twill_clamp",
       R"c(static inline int64_t twill_clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }
)c",
       {}},
      {"twill_clamp_one",
       R"c(/* For loops that lanes do not take: GCC would use lanes for the minimum and the maximum alone. */
static inline int64_t twill_clamp_one(int64_t i, int64_t n) {
  int64_t at_least = i < 0 ? 0 : i;
  __asm__("" : "+r"(at_least));
  return at_least < n ? at_least : n - 1;
}
)c",
       {}},
      {"twill_floor_mod",
       R"c(/* Rounds towards minus infinity: the result has the sign of b. */
static inline T twill_floor_mod_S(T a, T b) {
  if (b == 0 || b == -1) return 0;
  const T r = (T)(a % b);
  return (T)((b > 0 ? r < 0 : r > 0) ? r + b : r);
}
)c",
       {}},
      {"twill_floor_div",
       R"c(/* Rounds towards minus infinity. */
static inline T twill_floor_div_S(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return (T)-(U)a;
  const T q = (T)(a / b), r = (T)(a % b);
  return (T)((b > 0 ? r < 0 : r > 0) ? q - 1 : q);
}
)c",
       {}},
      {"twill_divide",
       R"c(static inline T twill_divide_S(T a, T b) { return (T)(b == 0 ? 0 : a / b); }
)c",
       {}},
      {"twill_modulo",
       R"c(static inline T twill_modulo_S(T a, T b) { return (T)(b == 0 ? 0 : a % b); }
)c",
       {}},
      {"twill_mirror",
       R"c(/* Reflected at the edges, which are repeated: -1 is 0, n is n - 1. */
static inline int64_t twill_mirror(int64_t i, int64_t n) {
  if (n <= 0) return 0;
  const int64_t j = twill_floor_mod_i64(i, 2 * n);
  return j < n ? j : 2 * n - 1 - j;
}
)c",
       {"twill_floor_mod_i64"}},
      {"twill_min",
       R"c(static inline T twill_min_S(T a, T b) { return a < b ? a : b; }
)c",
       {}},
      {"twill_max",
       R"c(static inline T twill_max_S(T a, T b) { return a > b ? a : b; }
)c",
       {}},
      {"twill_from_zero",
       R"c(/* 0 - a: compilers take it for -a where a comes from an integer, which has another zero. */
static inline T twill_from_zero_S(T a) { return a == 0 ? 0 : 0 - a; }
)c",
       {}},
      {"twill_negate_f32",
       R"c(/* The sign changes, whatever is behind it: compilers take -fma(a, b, c) for fma(-a, b, -c), which has another zero. */
static inline float twill_negate_f32(float a) {
  uint32_t bits;
  memcpy(&bits, &a, sizeof bits);
  bits ^= UINT32_C(1) << 31;
  memcpy(&a, &bits, sizeof a);
  return a;
}
)c",
       {}},
      {"twill_negate_f64",
       R"c(/* The sign changes, whatever is behind it: compilers take -fma(a, b, c) for fma(-a, b, -c), which has another zero. */
static inline double twill_negate_f64(double a) {
  uint64_t bits;
  memcpy(&bits, &a, sizeof bits);
  bits ^= UINT64_C(1) << 63;
  memcpy(&a, &bits, sizeof a);
  return a;
}
)c",
       {}},
      {"twill_fmin",
       R"c(/* The other operand when one is NaN. */
static inline T twill_fmin_S(T a, T b) { return b != b || a < b ? a : b; }
)c",
       {}},
      {"twill_fmax",
       R"c(/* The other operand when one is NaN. */
static inline T twill_fmax_S(T a, T b) { return b != b || a > b ? a : b; }
)c",
       {}},
      {"twill_reduce_fmin",
       R"c(#pragma omp declare reduction(twill_reduce_fmin_S : T : omp_out = twill_fmin_S(omp_out, omp_in)) initializer(omp_priv = INFINITY)
)c",
       {"twill_fmin_S"}},
      {"twill_reduce_fmax",
       R"c(#pragma omp declare reduction(twill_reduce_fmax_S : T : omp_out = twill_fmax_S(omp_out, omp_in)) initializer(omp_priv = -INFINITY)
)c",
       {"twill_fmax_S"}},
      {"twill_abs",
       R"c(static inline T twill_abs_S(T a) { return (T)(a < 0 ? -(U)a : (U)a); }
)c",
       {}},
      {"twill_fmod",
       R"c(static inline T twill_fmod_S(T a, T b) { return a - b * FLOOR(a / b); }
)c",
       {}},
      {"twill_ipow",
       R"c(/* By squaring; a negative exponent gives 0 except for the bases 1 and -1. */
static inline T twill_ipow_S(T base, T exponent) {
  if (exponent < 0) return (T)(base == 1 ? 1 : base == (T)-1 ? (exponent % 2 != 0 ? -1 : 1) : 0);
  uint64_t power = 1, b = (uint64_t)base;
  for (U e = (U)exponent; e != 0; e = (U)(e >> 1)) {
    if (e & 1) power *= b;
    b *= b;
  }
  return (T)power;
}
)c",
       {}},
      {"twill_upow",
       R"c(static inline T twill_upow_S(T base, T exponent) {
  uint64_t power = 1, b = base;
  for (T e = exponent; e != 0; e = (T)(e >> 1)) {
    if (e & 1) power *= b;
    b *= b;
  }
  return (T)power;
}
)c",
       {}},
      {"twill_shl",
       R"c(static inline T twill_shl_S(T a, T n) { return (T)((U)a << ((U)n & (8 * sizeof(T) - 1))); }
)c",
       {}},
      {"twill_shr",
       R"c(static inline T twill_shr_S(T a, T n) { return (T)(a >> ((U)n & (8 * sizeof(T) - 1))); }
)c",
       {}},
      {"twill_to",
       R"c(/* From a float: saturates, NaN becomes 0. */
static inline T twill_to_S(float x) {
  const float low = (float)LOW, end = (float)(HIGH / 2 + 1) * 2;
  const T inside = (T)(x > low && x < end ? x : 0);
  return x >= end ? HIGH : x <= low ? LOW : inside;
}
)c",
       {}},
      {"twill_double_to",
       R"c(/* From a float: saturates, NaN becomes 0. */
static inline T twill_double_to_S(double x) {
  const double low = (double)LOW, end = (double)(HIGH / 2 + 1) * 2;
  const T inside = (T)(x > low && x < end ? x : 0);
  return x >= end ? HIGH : x <= low ? LOW : inside;
}
)c",
       {}},
      {"twill_from_bf16",
       R"c(static inline float twill_from_bf16(uint16_t h) {
  const uint32_t bits = (uint32_t)h << 16;
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
)c",
       {}},
      {"twill_to_bf16",
       R"c(/* Rounds to nearest even. */
static inline uint16_t twill_to_bf16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((bits >> 16) | 0x40u);
  return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
)c",
       {}},
      {"twill_from_f16",
       R"c(static inline float twill_from_f16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, magnitude = h & 0x7fffu;
  uint32_t bits;
  float x;
  if (magnitude >= 0x7c00u) {
    bits = sign | 0x7f800000u | (magnitude & 0x3ffu) << 13;
  } else if (magnitude >= 0x400u) {
    bits = sign | ((magnitude << 13) + 0x38000000u);
  } else {
    x = (float)magnitude * 0x1p-24f;
    memcpy(&bits, &x, 4);
    bits |= sign;
  }
  memcpy(&x, &bits, 4);
  return x;
}
)c",
       {}},
      {"twill_to_f16",
       R"c(/* Rounds to nearest even. */
static inline uint16_t twill_to_f16(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (magnitude >= 0x38800000u) {
    const uint32_t rebiased = magnitude - 0x38000000u;
    return (uint16_t)(sign | ((rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13));
  }
  float small;
  memcpy(&small, &magnitude, 4);
  small = small * 0x1p24f;
  const float whole = rintf(small);
  return (uint16_t)(sign | (uint32_t)whole);
}
)c",
       {}},
      {"twill_past_line",
       R"c(/* How many elements a place is past the start of its cache line. */
static inline int64_t twill_past_line(const void *place, size_t size) {
  return (int64_t)((uintptr_t)place % 64 / size);
}
)c",
       {}},
      {"twill_fetch",
       R"c(/* Brings memory into the second-level cache. */
static inline void twill_fetch(const void *from, size_t bytes) {
#ifdef __GNUC__
  for (size_t k = 0; k < bytes; k += 64) __builtin_prefetch((const char *)from + k, 0, 2);
#else
  (void)from, (void)bytes;
#endif
}
)c",
       {}},
      {"twill_stream",
       R"c(/* Copies a strip of a row past the caches, in whole lines. The beginning of its first line, `left` bytes that the
   strip before it left over, lies in front of it; what it leaves over itself is moved there, and counted. */
static inline size_t twill_stream(void *to, void *strip, size_t left, size_t bytes, bool last) {
#if defined(__GNUC__) && defined(__x86_64__)
  char *t = (char *)to - left;
  const char *f = strip;
  bytes += left;
  size_t head = (size_t)(-(uintptr_t)t & 63);
  if (head > bytes) head = bytes;
  memcpy(t, f, head);
  t += head, f += head, bytes -= head;
#ifdef __AVX512F__
  for (; bytes >= 64; t += 64, f += 64, bytes -= 64) {
    __asm__ volatile("vmovups (%1), %%zmm0\n\tvmovntps %%zmm0, (%0)" : : "r"(t), "r"(f) : "xmm0", "memory");
  }
#else
  for (; bytes >= 64; t += 64, f += 64, bytes -= 64) {
    __asm__ volatile("movups (%1), %%xmm0\n\tmovups 16(%1), %%xmm1\n\tmovups 32(%1), %%xmm2\n\tmovups 48(%1), %%xmm3\n\t"
                     "movntps %%xmm0, (%0)\n\tmovntps %%xmm1, 16(%0)\n\tmovntps %%xmm2, 32(%0)\n\tmovntps %%xmm3, 48(%0)"
                     : : "r"(t), "r"(f) : "xmm0", "xmm1", "xmm2", "xmm3", "memory");
  }
#endif
  if (last) memcpy(t, f, bytes);
  else memmove(strip, f, bytes);
  return last ? 0 : bytes;
#else
  (void)left, (void)last;
  memcpy(to, strip, bytes);
  return 0;
#endif
}
static inline void twill_fence(void) {
#if defined(__GNUC__) && defined(__x86_64__)
  __asm__ volatile("sfence" : : : "memory");
#endif
}
)c",
       {}},
      {"twill_times",
       R"c(/* A number of elements; one that cannot be counted becomes the largest. */
static inline int64_t twill_times(int64_t a, int64_t b) { return b > 0 && a > INT64_MAX / b ? INT64_MAX : a * b; }
)c",
       {}},
      {"twill_bytes",
       R"c(/* Of whole cache lines for some elements and what is extra, at least one line; 0: more than there can be. */
static inline size_t twill_bytes(size_t size, int64_t count, size_t extra) {
  if (count > 0 && (uint64_t)count > (PTRDIFF_MAX - extra - 64) / size) return 0;
  return ((count > 0 ? size * (size_t)count : 1) + extra + 63) / 64 * 64;
}
)c",
       {}},
      {"twill_frame",
       R"c(/* What a call of the kernel has in hand: the host, and all memory it took from it. */
typedef struct twill_block {
  struct twill_block *before, *after;
  char pad[64 - 2 * sizeof(void *)];
} twill_block;
typedef struct {
  const twill_host *host;
  twill_block list;
} twill_frame;

static void twill_begin(twill_frame *frame, const twill_host *host) {
  frame->host = host;
  frame->list.before = frame->list.after = &frame->list;
}
static bool twill_has_memory(const twill_host *host) { return host && host->allocate && host->release; }
static __attribute__((malloc, noinline, unused)) void *twill_allocate(twill_frame *frame, size_t size, int64_t count) {
  const size_t bytes = twill_bytes(size, count, sizeof(twill_block));
  if (bytes == 0) return NULL;
  const twill_host *host = frame->host;
  twill_block *block = twill_has_memory(host) ? host->allocate(host->self, bytes) : aligned_alloc(64, bytes);
  if (!block) return NULL;
#pragma omp critical(twill_frame)
  {
    block->before = &frame->list;
    block->after = frame->list.after;
    block->after->before = block;
    frame->list.after = block;
  }
  return block + 1;
}
static void twill_return(twill_frame *frame, twill_block *block) {
  const twill_host *host = frame->host;
  if (twill_has_memory(host)) host->release(host->self, block);
  else free(block);
}
static __attribute__((unused)) void twill_free(twill_frame *frame, void *memory) {
  if (!memory) return;
  twill_block *block = (twill_block *)memory - 1;
#pragma omp critical(twill_frame)
  {
    block->before->after = block->after;
    block->after->before = block->before;
  }
  twill_return(frame, block);
}
static int32_t twill_end(twill_frame *frame, int32_t code) {
  while (frame->list.after != &frame->list) {
    twill_block *block = frame->list.after;
    frame->list.after = block->after;
    twill_return(frame, block);
  }
  return code;
}
)c",
       {"twill_bytes"}},
      {"twill_keep",
       R"c(/* Memory that outlives the call; the caller frees it. */
static void *twill_keep(size_t size, int64_t count) {
  const size_t bytes = twill_bytes(size, count, 0);
  return bytes == 0 ? NULL : aligned_alloc(64, bytes);
}
)c",
       {"twill_bytes"}},
      {"twill_grow",
       R"c(/* At least one more element; null if there is no memory. */
static void *twill_grow(twill_frame *frame, void *old, int64_t *room, size_t size) {
  const int64_t more = *room > 0 ? 2 * *room : 64;
  void *memory = twill_allocate(frame, size, more);
  if (!memory) return NULL;
  if (old) memcpy(memory, old, size * (size_t)*room);
  twill_free(frame, old);
  *room = more;
  return memory;
}
)c",
       {"twill_frame"}},
      {"twill_table",
       R"c(/* Open addressing: a slot holds a tag of the key (upper half) and its number; the upper bits of a hash say
   where. A narrow key says itself where, and its slot holds its number. */
#define TWILL_EMPTY UINT64_MAX
typedef struct {
  uint64_t *slots;
  int64_t size; /* a power of two, at least twice the number of keys */
  int shift;
} twill_table;
static inline __attribute__((unused)) uint64_t twill_mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ (h >> 29);
}
static inline twill_table twill_table_of(uint64_t *slots, int64_t size) {
  const twill_table table = {slots, size, 64 - __builtin_ctzll((uint64_t)size)};
  return table;
}
static bool twill_start_table(twill_frame *frame, twill_table *table, int64_t size) {
  uint64_t *slots = twill_allocate(frame, sizeof(uint64_t), size);
  if (slots) memset(slots, 0xff, (size_t)size * sizeof(uint64_t));
  *table = twill_table_of(slots, size);
  return slots != NULL;
}
)c",
       {"twill_frame"}},
      {"twill_perform",
       R"c(/* False if the host does not care for effects. */
static bool twill_perform(twill_frame *frame, int32_t effect, int32_t count, const twill_number *numbers) {
  if (!frame->host || !frame->host->effect) return false;
  frame->host->effect(frame->host->self, effect, count, numbers);
  return true;
}
)c",
       {"twill_frame"}},
  };
  return list;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

/// Replaces the capital T, U and S that stand alone (S also after an underscore).
std::string specialise(std::string text, Scalar scalar) {
  const std::string suffix(info(scalar).name), type(info(scalar).c_name);
  std::string result;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool ends = i + 1 >= text.size() || !is_word(text[i + 1]);
    const bool starts = i == 0 || !is_word(text[i - 1]);
    if (c == 'T' && starts && ends)
      result += type;
    else if (c == 'U' && starts && ends)
      result += is_unsigned(scalar) ? type : "u" + type;
    else if (c == 'S' && ends && i > 0 && text[i - 1] == '_')
      result += suffix;
    else
      result += c;
  }
  std::string upper = suffix;
  if (is_integer(scalar)) {
    const std::string bits = suffix.substr(1);
    replace_all(result, "LOW", is_signed(scalar) ? "INT" + bits + "_MIN" : "0");
    replace_all(result, "HIGH", is_signed(scalar) ? "INT" + bits + "_MAX" : "UINT" + bits + "_MAX");
  }
  replace_all(result, "FLOOR", scalar == Scalar::F32 ? "floorf" : "floor");
  return result;
}

/// "twill_min_f32" → the family and its type; "twill_clamp" has none.
std::pair<std::string, std::optional<Scalar>> split(const std::string& name) {
  for (const Helper& helper : helpers()) {
    if (name == helper.name) return {name, std::nullopt};
  }
  const std::size_t at = name.rfind('_');
  return {name.substr(0, at), scalar_named(name.substr(at + 1))};
}

}  // namespace

const std::string& CPrelude::need(const std::string& name) {
  const auto [position, is_new] = needed_.insert(name);
  if (is_new) {
    const auto [family, scalar] = split(name);
    bool found = false;
    for (const Helper& helper : helpers()) {
      if (family != helper.name) continue;
      found = true;
      for (const char* use : helper.uses) need(scalar ? specialise(use, *scalar) : use);
    }
    ensure(found, "emitted C calls a helper that does not exist");
  }
  return *position;
}

std::string CPrelude::need_vector(Scalar scalar, int lanes) {
  vectors_.emplace(scalar, lanes);
  return "twill_" + std::string(info(scalar).name) + "x" + std::to_string(lanes);
}

std::string CPrelude::text() const {
  std::string text;
  for (const auto& [scalar, lanes] : vectors_) {
    text += "typedef " + std::string(info(scalar).c_name) + " twill_" + std::string(info(scalar).name) + "x" +
            std::to_string(lanes) + " __attribute__((vector_size(" +
            std::to_string(lanes * static_cast<int>(info(scalar).bytes)) + "), aligned(" +
            std::to_string(info(scalar).bytes) + "), may_alias));\n";
  }
  if (!vectors_.empty()) text += "\n";
  for (const Helper& helper : helpers()) {
    for (const std::string& name : needed_) {
      const auto [family, scalar] = split(name);
      if (family == helper.name)
        text += (scalar ? specialise(helper.text, *scalar) : std::string(helper.text)) + "\n";
    }
  }
  return text;
}

std::string host_interface() {
  return R"c(#ifndef TWILL_HOST
#define TWILL_HOST
/* A number handed to the host: type is 0 bool, 1-4 i8…i64, 5-8 u8…u64, 9 f16, 10 bf16, 11 f32, 12 f64. */
typedef struct {
  uint8_t type;
  union {
    int64_t i;
    uint64_t u;
    double f;
  } value;
} twill_number;

/* What a kernel asks of its surroundings; a null pointer for the host stands for one without functions.
   allocate and release belong together: if either is null, memory comes from aligned_alloc and goes to free.
   If effect is null, effects go to standard output. */
typedef struct {
  void *self;
  void *(*allocate)(void *self, size_t bytes); /* aligned to 64 bytes, or null */
  void (*release)(void *self, void *memory);
  void (*effect)(void *self, int32_t effect, int32_t count, const twill_number *numbers);
} twill_host;
#endif
)c";
}

}  // namespace twill
