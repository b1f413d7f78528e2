// The frames of one-sided operations that ranks of different hosts exchange. docs/windows.md draws the frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace jccl {

// A frame is the data of one SIMPLE slot: this header, then `bytes` bytes of data if the kind has data.
struct WindowFrame {
  enum class Kind : uint32_t {
    Put = 1,    // store the data at `offset` of the window, then raise the signal
    Get = 2,    // answer with `bytes` bytes at `offset` of the window
    Reply = 3,  // part of the answer to get number `number`; `offset`: position of the data in the answer
    Flush = 4,  // acknowledge that all earlier frames have been applied
    Flushed = 5,
    Add = 6,    // add the 8 bytes of data to the number at `offset`, and answer with the previous number
    Ask = 7,    // answer with the place of the window, into which the sender's adapter is to write
    Place = 8,  // answer to Ask: `offset` is the address of the window and `number` its key; 0 and 0: send frames
    Data = 9    // like Put, but the data follows in messages of its own (windowDataCheck), as parts in their order
  };
  static constexpr uint32_t kNoSignal = ~uint32_t{0};

  Kind kind = Kind::Put;
  uint32_t window = 0;          // number of the window
  uint32_t signal = kNoSignal;  // Put and Data: id of the signal that follows the data
  uint32_t unused = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t number = 0;  // number of the get, add or flush; the sender of the request chooses it
};
static_assert(sizeof(WindowFrame) == 40 && std::is_trivially_copyable_v<WindowFrame>);

// Check word of every frame, "WIND". No operation uses the connections of windows.
inline constexpr uint32_t kWindowFrameCheck = 0x57494e44;
// Check word of data that an adapter has written into the window, "WRIT". It is no frame.
inline constexpr uint32_t kWindowWrittenCheck = 0x57524954;

// Check word of message number `number` of the data that frames of kind Data announce: no frame. Numbers of a connection
// are consecutive, so that the receiver can post the place of a message before the message arrives.
constexpr uint32_t windowDataCheck(uint64_t number) { return 0x44000000 | static_cast<uint32_t>(number & 0xffffff); }

// The data of a frame begins at this offset, so that aligned data stays aligned.
inline constexpr size_t kWindowFrameBytes = 64;
static_assert(kWindowFrameBytes >= sizeof(WindowFrame));

}  // namespace jccl
