//===- EmitVariant.cpp - a planned module -> object bytes -----------------------------------------------===//

#include "compiler/pipeline/EmitVariant.h"

#include "codegen/cpu/Emit.h"
#include "codegen/cpu/ModuleTables.h"
#include "codegen/cpu/ObjectEmitter.h"
#include "codegen/ref/RefEmit.h"
#include "codegen/target/Targets.h"
#include "dialects/rt/Rt.h"
#include "dialects/tile/Tile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace ingot::pipeline {
namespace {

/// The reference is compiled for what every supported machine has.
const target::Target &targetOf(StringRef isa) {
  const target::Target *target = target::findTarget(isa == "ref" ? "avx2" : isa);
  assert(target && "targets were checked when the compile was set up");
  return *target;
}

mlir::LogicalResult emitOneKernel(tile::KernelOp kernel, mlir::ModuleOp into, StringRef isa,
                                  int64_t positions, cpu::KernelFacts &facts) {
  if (isa == "ref")
    return ref::emitKernel(kernel, into, targetOf(isa), positions, facts);
  return cpu::emitKernel(kernel, into, targetOf(isa), facts);
}

using Clock = std::chrono::steady_clock;

/// Seconds of a child by kernel, in the module's order, and of what is done for all at once.
struct ChildTimes {
  double total = 0, build = 0, lower = 0, optimize = 0, generate = 0;
  struct Kernel {
    double build = 0, optimize = 0, generate = 0;
  };
  std::vector<Kernel> kernels;
};

/// The kernel `only`, or all of them and, where the module has programs, its tables.
mlir::LogicalResult emitModule(mlir::ModuleOp planned, StringRef isa, std::optional<StringRef> only,
                               SmallVectorImpl<char> &bytes, uint64_t &scratchBytes, ChildTimes &times) {
  Clock::time_point begin = Clock::now();
  auto since = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  mlir::OwningOpRef<mlir::ModuleOp> code = mlir::ModuleOp::create(planned.getLoc());
  auto facts = planned.getOps<rt::ModuleOp>();
  bool whole = !facts.empty();
  int64_t positions = whole ? (*facts.begin()).getPositions() : 0;
  llvm::StringMap<cpu::KernelFacts> kernelFacts;
  for (auto kernel : planned.getOps<tile::KernelOp>()) {
    if (only && kernel.getSymName() != *only)
      continue;
    cpu::KernelFacts needed;
    Clock::time_point kernelBegin = Clock::now();
    if (mlir::failed(emitOneKernel(kernel, *code, isa, positions, needed)))
      return mlir::failure();
    times.kernels.push_back({since(kernelBegin)});
    kernelFacts[kernel.getSymName()] = needed;
    scratchBytes = std::max<uint64_t>(scratchBytes, needed.scratchBytes);
  }
  if (!only && whole && mlir::failed(cpu::emitModuleTables(planned, *code, kernelFacts, targetOf(isa), isa)))
    return mlir::failure();
  times.build = since(begin);
  cpu::EmitTimes emitted;
  cpu::EmitOptions options;
  options.times = &emitted;
  if (mlir::failed(cpu::emitObject(*code, targetOf(isa), bytes, options)))
    return mlir::failure();
  times.lower = emitted.lower;
  times.optimize = emitted.optimize;
  times.generate = emitted.generate;
  size_t i = 0;
  for (auto kernel : planned.getOps<tile::KernelOp>()) {
    if (only && kernel.getSymName() != *only)
      continue;
    times.kernels[i].optimize = emitted.optimizeOf.lookup(kernel.getSymName());
    times.kernels[i++].generate = emitted.generateOf.lookup(kernel.getSymName());
  }
  times.total = since(begin);
  return mlir::success();
}

/// A file that the child fills and the parent reads: first byte 1 for code, 0 for an error text.
class Outbox {
public:
  Outbox() : fd(::memfd_create("ingot-object", MFD_CLOEXEC)) {}
  Outbox(Outbox &&other) : fd(std::exchange(other.fd, -1)) {}
  ~Outbox() {
    if (fd >= 0)
      ::close(fd);
  }
  bool valid() const { return fd >= 0; }
  bool write(const void *data, size_t size) {
    const char *bytes = static_cast<const char *>(data);
    while (size) {
      ssize_t n = ::write(fd, bytes, size);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return false;
      bytes += n;
      size -= n;
    }
    return true;
  }
  std::vector<char> read() const {
    off_t size = ::lseek(fd, 0, SEEK_END);
    std::vector<char> bytes(std::max<off_t>(size, 0));
    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t n = ::pread(fd, bytes.data() + done, bytes.size() - done, done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        break;
      done += n;
    }
    bytes.resize(done);
    return bytes;
  }

private:
  int fd;
};

struct Child {
  pid_t pid = -1;
  Outbox outbox;
  int status = 0;
  bool running = false;
  uint64_t peakBytes = 0;
};

/// What a child hands over before the object's bytes: five sums, then three times for each kernel.
constexpr size_t sums = 5, perKernel = 3;

std::vector<double> flat(const ChildTimes &times) {
  std::vector<double> values = {times.total, times.build, times.lower, times.optimize, times.generate};
  for (const ChildTimes::Kernel &kernel : times.kernels)
    values.insert(values.end(), {kernel.build, kernel.optimize, kernel.generate});
  return values;
}

/// Forks; the child emits and ends.
bool start(Child &child, mlir::ModuleOp module, StringRef isa, std::optional<StringRef> only) {
  if (!child.outbox.valid())
    return false;
  pid_t parent = ::getpid();
  child.pid = ::fork();
  if (child.pid < 0)
    return false;
  if (child.pid > 0) {
    child.running = true;
    return true;
  }
  // Whoever ends the compile, even by SIGKILL, ends its children.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    ::_exit(1);
  // What LLVM prints before it gives up goes to the error text of the parent by way of the status alone.
  for (int signal : {SIGABRT, SIGSEGV, SIGILL, SIGBUS, SIGFPE})
    ::signal(signal, SIG_DFL);
  std::string text;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    raw_string_ostream stream(text);
    if (!text.empty())
      stream << "\n";
    stream << diagnostic.getLocation() << ": " << diagnostic.str();
    return mlir::success();
  });
  SmallVector<char, 0> bytes;
  uint64_t scratch = 0;
  ChildTimes times;
  char ok = mlir::succeeded(emitModule(module, isa, only, bytes, scratch, times));
  bool written = child.outbox.write(&ok, 1);
  std::vector<double> values = flat(times);
  if (ok)
    written = written && child.outbox.write(&scratch, sizeof(scratch)) &&
              child.outbox.write(values.data(), values.size() * sizeof(double)) &&
              child.outbox.write(bytes.data(), bytes.size());
  else
    written = written && child.outbox.write(text.data(), text.size());
  ::_exit(written ? 0 : 1);
}

