// Hash tables of groups in C, one for each type of key.
#include "emit/c_table.h"

namespace twill {

namespace {

/// Field by field: the bytes between them are arbitrary.
void compare_and_mix(const std::string& a, const std::string& b, const Type& type, std::string& equal,
                     std::string& mix) {
  if (type.is_scalar()) {
    equal += (equal.empty() ? "" : " && ") + a + " == " + b;
    mix += "  h = twill_mix(h, (uint64_t)" + a + ");\n";
    return;
  }
  for (const Field& field : type.record().fields)
    compare_and_mix(a + "." + c_field(field.name), b + "." + c_field(field.name), field.type, equal, mix);
}

}  // namespace

std::string table_lookup(const std::string& function, const Type& key, CContext& context) {
  const std::string type = context.names.type(key);
  const std::string add = context.names.fresh(function + "_new"),
                    widen = context.names.fresh(function + "_widen");
  std::string equal, mix, equal_unused, mix_stored;
  compare_and_mix("key", "(*keys)[slot - 1]", key, equal, mix);
  compare_and_mix("keys[k]", "key", key, equal_unused, mix_stored);
  std::string indented;
  for (std::size_t at = 0; at < mix_stored.size();) {
    const std::size_t end = mix_stored.find('\n', at) + 1;
    indented += "  " + mix_stored.substr(at, end - at);
    at = end;
  }
  const std::string parameters = "(twill_frame *frame, twill_table *table, " + type +
                                 " **keys, int64_t *room, int64_t *count, " + type + " key";
  return "static bool " + widen + "(twill_frame *frame, twill_table *table, const " + type +
         " *keys, int64_t count) {\n"
         "  twill_table wide;\n"
         "  if (!twill_start_table(frame, &wide, 2 * table->size)) return false;\n"
         "  for (int64_t k = 0; k < count; ++k) {\n"
         "    uint64_t h = 0;\n" +
         indented +
         "    int64_t at = (int64_t)(h >> wide.shift);\n"
         "    while (wide.slots[at]) at = (at + 1) & (wide.size - 1);\n"
         "    wide.slots[at] = k + 1;\n"
         "  }\n"
         "  twill_free(frame, table->slots);\n"
         "  *table = wide;\n"
         "  return true;\n"
         "}\n"
         "static __attribute__((noinline)) int64_t " +
         add + parameters +
         ", int64_t at) {\n"
         "  if (*count == *room) {\n"
         "    " +
         type + " *more = twill_grow(frame, *keys, room, sizeof(" + type +
         "));\n"
         "    if (!more) return -1;\n"
         "    *keys = more;\n"
         "  }\n"
         "  (*keys)[*count] = key;\n"
         "  table->slots[at] = ++*count;\n"
         "  if (2 * *count > table->size && !" +
         widen +
         "(frame, table, *keys, *count)) return -1;\n"
         "  return *count - 1;\n"
         "}\n"
         "static inline int64_t " +
         function + parameters +
         ") {\n"
         "  uint64_t h = 0;\n" +
         mix +
         "  int64_t at = (int64_t)(h >> table->shift);\n"
         "  for (int64_t slot = table->slots[at]; slot; slot = table->slots[at]) {\n"
         "    if (" +
         equal +
         ") return slot - 1;\n"
         "    at = (at + 1) & (table->size - 1);\n"
         "  }\n"
         "  return " +
         add +
         "(frame, table, keys, room, count, key, at);\n"
         "}\n\n";
}

}  // namespace twill
