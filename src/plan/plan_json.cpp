// Plans as JSON text, in both directions.
#include "base/error.h"
#include "plan/plan.h"

#include <nlohmann/json.hpp>

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
  }
  json["merges"] = Json::array();
  for (const Merge& m : cluster.merges) {
    json["merges"].push_back({{"instance", m.instance}, {"output", m.output}, {"how", name_of(m.how)}});
  }
  json["tiles"] = Json::array();
  for (const Tile& t : cluster.tiles)
    json["tiles"].push_back({{"instance", t.instance}, {"output", t.output}, {"loop", t.loop}});
  json["grain"] = cluster.grain;
  return json;
}

/// The value of an enum by its word.
template <class E>
E enum_of(const Json& json, int count, const char* what) {
  const std::string word = json.get<std::string>();
  for (int i = 0; i < count; ++i) {
    if (name_of(static_cast<E>(i)) == word) return static_cast<E>(i);
  }
  bad_plan("'" + word + "' is no " + what);
}

LoopTree tree_of(const Json& json) {
  LoopTree tree;
  for (const Json& item : json) {
    if (item.contains("run")) {
      tree.push_back(Leaf{item.at("run").get<int>()});
      continue;
    }
    Loop loop;
    for (const Json& axis : item.at("axes"))
      loop.axes.push_back({axis.at("instance").get<int>(), axis.at("dim").get<int>()});
    const bool parts = item.contains("parts");
    loop.cut = {parts ? Cut::Kind::Parts : Cut::Kind::Step,
                item.at(parts ? "parts" : "step").get<std::int64_t>()};
    loop.by = enum_of<By>(item.at("by"), 8, "way to run a loop");
    loop.body = tree_of(item.at("body"));
    tree.push_back(std::move(loop));
  }
  return tree;
}

Cluster cluster_of(const Json& json) {
  Cluster cluster;
  for (const Json& i : json.at("instances"))
    cluster.instances.push_back({i.at("stages").get<std::vector<std::string>>(), i.at("clone").get<int>()});
  cluster.loops = tree_of(json.at("loops"));
  for (const Json& s : json.at("stores")) {
    cluster.stores.push_back({s.at("instance").get<int>(), s.at("output").get<int>(),
                              enum_of<Keep>(s.at("keep"), 3, "way to keep an output"),
                              s.at("stream_above").get<std::int64_t>()});
  }
  for (const Json& m : json.at("merges")) {
    cluster.merges.push_back({m.at("instance").get<int>(), m.at("output").get<int>(),
                              enum_of<How>(m.at("how"), 2, "way to merge parts")});
  }
  for (const Json& t : json.at("tiles"))
    cluster.tiles.push_back(
        {t.at("instance").get<int>(), t.at("output").get<int>(), t.at("loop").get<int>()});
  cluster.grain = json.at("grain").get<std::int64_t>();
  return cluster;
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
  try {
    const Json json = Json::parse(text);
    Plan plan{json.at("program").get<std::string>(), json.at("machine").get<std::string>(), {}};
    for (const Json& block : json.at("blocks")) {
      BlockPlan block_plan{block.at("owner").get<std::string>(), block.at("branch").get<int>(), {}};
      for (const Json& cluster : block.at("clusters")) block_plan.clusters.push_back(cluster_of(cluster));
      plan.blocks.push_back(std::move(block_plan));
    }
    return plan;
  } catch (const Json::exception& error) {
    bad_plan(error.what());
  }
}

}  // namespace twill
