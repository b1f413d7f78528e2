package io.jccl.runtime;

import io.jccl.ChannelWait;
import java.util.List;

/**
 * What a rank remembers at one moment.
 *
 * @param nanoTime the moment, by {@link System#nanoTime}
 * @param wallNanos the same since 1970, by the system's clock
 * @param operations the last collectives on memory of the host, in their order
 * @param deviceOperations the same on a device
 * @param transfers the last sends and receives of memory of the host
 * @param deviceTransfers the same on a device
 * @param waits channels whose waits are long
 */
record Snapshot(
        long nanoTime,
        long wallNanos,
        List<RecordedOperation> operations,
        List<RecordedOperation> deviceOperations,
        List<RecordedTransfers> transfers,
        List<RecordedTransfers> deviceTransfers,
        List<ChannelWait> waits) {}
