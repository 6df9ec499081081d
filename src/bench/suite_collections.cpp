// Pipelines over collections: maps, filters, a flatMap, zips, groups and a step of k-means, each against the
// loop that an expert writes and against the same program with a pass for every step.
#include "bench/arrays.h"
#include "bench/case.h"
#include "bench/loops.h"

#include <fmt/format.h>
#include <cmath>
#include <limits>

namespace twill::bench {

namespace {

constexpr std::int64_t many = 10'000'000;

double as_double(std::int64_t n) { return static_cast<double>(n); }

Data f32_scalar(double value) { return Data::scalar(Number::of_double(Scalar::F32, value)); }
Data i32_scalar(std::int64_t value) { return Data::scalar(Number::of(Scalar::I32, value)); }

/// "10^7", or the number itself if it is no power of ten.
std::string count_text(std::int64_t n) {
  int exponent = 0;
  std::int64_t power = 1;
  while (power < n) power *= 10, ++exponent;
  return power == n && n >= 1000 ? fmt::format("10^{}", exponent) : fmt::format("{}", n);
}

/// What all cases have in common.
Case start(std::shared_ptr<const Program> program, std::int64_t n) {
  Case c;
  c.program = std::move(program);
  c.size = count_text(n);
  c.ways = {unfused()};
  c.reference_name = "plain loops";
  return c;
}

// ---- pipelines that end in folds ------------------------------------------------------------------------

Case map_filter_fold(Session& s) {
  const std::int64_t n = s.extent(many);
  constexpr float rest = 0.5F, threshold = 0.04F;
  Case c = start(example("pipeline", "energy"), n);
  c.inputs.push_back(uniform({n}, 1));
  c.inputs.push_back(f32_scalar(rest));
  c.inputs.push_back(f32_scalar(threshold));
  c.work = {4 * as_double(n), 4 * as_double(n), 8};
  c.tolerance = likely_error(Scalar::F64, as_double(n));
  c.reference = [](std::span<const Data> in, std::vector<Data>& out) {
    double total = 0;
    for (const float x : in[0].as<float>()) {
      const float swing = x - rest, power = swing * swing;
      if (power > threshold) total += power;
    }
    out[0].as<double>()[0] = total;
  };
  c.peers.push_back(hand_loops(s, {}, R"c(
  const float *restrict x = in[0];
  const float rest = *(const float *)in[1], threshold = *(const float *)in[2];
  double total = 0;
  #pragma omp parallel for simd reduction(+ : total)
  for (int64_t i = 0; i < n[0]; ++i) {
    const float swing = x[i] - rest, power = swing * swing;
    total += power > threshold ? power : 0;
  }
  *(double *)out[0] = total;
)c",
                               {n}));
  return c;
}

Case flat_map_filter_count(Session& s) {
  const std::int64_t n = s.extent(many);
  Case c = start(example("pipeline", "weekend_nights"), n);
  c.inputs.push_back(random_integers(Scalar::I32, {n}, 1, 0, 3650));
  c.inputs.push_back(random_integers(Scalar::I32, {n}, 2, 1, 8));
  c.work = {16 * as_double(n), 8 * as_double(n), 8};
  c.reference = [](std::span<const Data> in, std::vector<Data>& out) {
    const auto arrival = in[0].as<std::int32_t>(), nights = in[1].as<std::int32_t>();
    std::int64_t count = 0;
    for (std::size_t i = 0; i < arrival.size(); ++i) {
      for (std::int32_t d = arrival[i]; d < arrival[i] + nights[i]; ++d) count += d % 7 == 4 || d % 7 == 5;
    }
    out[0].as<std::int64_t>()[0] = count;
  };
  c.peers.push_back(hand_loops(s, {}, R"c(
  const int32_t *restrict arrival = in[0], *restrict nights = in[1];
  int64_t count = 0;
  #pragma omp parallel for reduction(+ : count)
  for (int64_t i = 0; i < n[0]; ++i)
    for (int32_t k = 0; k < nights[i]; ++k) {
      const int32_t rest = (arrival[i] + k) % 7, day = rest < 0 ? rest + 7 : rest;
      count += day >= 4 && day < 6;
    }
  *(int64_t *)out[0] = count;
)c",
                               {n}));
  return c;
}

