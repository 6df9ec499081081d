// Work in a process of its own, so that a crash or a hang is a result like any other.
#include "base/isolate.h"

#include "base/error.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace twill {

namespace {

void write_all(int pipe, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(pipe, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

constexpr const char* fewer_processes =
    "too many processes or open files: end some; `twill fuzz` starts fewer with --jobs 1";

}  // namespace

Isolation::Isolation(const std::function<std::string()>& work, std::chrono::seconds patience)
    : deadline_(std::chrono::steady_clock::now() + patience), patience_(patience) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    fail(Fault::System, "E0617", {}, std::string("no pipe to another process: ") + std::strerror(errno),
         fewer_processes);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    fail(Fault::System, "E0617", {}, std::string("no other process: ") + std::strerror(errno),
         fewer_processes);
  }
  if (process_ == 0) {
    // A group of its own, so that compilers it has started end with it; and it ends with who waits for it.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::close(ends[0]);
    std::string text;
    try {
      text = work();
    } catch (const std::exception& error) {
      text = std::string("exception: ") + error.what();
    }
    write_all(ends[1], text);
    ::close(ends[1]);
    ::_exit(0);
  }
  ::setpgid(process_, process_);  // whoever is first: the group exists when its end is asked for
  ::close(ends[1]);
  pipe_ = ends[0];
}

Isolation::Isolation(Isolation&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      deadline_(other.deadline_),
      patience_(other.patience_),
      result_(std::move(other.result_)) {}

Isolation::~Isolation() {
  if (process_ > 0) end(true);
}

bool Isolation::collect() {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
  pollfd waiting{pipe_, POLLIN, 0};
  const int ready = ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
  if (ready < 0 && errno == EINTR) return false;
  if (ready == 0) {
    end(true);
    return true;
  }
  char buffer[4096];
  const ssize_t count = ::read(pipe_, buffer, sizeof buffer);
  if (count > 0) {
    result_.text.append(buffer, static_cast<std::size_t>(count));
    return false;
  }
  if (count < 0 && errno == EINTR) return false;
  end(false);
  return true;
}

void Isolation::end(bool too_late) {
  if (too_late) ::kill(-process_, SIGKILL);
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {}
  ::close(pipe_);
  process_ = pipe_ = -1;
  result_.late = too_late;
  if (too_late)
    result_.died = "no end after " + std::to_string(patience_.count()) + " s";
  else if (WIFSIGNALED(status))
    result_.died = "signal " + std::to_string(WTERMSIG(status)) + " (" + ::strsignal(WTERMSIG(status)) + ")";
  else if (WEXITSTATUS(status) != 0)
    result_.died = "exit status " + std::to_string(WEXITSTATUS(status));
}

Isolated Isolation::wait() {
  while (!collect()) {}
  return result_;
}

}  // namespace twill
