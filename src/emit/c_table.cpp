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
  std::string equal, mix, equal_unused, mix_stored;
  compare_and_mix("key", "(*keys)[slot - 1]", key, equal, mix);
  compare_and_mix("(*keys)[k]", "key", key, equal_unused, mix_stored);
  std::string indented;
  for (std::size_t at = 0; at < mix_stored.size();) {
    const std::size_t end = mix_stored.find('\n', at) + 1;
    indented += "    " + mix_stored.substr(at, end - at);
    at = end;
  }
  return "static int64_t " + function + "(twill_frame *frame, twill_table *table, " + type +
         " **keys, int64_t *room, int64_t *count, " + type +
         " key) {\n"
         "  if (2 * (*count + 1) > table->size) {\n"
         "    const int64_t size = table->size > 0 ? 2 * table->size : 64;\n"
         "    int64_t *slots = twill_allocate(frame, sizeof(int64_t), size);\n"
         "    if (!slots) return -1;\n"
         "    memset(slots, 0, (size_t)size * sizeof(int64_t));\n"
         "    for (int64_t k = 0; k < *count; ++k) {\n"
         "      uint64_t h = 0;\n" +
         indented +
         "      int64_t at = (int64_t)(h & (uint64_t)(size - 1));\n"
         "      while (slots[at]) at = (at + 1) & (size - 1);\n"
         "      slots[at] = k + 1;\n"
         "    }\n"
         "    twill_free(frame, table->slots);\n"
         "    table->slots = slots;\n"
         "    table->size = size;\n"
         "  }\n"
         "  uint64_t h = 0;\n" +
         mix +
         "  int64_t at = (int64_t)(h & (uint64_t)(table->size - 1));\n"
         "  for (int64_t slot = table->slots[at]; slot; slot = table->slots[at]) {\n"
         "    if (" +
         equal +
         ") return slot - 1;\n"
         "    at = (at + 1) & (table->size - 1);\n"
         "  }\n"
         "  if (*count == *room) {\n"
         "    " +
         type + " *more = twill_grow(frame, *keys, room, sizeof(" + type +
         "));\n"
         "    if (!more) return -1;\n"
         "    *keys = more;\n"
         "  }\n"
         "  (*keys)[*count] = key;\n"
         "  table->slots[at] = *count + 1;\n"
         "  return (*count)++;\n"
         "}\n\n";
}

}  // namespace twill