Case zip_mean_variance(Session& s) {
  const std::int64_t n = s.extent(many);
  constexpr float time = 1.5F;
  Case c = start(example("pipeline", "distances"), n);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) c.inputs.push_back(uniform({n}, seed));
  c.inputs.push_back(f32_scalar(time));
  c.work = {12 * as_double(n), 12 * as_double(n), 16};
  c.tolerance = likely_error(Scalar::F32, 1);
  c.reference = [](std::span<const Data> in, std::vector<Data>& out) {
    const auto vx = in[0].as<float>(), vy = in[1].as<float>(), vz = in[2].as<float>();
    double total = 0, squares = 0;
    for (std::size_t i = 0; i < vx.size(); ++i) {
      const double x = vx[i] * time, y = vy[i] * time, z = vz[i] * time, square = x * x + y * y + z * z;
      total += std::sqrt(square);
      squares += square;
    }
    const double mean = total / static_cast<double>(vx.size());
    out[0].as<double>()[0] = mean;
    out[1].as<double>()[0] = squares / static_cast<double>(vx.size()) - mean * mean;
  };
  c.peers.push_back(hand_loops(s, {}, R"c(
  const float *restrict vx = in[0], *restrict vy = in[1], *restrict vz = in[2];
  const float time = *(const float *)in[3];
  double total = 0, squares = 0;
  #pragma omp parallel for simd reduction(+ : total, squares)
  for (int64_t i = 0; i < n[0]; ++i) {
    const float x = vx[i] * time, y = vy[i] * time, z = vz[i] * time, d = sqrtf(x * x + y * y + z * z);
    total += d;
    squares += d * d;
  }
  const double mean = total / n[0];
  *(double *)out[0] = mean;
  *(double *)out[1] = squares / n[0] - mean * mean;
)c",
                               {n}));
  return c;
}

// ---- groups ---------------------------------------------------------------------------------------------

/// Tables of sums by key with open addressing: a slot has the key and its number in order of first
/// occurrence. Their memory is kept from call to call.
constexpr const char* sum_table = R"c(
#include <omp.h>
typedef struct {
  uint64_t *slots;
  int64_t size, slot_room;
  int shift;
  int32_t *keys;
  double *sums;
  int64_t count, room;
} Table;
enum { most_workers = 1024 };
static Table kept[most_workers];
static const uint64_t empty = UINT64_MAX;

static void set_size(Table *table, int64_t size) {
  if (size > table->slot_room) {
    free(table->slots);
    table->slots = malloc(size * sizeof *table->slots);
    table->slot_room = size;
  }
  table->size = size;
  table->shift = 64 - __builtin_ctzll(size);
  memset(table->slots, 0xff, size * sizeof *table->slots);
}
static inline int64_t place(const Table *table, int32_t key) {
  return (uint64_t)(uint32_t)key * UINT64_C(0x9e3779b97f4a7c15) >> table->shift;
}
static __attribute__((noinline)) void add_key(Table *table, int32_t key, int64_t at, double value) {
  if (table->count == table->room) {
    table->room = table->room ? 2 * table->room : 256;
    table->keys = realloc(table->keys, table->room * sizeof *table->keys);
    table->sums = realloc(table->sums, table->room * sizeof *table->sums);
  }
  table->keys[table->count] = key;
  table->sums[table->count] = value;
  table->slots[at] = (uint64_t)(uint32_t)key << 32 | table->count++;
  if (2 * table->count <= table->size) return;
  set_size(table, 2 * table->size);
  for (int64_t k = 0; k < table->count; ++k) {
    at = place(table, table->keys[k]);
    while (table->slots[at] != empty) at = (at + 1) & (table->size - 1);
    table->slots[at] = (uint64_t)(uint32_t)table->keys[k] << 32 | k;
  }
}
static inline void add(Table *table, int32_t key, double value) {
  int64_t at = place(table, key);
  for (uint64_t slot; (slot = table->slots[at]) != empty; at = (at + 1) & (table->size - 1))
    if ((int32_t)(slot >> 32) == key) {
      table->sums[slot & UINT32_MAX] += value;
      return;
    }
  add_key(table, key, at, value);
}
)c";

constexpr const char* sum_by = R"c(
  const int32_t *restrict key = in[0];
  const double *restrict v = in[1];
  const int workers = omp_get_max_threads() < most_workers ? omp_get_max_threads() : most_workers;
  #pragma omp parallel num_threads(workers)
  {
    const int w = omp_get_thread_num();
    Table table = kept[w];
    table.count = 0;
    set_size(&table, 256);
    for (int64_t i = n[0] * w / workers; i < n[0] * (w + 1) / workers; ++i) add(&table, key[i], v[i]);
    kept[w] = table;
  }
  for (int w = 1; w < workers; ++w)
    for (int64_t b = 0; b < kept[w].count; ++b) add(&kept[0], kept[w].keys[b], kept[w].sums[b]);
  if (kept[0].count == room[0]) {
    memcpy(out[0], kept[0].sums, room[0] * sizeof(double));
    memcpy(out[1], kept[0].keys, room[0] * sizeof(int32_t));
  }
)c";

