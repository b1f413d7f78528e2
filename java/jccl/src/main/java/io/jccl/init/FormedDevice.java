package io.jccl.init;

import io.jccl.nativelib.DeviceEngine;
import io.jccl.tuning.ChoiceTable;

/**
 * A communicator's part on a GPU.
 *
 * @param ordinal the device's number in this process
 * @param engine connected and ready for operations
 * @param choices how each operation on device memory is carried out
 */
public record FormedDevice(int ordinal, DeviceEngine engine, ChoiceTable choices) {}
