#include "plan/rooms.h"

namespace twill {

std::vector<std::size_t> rooms_of(std::span<const Life> lives,
                                  const std::function<bool(std::size_t one, std::size_t other)>& fits) {
  struct Room {
    std::size_t owner, last;
  };
  std::vector<Room> rooms;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    Room* mine = nullptr;
    for (Room& room : rooms)
      if (!mine && room.last < lives[i].first && fits(i, room.owner)) mine = &room;
    if (!mine) mine = &rooms.emplace_back(Room{i, 0});
    mine->last = lives[i].last;
    found.push_back(mine->owner);
  }
  return found;
}

}  // namespace twill
