// Tests of descriptor offers: file descriptors that processes exchange.
#include "transport/descriptor_offer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/fd.h"

namespace jccl::descriptor_offer_test {
namespace {

constexpr const char* kName = "jccl-offer-test";

UniqueFd makeMemory(char content) {
  UniqueFd fd(::memfd_create(kName, MFD_CLOEXEC));
  EXPECT_EQ(1, ::write(fd.get(), &content, 1));
  return fd;
}

char contentOf(const UniqueFd& fd) {
  char content = 0;
  EXPECT_EQ(1, ::pread(fd.get(), &content, 1, 0));
  return content;
}

int openDescriptors() {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry, gone);
    found += target.string().find(kName) != std::string::npos ? 1 : 0;
  }
  return found;
}

TEST(DescriptorOfferTest, AnotherProcessGetsTheSameMemoryUntilTheOfferIsWithdrawn) {
  int wire[2], go[2];
  ASSERT_EQ(0, ::pipe(wire));
  ASSERT_EQ(0, ::pipe(go));
  const pid_t child = ::fork();
  if (child == 0) {
    DescriptorOffer::Wire offered;
    char byte = 0;
    if (::read(wire[0], offered.data(), offered.size()) != static_cast<ssize_t>(offered.size())) ::_exit(2);
    UniqueFd fd;
    if (!DescriptorOffer::fetch(offered, fd)) ::_exit(3);
    if (::pread(fd.get(), &byte, 1, 0) != 1 || byte != 'a') ::_exit(4);
    if (::pwrite(fd.get(), "b", 1, 0) != 1 || ::write(go[1], "x", 1) != 1) ::_exit(5);
    // The parent withdraws the offer and then writes this byte.
    if (::read(wire[0], &byte, 1) != 1) ::_exit(6);
    UniqueFd late;
    ::_exit(DescriptorOffer::fetch(offered, late) || late ? 7 : 0);
  }
  UniqueFd memory = makeMemory('a');
  const UniqueFd watched(::dup(memory.get()));
  std::unique_ptr<DescriptorOffer> offer;
  ASSERT_TRUE(DescriptorOffer::make(std::move(memory), offer).isOk());
  const DescriptorOffer::Wire offered = offer->wire();
  ASSERT_EQ(static_cast<ssize_t>(offered.size()), ::write(wire[1], offered.data(), offered.size()));
  char byte = 0;
  ASSERT_EQ(1, ::read(go[0], &byte, 1));
  EXPECT_EQ('b', contentOf(watched));
  offer.reset();
  EXPECT_EQ(1, openDescriptors()) << "only the watched one remains";
  ASSERT_EQ(1, ::write(wire[1], "x", 1));
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, WEXITSTATUS(status));
  for (int end : {wire[0], wire[1], go[0], go[1]}) ::close(end);
}

TEST(DescriptorOfferTest, ThisProcessGetsADescriptorOfItsOwn) {
  std::unique_ptr<DescriptorOffer> offer;
  ASSERT_TRUE(DescriptorOffer::make(makeMemory('c'), offer).isOk());
  UniqueFd fd;
  ASSERT_TRUE(DescriptorOffer::fetch(offer->wire(), fd).isOk());
  EXPECT_EQ('c', contentOf(fd));
  const DescriptorOffer::Wire offered = offer->wire();
  std::unique_ptr<DescriptorOffer> other;  // keeps the server running when `offer` is gone
  ASSERT_TRUE(DescriptorOffer::make(makeMemory('d'), other).isOk());
  offer.reset();
  const Status late = DescriptorOffer::fetch(offered, fd);
  EXPECT_NE(std::string::npos, late.message().find("this process no longer offers it")) << late.message();
  fd.reset();
  other.reset();
  EXPECT_EQ(0, openDescriptors());
}

TEST(DescriptorOfferTest, InvalidDescriptorsAndOffersAreRefused) {
  std::unique_ptr<DescriptorOffer> offer;
  EXPECT_EQ(Code::Invalid, DescriptorOffer::make(UniqueFd(), offer).code());
  ASSERT_TRUE(DescriptorOffer::make(makeMemory('e'), offer).isOk());
  DescriptorOffer::Wire offered = offer->wire();
  UniqueFd fd;
  EXPECT_EQ(Code::Transport, DescriptorOffer::fetch(std::span(offered).first(55), fd).code());
  offered[0] ^= 1;
  EXPECT_EQ(Code::Transport, DescriptorOffer::fetch(offered, fd).code());
  EXPECT_FALSE(fd);
}

}  // namespace
}  // namespace jccl::descriptor_offer_test