void wait(Child &child) {
  struct rusage usage = {};
  while (::wait4(child.pid, &child.status, 0, &usage) < 0 && errno == EINTR)
    ;
  child.peakBytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  child.running = false;
}

std::string outcome(int status) {
  if (WIFSIGNALED(status))
    return std::string("the code generator ended with ") + ::strsignal(WTERMSIG(status));
  return "the code generator ended with exit status " + std::to_string(WEXITSTATUS(status));
}

/// Step and parameter of a kernel's first launch.
std::string useOf(mlir::ModuleOp module, StringRef kernel) {
  for (auto program : module.getOps<rt::ProgramOp>())
    for (rt::StageOp stage : rt::stagesOf(program))
      for (auto launch : stage.block().getOps<rt::LaunchOp>()) {
        if (launch.getKernel() != kernel)
          continue;
        std::string text = "rows " + std::to_string(program.getMinRows()) + ".." +
                           std::to_string(program.getMaxRows()) + ", layer " +
                           std::to_string(launch.getLayer());
        if (!launch.getWeights().empty())
          text += ", " + cast<mlir::FlatSymbolRefAttr>(launch.getWeights()[0]).getValue().str();
        return text;
      }
  return "not launched";
}

EmitCost costOf(mlir::ModuleOp module, StringRef isa, ArrayRef<double> times, uint64_t peakBytes,
                ArrayRef<char> object) {
  EmitCost cost;
  cost.isa = isa.str();
  cost.seconds = times[0];
  cost.build = times[1];
  cost.lower = times[2];
  cost.optimize = times[3];
  cost.generate = times[4];
  cost.objectBytes = object.size();
  cost.peakBytes = peakBytes;
  llvm::StringMap<uint64_t> code = cpu::codeBytes(object);
  times = times.drop_front(sums);
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    StringRef name = kernel.getSymName();
    cost.kernels.push_back({name.str(), tile::stringifyFamily(kernel.getFamily()).str(), useOf(module, name),
                            times[0], times[1], times[2], code.lookup(name)});
    times = times.drop_front(perKernel);
  }
  return cost;
}