Case group_sum(Session& s, std::int64_t keys) {
  const std::int64_t n = s.extent(many);
  Case c = start(example("group_by", "sum_by"), n);
  c.inputs.push_back(random_integers(Scalar::I32, {n}, 1, 0, keys));
  c.inputs.push_back(random_integers(Scalar::F64, {n}, 2, 0, 1 << 20, 1 << 20));
  c.work = {as_double(n), 12 * as_double(n), 12 * as_double(keys), 8};
  c.tolerance = likely_error(Scalar::F64, as_double(n / keys + 1));
  c.reference = [keys](std::span<const Data> in, std::vector<Data>& out) {
    const auto key = in[0].as<std::int32_t>();
    const auto v = in[1].as<double>();
    const auto sums = out[0].as<double>();
    const auto found = out[1].as<std::int32_t>();
    std::vector<std::size_t> number(static_cast<std::size_t>(keys), found.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < key.size(); ++i) {
      std::size_t& b = number[static_cast<std::size_t>(key[i])];
      if (b == found.size()) {
        if (count == found.size()) return;  // more than there should be: what is left stays poisoned
        b = count++;
        found[b] = key[i];
        sums[b] = 0;
      }
      sums[b] += v[i];
    }
  };
  c.peers.push_back(hand_loops(s, sum_table, sum_by, {n}));
  return c;
}

/// Keys are two bytes: a table says the number of each.
constexpr const char* pricing_types = R"c(
#include <omp.h>
typedef struct { double quantity, price, reduced, charged, discount; int64_t count; } Sums;
typedef struct { uint8_t flag, status; } Key;
typedef struct { uint16_t *number; Key *keys; Sums *sums; int64_t count; } Table;
enum { all_keys = 1 << 16 };

static Table new_table(void) {
  return (Table){calloc(all_keys, sizeof(uint16_t)), malloc(all_keys * sizeof(Key)),
                 malloc(all_keys * sizeof(Sums)), 0};
}
static void free_table(Table *table) {
  free(table->number);
  free(table->keys);
  free(table->sums);
}
static inline Sums *sums_of(Table *table, Key key) {
  uint16_t *number = table->number + (key.flag << 8 | key.status);
  if (!*number) {
    table->keys[table->count] = key;
    table->sums[table->count] = (Sums){0};
    *number = (uint16_t)++table->count;
  }
  return table->sums + *number - 1;
}
)c";

constexpr const char* pricing_summary = R"c(
  const uint8_t *restrict flag = in[0], *restrict status = in[1];
  const double *restrict quantity = in[2], *restrict price = in[3];
  const double *restrict discount = in[4], *restrict tax = in[5];
  const int32_t *restrict shipped = in[6], until = *(const int32_t *)in[7];
  const int workers = omp_get_max_threads();
  Table tables[workers];
  #pragma omp parallel num_threads(workers)
  {
    const int w = omp_get_thread_num();
    Table table = new_table();
    for (int64_t i = n[0] * w / workers; i < n[0] * (w + 1) / workers; ++i) {
      if (shipped[i] > until) continue;
      Sums *restrict sums = sums_of(&table, (Key){flag[i], status[i]});
      const double reduced = price[i] * (1 - discount[i]);
      sums->quantity += quantity[i];
      sums->price += price[i];
      sums->reduced += reduced;
      sums->charged += reduced * (1 + tax[i]);
      sums->discount += discount[i];
      sums->count += 1;
    }
    tables[w] = table;
  }
  for (int w = 1; w < workers; ++w) {
    for (int64_t b = 0; b < tables[w].count; ++b) {
      Sums *to = sums_of(&tables[0], tables[w].keys[b]), *from = tables[w].sums + b;
      to->quantity += from->quantity;
      to->price += from->price;
      to->reduced += from->reduced;
      to->charged += from->charged;
      to->discount += from->discount;
      to->count += from->count;
    }
    free_table(&tables[w]);
  }
  if (tables[0].count == room[0]) {
    memcpy(out[0], tables[0].sums, tables[0].count * sizeof(Sums));
    memcpy(out[1], tables[0].keys, tables[0].count * sizeof(Key));
  }
  free_table(&tables[0]);
)c";

