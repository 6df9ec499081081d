// Plans as JSON text, in both directions.
#include "base/error.h"
#include "plan/plan.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace twill {

namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void bad_plan(const std::string& message) {
  fail(Fault::User, "E0401", {}, "this is not a plan: " + message,
       "plans are written by `twill show --as plan`");
}

Json json_of(const LoopTree& tree);

Json json_of(const std::variant<Loop, Leaf>& item) {
  if (const Leaf* leaf = std::get_if<Leaf>(&item)) return {{"run", leaf->instance}};
  const Loop& loop = std::get<Loop>(item);
  Json axes = Json::array();
  for (const Axis& axis : loop.axes) axes.push_back({{"instance", axis.instance}, {"dim", axis.dim}});
  const char* cut = loop.cut.kind == Cut::Kind::Step ? "step" : "parts";
  return {{"axes", axes}, {cut, loop.cut.count}, {"by", name_of(loop.by)}, {"body", json_of(loop.body)}};
}

Json json_of(const LoopTree& tree) {
  Json list = Json::array();
  for (const auto& item : tree) list.push_back(json_of(item));
  return list;
}

Json json_of(const Cluster& cluster) {
  Json json;
  for (const Instance& i : cluster.instances)
    json["instances"].push_back({{"stages", i.stages}, {"clone", i.clone}});
  json["loops"] = json_of(cluster.loops);
  json["stores"] = Json::array();
  for (const Store& s : cluster.stores) {
    json["stores"].push_back({{"instance", s.instance},
                              {"output", s.output},
                              {"keep", name_of(s.keep)},
                              {"stream_above", s.stream_above}});
    if (!s.over.empty()) json["stores"].back()["over"] = s.over;
  }
  json["merges"] = Json::array();
  for (const Merge& m : cluster.merges) {
    json["merges"].push_back({{"instance", m.instance}, {"output", m.output}, {"how", name_of(m.how)}});
  }
  json["tiles"] = Json::array();
  for (const Tile& t : cluster.tiles)
    json["tiles"].push_back({{"instance", t.instance}, {"output", t.output}, {"loop", t.loop}});
  json["ahead"] = Json::array();
  for (const Ahead& a : cluster.ahead) {
    json["ahead"].push_back(
        {{"instance", a.instance}, {"dim", a.dim}, {"points", a.points}, {"above", a.above}});
  }
  json["grain"] = cluster.grain;
  return json;
}

// ---- from JSON: every value is asked for by its key, and what is wrong is said with the key

const Json& member(const Json& json, const char* key) {
  if (!json.is_object()) bad_plan(fmt::format("'{}' is looked for in something that is no object", key));
  const auto found = json.find(key);
  if (found == json.end()) bad_plan(fmt::format("the key '{}' is missing", key));
  return *found;
}

const Json& list(const Json& json, const char* key) {
  const Json& held = member(json, key);
  if (!held.is_array()) bad_plan(fmt::format("'{}' must be a list", key));
  return held;
}

std::string text_of(const Json& json, const char* key) {
  const Json& held = member(json, key);
  if (!held.is_string()) bad_plan(fmt::format("'{}' must be a string", key));
  return held.get<std::string>();
}

template <class Integer = int>
Integer integer(const Json& json, const char* key) {
  const Json& held = member(json, key);
  const bool fits = held.is_number_integer() && std::in_range<Integer>(held.get<std::int64_t>()) &&
                    (!held.is_number_unsigned() || std::in_range<Integer>(held.get<std::uint64_t>()));
  if (!fits) bad_plan(fmt::format("'{}' must be an integer", key));
  return held.get<Integer>();
}

/// The value of an enum by its word.
template <class E>
E enum_of(const Json& json, const char* key, int count, const char* what) {
  const std::string word = text_of(json, key);
  for (int i = 0; i < count; ++i) {
    if (name_of(static_cast<E>(i)) == word) return static_cast<E>(i);
  }
  bad_plan("'" + word + "' is no " + what);
}

LoopTree tree_of(const Json& json, const char* key) {
  LoopTree tree;
  for (const Json& item : list(json, key)) {
    if (item.contains("run")) {
      tree.push_back(Leaf{integer(item, "run")});
      continue;
    }
    Loop loop;
    for (const Json& axis : list(item, "axes"))
      loop.axes.push_back({integer(axis, "instance"), integer(axis, "dim")});
    const bool parts = item.contains("parts");
    loop.cut = {parts ? Cut::Kind::Parts : Cut::Kind::Step,
                integer<std::int64_t>(item, parts ? "parts" : "step")};
    loop.by = enum_of<By>(item, "by", 8, "way to run a loop");
    loop.body = tree_of(item, "body");
    tree.push_back(std::move(loop));
  }
  return tree;
}

Instance instance_of(const Json& json) {
  Instance instance;
  for (const Json& stage : list(json, "stages")) {
    if (!stage.is_string()) bad_plan("'stages' must be a list of names");
    instance.stages.push_back(stage.get<std::string>());
  }
  instance.clone = integer(json, "clone");
  return instance;
}

Cluster cluster_of(const Json& json) {
  Cluster cluster;
  for (const Json& i : list(json, "instances")) cluster.instances.push_back(instance_of(i));
  cluster.loops = tree_of(json, "loops");
  for (const Json& s : list(json, "stores")) {
    cluster.stores.push_back(
        {integer(s, "instance"), integer(s, "output"), enum_of<Keep>(s, "keep", 4, "way to keep an output"),
         integer<std::int64_t>(s, "stream_above"), s.contains("over") ? text_of(s, "over") : ""});
  }
  for (const Json& m : list(json, "merges")) {
    cluster.merges.push_back(
        {integer(m, "instance"), integer(m, "output"), enum_of<How>(m, "how", 2, "way to merge parts")});
  }
  for (const Json& t : list(json, "tiles"))
    cluster.tiles.push_back({integer(t, "instance"), integer(t, "output"), integer(t, "loop")});
  for (const Json& a : list(json, "ahead")) {
    cluster.ahead.push_back({integer(a, "instance"), integer(a, "dim"), integer<std::int64_t>(a, "points"),
                             integer<std::int64_t>(a, "above")});
  }
  cluster.grain = integer<std::int64_t>(json, "grain");
  return cluster;
}

Json json_from(const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t before = std::min(error.byte, text.size());
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(before), '\n') + 1;
    bad_plan(fmt::format("it is no JSON from line {} on", line));
  }
}

}  // namespace

std::string to_json(const Plan& plan) {
  Json json{{"program", plan.program}, {"machine", plan.machine}, {"blocks", Json::array()}};
  for (const BlockPlan& block : plan.blocks) {
    Json clusters = Json::array();
    for (const Cluster& cluster : block.clusters) clusters.push_back(json_of(cluster));
    json["blocks"].push_back(
        {{"owner", block.owner}, {"branch", block.branch}, {"clusters", std::move(clusters)}});
  }
  return json.dump(1) + "\n";
}

Plan plan_from_json(const std::string& text) {
  const Json json = json_from(text);
  Plan plan{text_of(json, "program"), text_of(json, "machine"), {}};
  for (const Json& block : list(json, "blocks")) {
    BlockPlan block_plan{text_of(block, "owner"), integer(block, "branch"), {}};
    for (const Json& cluster : list(block, "clusters")) block_plan.clusters.push_back(cluster_of(cluster));
    plan.blocks.push_back(std::move(block_plan));
  }
  return plan;
}

}  // namespace twill
