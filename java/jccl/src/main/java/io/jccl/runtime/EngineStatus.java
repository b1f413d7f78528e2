package io.jccl.runtime;

import io.jccl.ChannelWait;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.RankOperation;
import io.jccl.TransportKind;
import io.jccl.bootstrap.LastEntered;
import io.jccl.bootstrap.OperationRecord;
import io.jccl.bootstrap.StatusSource;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.Engine;
import io.jccl.nativelib.NativeCommunicator;
import io.jccl.nativelib.NativeEngine;
import io.jccl.status.CommunicatorView;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reports what this rank's native engines know to the coordinator: their last operations, and where channels wait. */
final class EngineStatus implements StatusSource {

    private static final int LONGS_PER_WAIT = NativeCommunicator.WAITING_LENGTH;

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

    /** What this rank's history has at a sequence number, also of the device's sequence; any thread may ask. */
    Optional<RecordedOperation> recorded(long sequence) {
        Optional<? extends Engine> asked = LastEntered.isOnDevice(sequence) ? device : Optional.of(engine);
        long number = LastEntered.plain(sequence);
        long[] row = asked.isPresent() ? asked.get().history(number) : new long[0];
        return row.length == 0 ? Optional.empty() : Optional.of(RecordedOperation.of(rank, number, row));
    }

    /** The sends and receives of memory of the host that have begun last. */
    Optional<RecordedTransfers> lastTransfers() {
        return RecordedTransfers.at(engine.lastTransfers(), engine);
    }

    @Override
    public List<ChannelWait> waitingRows() {
        return waits().stream().map(CommunicatorView.TimedWait::place).toList();
    }

    /** Reads rows of {@code {channel, peer, transport, waitFor, protocol, step, sequence, nanoseconds}}. */
    List<CommunicatorView.TimedWait> waits() {
        List<CommunicatorView.TimedWait> waits = new ArrayList<>();
        addWaits(engine.waiting(), waits);
        device.ifPresent(it -> addWaits(it.waiting(), waits));
        return waits;
    }

    private void addWaits(long[] rows, List<CommunicatorView.TimedWait> waits) {
        for (int at = 0; at + LONGS_PER_WAIT <= rows.length; at += LONGS_PER_WAIT) {
            ChannelWait place = new ChannelWait(
                    rank,
                    (int) rows[at],
                    (int) rows[at + 1],
                    TransportKind.values()[(int) rows[at + 2]],
                    rows[at + 3] != NativeCommunicator.WAIT_CREDIT,
                    Protocol.values()[(int) rows[at + 4]],
                    rows[at + 5]);
            waits.add(new CommunicatorView.TimedWait(place, rows[at + 7]));
        }
    }

    /** The last operations that are done. */
    LastEntered lastDone() {
        return new LastEntered(
                engine.lastDone(), device.isPresent() ? device.get().lastDone() : 0);
    }

    /** Whether an operation was entered and has not ended. */
    boolean isRunning(long sequence) {
        return recordAt(sequence)
                .filter(record -> record.operation().state() == RankOperation.State.RUNNING)
                .isPresent();
    }
}
