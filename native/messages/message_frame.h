// The frames of messages that ranks exchange. docs/messages.md draws the frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace jccl {

// A frame is this header, then data if the kind has data.
struct MessageFrame {
  enum class Kind : uint32_t {
    Eager = 1,        // a message: `bytes` bytes of data
    Offer = 2,        // a message of `bytes` bytes that the sender keeps; Take and Taken name it by `number`
    OfferHere = 3,    // like Offer; a receiver in the sender's process finds the message by `number` (MemoryOffers)
    OfferShared = 4,  // like Offer; a receiver on this host finds it at offset `place` of the segment in the data (u64)
    Take = 5,         // send the data of the offer `number`, after that of earlier offers
    Data = 6,         // part of the data of the first Take that is not complete
    Taken = 7,        // the offer `number` is over: its data has been copied, or is not wanted
    Credit = 8        // eager messages of `bytes` bytes, overhead included, no longer take memory of the receiver
  };

  Kind kind = Kind::Eager;
  int32_t tag = 0;
  uint64_t bytes = 0;
  uint64_t number = 0;
  uint64_t place = 0;
};
static_assert(sizeof(MessageFrame) == 32 && std::is_trivially_copyable_v<MessageFrame>);

// Check word of every frame over a network, "MESS". No operation uses the connections of messages.
inline constexpr uint32_t kMessageFrameCheck = 0x4d455353;
// Check word of part number `number` of the data that leaves straight from user memory: no frame. Numbers of a
// connection are consecutive, so that the receiver can post the place of a part before the part arrives.
constexpr uint32_t messageDataCheck(uint64_t number) { return 0x50000000 | static_cast<uint32_t>(number & 0xffffff); }

// The data of a frame in a slot begins at this offset, so that aligned data stays aligned.
inline constexpr size_t kMessageFrameBytes = 64;
static_assert(kMessageFrameBytes >= sizeof(MessageFrame));

}  // namespace jccl
