// Lets another library put work on an emulated stream, as a library with kernels of its own does on a GPU. Libraries with
// the emulated driver export the function, so that a fake of such a library finds it by its name.
#pragma once

extern "C" {

// Calls work(data) again and again, in the order of the stream, until it returns a value other than 0. In a graph it does
// so at each replay. Returns 0 if the stream took the work.
using JcclHostWork = int (*)(void* data);
__attribute__((visibility("default"))) int jccl_emulated_host_work(void* stream, JcclHostWork work, void* data);
}