/// Emits one kernel after the other to find the one that ends the process.
Error blame(mlir::ModuleOp module, StringRef isa, int status) {
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    Child child;
    if (!start(child, module, isa, kernel.getSymName()))
      break;
    wait(child);
    if (!WIFEXITED(child.status) || WEXITSTATUS(child.status) != 0)
      return createStringError(inconvertibleErrorCode(), "target %s: kernel %s: %s", isa.str().c_str(),
                               kernel.getSymName().str().c_str(), outcome(child.status).c_str());
  }
  return createStringError(inconvertibleErrorCode(), "target %s: %s", isa.str().c_str(),
                           outcome(status).c_str());
}

} // namespace

Expected<std::vector<EmittedVariant>> emitVariants(ArrayRef<std::pair<std::string, mlir::ModuleOp>> modules,
                                                   const CompileOptions &options) {
  std::vector<Child> children(modules.size());
  auto progress = [&](size_t done) {
    if (options.onProgress)
      options.onProgress({"compiling kernels", "variants", done, modules.size()});
  };
  progress(0);
  size_t started = 0, finished = 0, window = std::max(1u, options.threads);
  bool refused = false;
  while (finished < modules.size() && !refused) {
    while (started < modules.size() && started - finished < window && !refused) {
      refused = !start(children[started], modules[started].second, modules[started].first, std::nullopt);
      ++started;
    }
    if (!refused) {
      wait(children[finished++]);
      progress(finished);
    }
  }
  for (Child &child : children)
    if (child.running)
      wait(child);
  if (refused)
    return createStringError(std::error_code(errno, std::generic_category()),
                             "cannot start the code generator");

  std::vector<EmittedVariant> result;
  for (auto [child, module] : zip(children, modules)) {
    std::vector<char> bytes = child.outbox.read();
    if (!WIFEXITED(child.status) || WEXITSTATUS(child.status) != 0 || bytes.empty())
      return blame(module.second, module.first, child.status);
    if (!bytes.front())
      return createStringError(inconvertibleErrorCode(), "%s",
                               std::string(bytes.begin() + 1, bytes.end()).c_str());
    EmittedVariant variant;
    variant.code.isa = module.first;
    mlir::ModuleOp planned = module.second;
    auto kernels = planned.getOps<tile::KernelOp>();
    std::vector<double> times(sums + perKernel * std::distance(kernels.begin(), kernels.end()));
    size_t head = 1 + sizeof(uint64_t) + times.size() * sizeof(double);
    assert(bytes.size() >= head && "the child ended well");
    std::memcpy(&variant.scratchBytes, bytes.data() + 1, sizeof(uint64_t));
    std::memcpy(times.data(), bytes.data() + 1 + sizeof(uint64_t), times.size() * sizeof(double));
    variant.code.bytes.assign(bytes.begin() + head, bytes.end());
    variant.cost = costOf(planned, module.first, times, child.peakBytes, variant.code.bytes);
    result.push_back(std::move(variant));
  }
  return result;
}

} // namespace ingot::pipeline