/// The columns that both questions to line items ask for: quantities, prices, discounts.
void add_line_items(Case& c, std::int64_t n) {
  c.inputs.push_back(random_integers(Scalar::F64, {n}, 3, 1, 51));
  c.inputs.push_back(random_integers(Scalar::F64, {n}, 4, 90'000, 10'500'000, 100));
  c.inputs.push_back(random_integers(Scalar::F64, {n}, 5, 0, 11, 100));
}

Data ship_dates(std::int64_t n) { return random_integers(Scalar::I32, {n}, 7, 0, 2557); }

struct PricingSums {
  double quantity, price, reduced, charged, discount;
  std::int64_t count;
};

Case pricing(Session& s) {
  const std::int64_t n = s.extent(many);
  constexpr std::int32_t until = 2467;
  Case c = start(example("tpch", "pricing_summary"), n);
  c.inputs.push_back(random_integers(Scalar::U8, {n}, 1, 'A', 'D'));
  c.inputs.push_back(random_integers(Scalar::U8, {n}, 2, 'E', 'G'));
  add_line_items(c, n);
  c.inputs.push_back(random_integers(Scalar::F64, {n}, 6, 0, 9, 100));
  c.inputs.push_back(ship_dates(n));
  c.inputs.push_back(i32_scalar(until));
  c.work = {10 * as_double(n), 38 * as_double(n), 6 * 50, 8};
  c.tolerance = likely_error(Scalar::F64, as_double(n));
  c.reference = [](std::span<const Data> in, std::vector<Data>& out) {
    const auto flag = in[0].as<std::uint8_t>(), status = in[1].as<std::uint8_t>();
    const auto quantity = in[2].as<double>(), price = in[3].as<double>();
    const auto discount = in[4].as<double>(), tax = in[5].as<double>();
    const auto shipped = in[6].as<std::int32_t>();
    const auto sums = out[0].as<PricingSums>();
    const std::span keys(reinterpret_cast<std::uint8_t*>(out[1].bytes()), 2 * sums.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < flag.size(); ++i) {
      if (shipped[i] > until) continue;
      std::size_t b = 0;
      while (b < count && (keys[2 * b] != flag[i] || keys[2 * b + 1] != status[i])) ++b;
      if (b == count) {
        if (count == sums.size()) return;  // more than there should be: what is left stays poisoned
        ++count;
        sums[b] = {};
        keys[2 * b] = flag[i];
        keys[2 * b + 1] = status[i];
      }
      const double reduced = price[i] * (1 - discount[i]);
      sums[b].quantity += quantity[i];
      sums[b].price += price[i];
      sums[b].reduced += reduced;
      sums[b].charged += reduced * (1 + tax[i]);
      sums[b].discount += discount[i];
      sums[b].count += 1;
    }
  };
  c.peers.push_back(hand_loops(s, pricing_types, pricing_summary, {n}));
  return c;
}

Case revenue(Session& s) {
  const std::int64_t n = s.extent(many);
  constexpr std::int32_t first = 365, end = 730;
  Case c = start(example("tpch", "revenue_change"), n);
  add_line_items(c, n);
  c.inputs.push_back(ship_dates(n));
  c.inputs.push_back(i32_scalar(first));
  c.inputs.push_back(i32_scalar(end));
  c.work = {7 * as_double(n), 28 * as_double(n), 8, 8};
  c.tolerance = likely_error(Scalar::F64, as_double(n));
  c.reference = [](std::span<const Data> in, std::vector<Data>& out) {
    const auto quantity = in[0].as<double>(), price = in[1].as<double>(), discount = in[2].as<double>();
    const auto shipped = in[3].as<std::int32_t>();
    double change = 0;
    for (std::size_t i = 0; i < price.size(); ++i) {
      if (shipped[i] >= first && shipped[i] < end && discount[i] >= 0.05 && discount[i] <= 0.07 &&
          quantity[i] < 24)
        change += price[i] * discount[i];
    }
    out[0].as<double>()[0] = change;
  };
  c.peers.push_back(hand_loops(s, {}, R"c(
  const double *restrict quantity = in[0], *restrict price = in[1], *restrict discount = in[2];
  const int32_t *restrict shipped = in[3];
  const int32_t first = *(const int32_t *)in[4], end = *(const int32_t *)in[5];
  double change = 0;
  #pragma omp parallel for simd reduction(+ : change)
  for (int64_t i = 0; i < n[0]; ++i) {
    const int chosen = (shipped[i] >= first) & (shipped[i] < end) & (discount[i] >= 0.05) &
                       (discount[i] <= 0.07) & (quantity[i] < 24);
    change += chosen ? price[i] * discount[i] : 0;
  }
  *(double *)out[0] = change;
)c",
                               {n}));
  return c;
}

// ---- k-means --------------------------------------------------------------------------------------------

/// Blocks of points, transposed, so that SIMD lanes are points and need not be combined.
constexpr const char* kmeans_step = R"c(
  enum { block = 64 };
  const float *restrict p = in[0], *restrict c = in[1];
  float *restrict moved = out[0];
  const int64_t N = n[0], D = n[1], K = n[2];
  double total[K][D];
  int64_t count[K];
  memset(total, 0, sizeof total);
  memset(count, 0, sizeof count);
  #pragma omp parallel for reduction(+ : total, count)
  for (int64_t o = 0; o < N; o += block) {
    const int64_t points = N - o < block ? N - o : block;
    float across[D][block], least[block];
    int32_t near[block];
    for (int64_t b = 0; b < block; ++b) least[b] = INFINITY, near[b] = 0;
    for (int64_t b = 0; b < points; ++b)
      for (int64_t j = 0; j < D; ++j) across[j][b] = p[(o + b) * D + j];
    for (int64_t k = 0; k < K; ++k) {
      float distance[block] = {0};
      for (int64_t j = 0; j < D; ++j)
        for (int64_t b = 0; b < block; ++b) {
          const float d = across[j][b] - c[k * D + j];
          distance[b] += d * d;
        }
      for (int64_t b = 0; b < block; ++b) {
        const int nearer = distance[b] < least[b];
        least[b] = nearer ? distance[b] : least[b];
        near[b] = nearer ? (int32_t)k : near[b];
      }
    }
    for (int64_t b = 0; b < points; ++b) {
      for (int64_t j = 0; j < D; ++j) total[near[b]][j] += p[(o + b) * D + j];
      ++count[near[b]];
    }
  }
  for (int64_t k = 0; k < K; ++k)
    for (int64_t j = 0; j < D; ++j)
      moved[k * D + j] = count[k] > 0 ? (float)(total[k][j] / count[k]) : c[k * D + j];
)c";

