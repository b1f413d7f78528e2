package io.jccl.runtime;

import io.jccl.ChannelWait;
import java.util.List;

/**
 * The records of a rank at one moment, for a dump.
 *
 * @param nanoTime the moment, by {@link System#nanoTime}
 * @param wallNanos the moment in nanoseconds since 1970, by the system's clock
 * @param operations the last collectives on host memory, oldest first
 * @param deviceOperations the last collectives on device memory, oldest first
 * @param transfers the last sends and receives of host memory, oldest first
 * @param deviceTransfers the last sends and receives of device memory, oldest first
 * @param waits the channels whose wait has become long
 * @param messages the messages that are not over, oldest first
 */
record Snapshot(
        long nanoTime,
        long wallNanos,
        List<RecordedOperation> operations,
        List<RecordedOperation> deviceOperations,
        List<RecordedTransfers> transfers,
        List<RecordedTransfers> deviceTransfers,
        List<ChannelWait> waits,
        List<OutstandingMessage> messages) {}
