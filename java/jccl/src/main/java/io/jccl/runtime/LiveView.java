package io.jccl.runtime;

import io.jccl.CommunicatorMetrics;
import io.jccl.PeerTransport;
import io.jccl.RankOperation;
import io.jccl.TransportKind;
import io.jccl.control.StatusSource;
import io.jccl.status.CommunicatorView;
import io.jccl.wire.LastEntered;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** The view of a communicator that the status server shows. */
final class LiveView implements CommunicatorView {

    /** Number of operations from which the pace of a rank is computed. */
    private static final int PACE_OPERATIONS = 64;

    private final EngineStatus status;
    private final List<StallDetector<?>> stalls;
    private final FailureState failures;
    private final FlightRecorder recorder;
    private final Supplier<CommunicatorMetrics> metrics;
    private final Supplier<List<OutstandingMessage>> messages;
    private final Map<TransportKind, Integer> peers = new EnumMap<>(TransportKind.class);

    LiveView(
            EngineStatus status,
            List<StallDetector<?>> stalls,
            FailureState failures,
            FlightRecorder recorder,
            Supplier<CommunicatorMetrics> metrics,
            Supplier<List<OutstandingMessage>> messages,
            List<PeerTransport> transports) {
        this.status = status;
        this.stalls = stalls;
        this.failures = failures;
        this.recorder = recorder;
        this.metrics = metrics;
        this.messages = messages;
        transports.forEach(peer -> peers.merge(peer.kind(), 1, Integer::sum));
    }

    @Override
    public StatusSource source() {
        return status;
    }

    @Override
    public LastEntered lastDone() {
        return status.lastDone();
    }

    @Override
    public Optional<UnderWay> underWay() {
        return stalls.stream()
                .map(stall -> stall.underWay(status::isRunning))
                .flatMap(Optional::stream)
                .findFirst()
                .map(this::asRecorded)
                .or(this::awaitedMessage);
    }

    /** Returns the message for which a thread waits, the oldest of several. */
    private Optional<UnderWay> awaitedMessage() {
        List<OutstandingMessage> awaited =
                messages.get().stream().filter(OutstandingMessage::isAwaited).toList();
        return awaited.stream().findFirst().map(first -> {
            String more = awaited.size() == 1 ? "" : " and " + (awaited.size() - 1) + " more";
            return new UnderWay(first.call() + more, 0, System.nanoTime() - first.begunNanos());
        });
    }

    /**
     * Takes the time of the operation from its record, because the record is exact. For operations that kernels
     * execute, also takes the text of the call from the record, so that the text is the same on all ranks.
     */
    private UnderWay asRecorded(UnderWay it) {
        Optional<RecordedOperation> record = it.sequence() == 0 ? Optional.empty() : status.recorded(it.sequence());
        if (record.isEmpty()) {
            return it;
        }
        String call =
                LastEntered.isOnDevice(it.sequence()) ? record.get().operation().call() : it.call();
        long begun = record.get().begunNanos();
        return new UnderWay(
                call, it.sequence(), begun == RecordedOperation.UNKNOWN ? it.nanos() : System.nanoTime() - begun);
    }

    @Override
    public List<TimedWait> waits() {
        return status.waits();
    }

    @Override
    public Optional<String> failure() {
        Failure failure = failures.current();
        return failure == null ? Optional.empty() : Optional.of(failure.first().getMessage());
    }

    @Override
    public List<Traffic> traffic() {
        CommunicatorMetrics counted = metrics.get();
        List<Traffic> traffic = new ArrayList<>();
        peers.forEach((transport, count) -> {
            CommunicatorMetrics.OfTransport of = counted.transports().get(transport);
            traffic.add(new Traffic(
                    transport,
                    count,
                    of.sentBytes(),
                    of.longWaits(),
                    of.waited().toNanos()));
        });
        return traffic;
    }

    @Override
    public Totals totals() {
        long operations = 0;
        long bytes = 0;
        long nanos = 0;
        for (CommunicatorMetrics.OfCollective one : metrics.get().collectives().values()) {
            operations += one.operations();
            bytes += one.bytes();
            nanos += one.time().toNanos();
        }
        return new Totals(operations, bytes, nanos);
    }

    @Override
    public Pace pace() {
        LastEntered last = status.lastEntered();
        int operations = 0;
        long inside = 0;
        long outside = 0;
        long next = RecordedOperation.UNKNOWN; // begin of the operation after this one
        for (long at = last.host(); at > 0 && operations < PACE_OPERATIONS; at--) {
            Optional<RecordedOperation> record = status.recorded(at);
            if (record.isEmpty() || record.get().begunNanos() == RecordedOperation.UNKNOWN) {
                break;
            }
            RecordedOperation it = record.get();
            boolean hasEnded =
                    it.operation().state() == RankOperation.State.DONE && it.endedNanos() != RecordedOperation.UNKNOWN;
            if (hasEnded) {
                operations++;
                inside += it.endedNanos() - it.begunNanos();
                outside += next == RecordedOperation.UNKNOWN ? 0 : Math.max(0, next - it.endedNanos());
            }
            next = it.begunNanos();
        }
        return new Pace(operations, inside, outside);
    }

    @Override
    public Path dump(Path folder) throws IOException {
        return recorder.dump(folder, Optional.ofNullable(failures.current()).map(Failure::first));
    }
}
