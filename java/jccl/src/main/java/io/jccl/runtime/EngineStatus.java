package io.jccl.runtime;

import io.jccl.ChannelWait;
import io.jccl.Collective;
import io.jccl.RankOperation;
import io.jccl.control.OperationRecord;
import io.jccl.control.StatusSource;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.Engine;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.Numbers;
import io.jccl.nativelib.Rows;
import io.jccl.status.CommunicatorView;
import io.jccl.wire.LastEntered;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reports the last operations of this rank's native engines, and the waits of their channels, to the coordinator. */
final class EngineStatus implements StatusSource {

    private final int rank;
    private final NativeEngine engine;
    private final Optional<DeviceEngine> device;

    EngineStatus(int rank, NativeEngine engine, Optional<DeviceEngine> device) {
        this.rank = rank;
        this.engine = engine;
        this.device = device;
    }

    @Override
    public LastEntered lastEntered() {
        return new LastEntered(
                engine.lastEntered(), device.isPresent() ? device.get().lastEntered() : 0);
    }

    @Override
    public boolean hasEntered(long host, long ofDevice) {
        return engine.lastEntered() == host
                && (device.isPresent() ? device.get().lastEntered() : 0) == ofDevice;
    }

    @Override
    public Optional<OperationRecord> recordAt(long sequence) {
        return recorded(sequence).map(it -> {
            boolean isExchange = it.operation().collective() == Collective.SEND_RECV;
            return new OperationRecord(isExchange ? 0 : it.fingerprint(), it.operation());
        });
    }

    /**
     * Returns this rank's record of an operation; empty if the operation is not on record. Any thread may call this.
     *
     * @param sequence a number of the host's or of the device's sequence
     */
    Optional<RecordedOperation> recorded(long sequence) {
        Optional<? extends Engine> asked = LastEntered.isOnDevice(sequence) ? device : Optional.of(engine);
        long number = LastEntered.plain(sequence);
        long[] row = asked.isPresent() ? asked.get().history(number) : new long[0];
        return row.length == 0 ? Optional.empty() : Optional.of(RecordedOperation.of(rank, number, row));
    }

    /** Returns the sends and receives of host memory that began last. */
    Optional<RecordedTransfers> lastTransfers() {
        return RecordedTransfers.at(engine.lastTransfers(), engine);
    }

    @Override
    public List<ChannelWait> waitingRows() {
        return waits().stream().map(CommunicatorView.TimedWait::place).toList();
    }

    /** Returns the channels whose wait has become long. */
    List<CommunicatorView.TimedWait> waits() {
        List<CommunicatorView.TimedWait> waits = new ArrayList<>();
        addWaits(engine.waiting(), waits);
        device.ifPresent(it -> addWaits(it.waiting(), waits));
        return waits;
    }

    private void addWaits(long[] rows, List<CommunicatorView.TimedWait> waits) {
        for (int at = 0; at + Rows.WAIT_LENGTH <= rows.length; at += Rows.WAIT_LENGTH) {
            ChannelWait place = new ChannelWait(
                    rank,
                    (int) rows[at + Rows.WAIT_CHANNEL],
                    (int) rows[at + Rows.WAIT_PEER],
                    Numbers.transport((int) rows[at + Rows.WAIT_TRANSPORT]),
                    Numbers.waitFor((int) rows[at + Rows.WAIT_FOR]),
                    Numbers.protocol((int) rows[at + Rows.WAIT_PROTOCOL]),
                    rows[at + Rows.WAIT_STEP]);
            waits.add(new CommunicatorView.TimedWait(place, rows[at + Rows.WAIT_NANOS]));
        }
    }

    /** Returns the last operations that are done. */
    LastEntered lastDone() {
        return new LastEntered(
                engine.lastDone(), device.isPresent() ? device.get().lastDone() : 0);
    }

    /** Returns true if an operation was entered and has not ended. */
    boolean isRunning(long sequence) {
        return recordAt(sequence)
                .filter(record -> record.operation().state() == RankOperation.State.RUNNING)
                .isPresent();
    }
}
