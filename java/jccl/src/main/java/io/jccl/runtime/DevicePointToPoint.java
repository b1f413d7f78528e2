package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataType;
import java.util.List;

/** Sends and receives of device memory that run at the same time, as one launch. */
final class DevicePointToPoint extends DeviceOperation {

    private final long choice;
    private final int transferCount;
    private List<PointToPointOperation.Transfer> transfers;

    DevicePointToPoint(DeviceIssuer device, long stream, List<PointToPointOperation.Transfer> transfers, long choice) {
        super(device, stream);
        this.transfers = List.copyOf(transfers);
        this.transferCount = transfers.size();
        this.choice = choice;
    }

    @Override
    long execute(long timeoutNanos) {
        long[] tasks = PointToPointOperation.tasks(
                transfers, transfer -> transfer.buffer().address());
        return device().engine().runPointToPoint(tasks, timeoutNanos, stream());
    }

    @Override
    long executed() {
        return device().engine().adjustChoice(Signatures.of(Collective.ALL_TO_ALL, DataType.INT8, null), choice);
    }

    @Override
    String describe() {
        return PointToPointOperation.describe(transfers, transferCount);
    }

    @Override
    void release() {
        transfers = List.of();
    }
}