Case kmeans(Session& s) {
  const std::int64_t n = s.extent(many), dims = 4, centres = s.extent(16);
  Case c = start(example("kmeans", "kmeans_step"), n);
  c.size = fmt::format("{}x{}, {}", c.size, dims, centres);
  c.inputs.push_back(uniform({n, dims}, 1));
  c.inputs.push_back(uniform({centres, dims}, 2));
  c.work = {as_double(n) * as_double(centres * (3 * dims + 1) + dims), 4 * as_double(n * dims),
            4 * as_double(centres * dims)};
  // A point in the middle between two centres may go to either.
  c.tolerance = 1e-5;
  c.reference = [=](std::span<const Data> in, std::vector<Data>& out) {
    const auto p = in[0].as<float>(), from = in[1].as<float>();
    const auto moved = out[0].as<float>();
    std::vector<double> total(from.size());
    std::vector<std::int64_t> count(static_cast<std::size_t>(centres));
    const auto d = static_cast<std::size_t>(dims);
    for (std::size_t i = 0; i < p.size(); i += d) {
      std::size_t near = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < count.size(); ++k) {
        double distance = 0;
        for (std::size_t j = 0; j < d; ++j) {
          const double difference = double(p[i + j]) - double(from[k * d + j]);
          distance += difference * difference;
        }
        if (distance < least) least = distance, near = k;
      }
      for (std::size_t j = 0; j < d; ++j) total[near * d + j] += p[i + j];
      ++count[near];
    }
    for (std::size_t e = 0; e < total.size(); ++e)
      moved[e] =
          count[e / d] > 0 ? static_cast<float>(total[e] / static_cast<double>(count[e / d])) : from[e];
  };
  c.peers.push_back(hand_loops(s, {}, kmeans_step, {n, dims, centres}));
  return c;
}

/// On one thread, and on all.
void add(std::vector<Entry>& entries, const std::string& name, const std::function<Case(Session&)>& make) {
  for (const int threads : {1, 0}) {
    entries.push_back(entry(name, [=](Session& s) {
      Case c = make(s);
      c.threads = threads;
      return c;
    }));
  }
}

}  // namespace

std::vector<Entry> collections_entries() {
  std::vector<Entry> entries;
  add(entries, "map filter fold", map_filter_fold);
  add(entries, "flatMap filter count", flat_map_filter_count);
  add(entries, "zip mean variance", zip_mean_variance);
  for (const std::int64_t keys : {10, 1'000, 1'000'000})
    add(entries, fmt::format("group sum, {} keys", count_text(keys)),
        [keys](Session& s) { return group_sum(s, keys); });
  add(entries, "tpch q1", pricing);
  add(entries, "tpch q6", revenue);
  add(entries, "kmeans step", kmeans);
  return entries;
}

}  // namespace twill::bench
